"""The comparison as text, for people or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from pinot.filters.comparison import Compared, Summary, summaries, summary, worst

HEADER = ("", "pairs", "near", "off", "off, few", "measured", "predicted / measured")


def comparison_lines(pairs: Sequence[Compared], *, is_markdown: bool, worst_count: int) -> list[str]:
    """Return the lines: figures of the stable pairs, of the unstable ones, and the worst filters."""
    found = summaries(pairs)
    unstable = [pair for pair in pairs if not pair.measured.is_stable]
    unknown = sum(pair.predicted is None for pair in pairs)
    verdict = "met" if found[0].is_as_wanted else "missed"
    lines = [
        "near: within 5 % or 100 entries. off: by more than a factor of 2; few: by 100 entries at most.",
        "",
        *_table([HEADER, *(_cells(each) for each in found)], is_markdown),
        "",
        _of_unstable(summary("", unstable)),
        *([f"{unknown} pairs are of queries that are not understood."] if unknown else []),
        f"The aim (95 % near, none off, the sum within 1 %) is {verdict}.",
        "",
        f"The {worst_count} filters with most entries predicted wrongly over all sets:",
        "",
    ]
    for total, pair in worst(pairs, worst_count):
        measured = pair.measured
        told = "not understood" if pair.predicted is None else f"predicted {_numbers(pair.predicted)}"
        found = _numbers([sum(runs) / len(runs) for runs in measured.runs])
        text = f"{total:,.0f} in all; worst ({measured.index_set.name}): measured {found}, {told}"
        sql = measured.query.sql
        lines += [f"- {text}: `{sql}`"] if is_markdown else [text, f"    {sql}"]
    return lines


def _numbers(copies: Sequence[float]) -> str:
    """Return one number if the copies agree."""
    return " and ".join(dict.fromkeys(f"{each:,.0f}" for each in copies))


def _of_unstable(found: Summary) -> str:
    """Say how near the pairs are whose runs differ; a prediction is near that lies between the runs."""
    if not found.pairs:
        return "No pairs have runs that differ."
    return (
        f"{found.pairs:,} pairs whose runs differ in the same copy of a table are not in these figures: "
        f"{found.near_ratio:.1%} of them "
        f"are predicted between their runs or near to them; predicted / mean of runs {found.sum_ratio:.4f}."
    )


def _cells(found: Summary) -> tuple[str, ...]:
    return (
        found.label,
        f"{found.pairs:,}",
        f"{found.near_ratio:.1%}",
        f"{found.off / found.pairs:.2%}",
        f"{found.off_small / found.pairs:.2%}",
        f"{found.measured:,.0f}",
        f"{found.sum_ratio:.4f}",
    )


def _table(rows: Sequence[Sequence[str]], is_markdown: bool) -> list[str]:
    if is_markdown:
        lines = [f"| {' | '.join(row)} |" for row in rows]
        return [lines[0], f"|---|{'---:|' * (len(rows[0]) - 1)}", *lines[1:]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(
            f"{cell:>{width}}" if column else f"{cell:<{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
