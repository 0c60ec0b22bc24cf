"""The advice for one table as ``starskip tune`` prints it for people, and notes beside it."""

from __future__ import annotations

from collections.abc import Iterator

from starskip.advisor.families.families import FamilyChoice, named
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Reason
from starskip.advisor.selection.table_advice import AdvisedAnswer, RefusedAnswer, TableAdvice
from starskip.advisor.selection.tune_tables import TuneAnswer, TuneRequest
from starskip.errors import printable
from starskip.number_text import percent, percent_range, size
from starskip.reports.saving_words import combined_evidence, together_words
from starskip.reports.sentences import gap_words, leaf_words, redaction_words
from starskip.reports.time_words import NO_LATENCIES, choice_words, time_words
from starskip.settings.advice_groups import MS
from starskip.sql.masking import mask_literals


def tune_text(advice: TableAdvice, families: FamilyChoice, *, is_guess: bool) -> str:
    """Return the lines of one table; ``is_guess``: without a log."""
    saving, log = advice.recommendation.saving, advice.log
    not_understood = log.unparsed - log.unlogged_texts.texts_queries
    columns = [_named(item.index, families) for item in advice.recommendation.chosen]
    lines = [
        f"{printable(advice.table, 200)}: "
        + ("no log" if is_guess else f"{log.queries:,} queries scanned {log.entries:,} entries in filters")
        + (f" ({not_understood:,} not understood)" if not_understood else "")
    ]
    if log.unlogged_queries:
        lines.append(
            f"  with the unlogged queries, about {log.queries + log.unlogged_queries:,.0f}"
            f" queries scanned {log.entries + log.unlogged_entries:,.0f} entries"
        )
    if advice.combined.parts and not is_guess:
        changes = len(columns) + len(advice.answers.answers)
        lines.append(f"  {together_words(combined_evidence(advice.combined.to_document()), changes)}")
        lines.extend(f"  {words}" for words in _time_lines(advice))
    of_log = (*redaction_words(log.unlogged_texts), leaf_words(log.leaves))
    lines.extend(f"  {words}" for words in of_log if words)
    if columns:
        paths = families.with_path
        is_order = all(family.path is not None and family.path.reorders for family in paths)
        what = f"{paths[0].plural} on" if len(paths) == 1 else "indexes on"
        what = "sort by" if is_order else what
        by_themselves = "by themselves " if advice.answers.answers else ""
        lines.append(
            f"  {what} {', '.join(columns)}: {by_themselves}{percent(saving.ratio)} fewer entries scanned"
            f" in filters (90 % interval {percent_range(saving.low, saving.high)})"
        )
        lines.extend(
            f"    {rank}. {_named(item.index, families)}:"
            f" alone {percent(item.individual_saving_ratio or 0.0)},"
            f" adds {percent(item.progressive_saving_ratio or 0.0)}"
            + ("" if item.size_bytes is None else f", takes {size(item.size_bytes)}")
            for rank, item in enumerate(advice.recommendation.chosen, start=1)
        )
    elif advice.refused and advice.refused[0].reason is Reason.NOT_ENOUGH_QUERIES:
        return "\n".join([*lines, f"  {printable(advice.refused[0].detail.partition(';')[0])}"])
    elif not log.unlogged_texts.is_everything and not advice.answers.answers:
        lines.append("  nothing to recommend: no index saves enough")
    lines.extend(
        f"  refused {_named(item.index, families)}: {item.code} ({printable(item.detail)})"
        for item in advice.refused
    )
    lines.extend(
        f"  refused {_answer_words(answer.verdict.index.family, answer)}:"
        f" {answer.verdict.code} ({printable(answer.verdict.detail)})"
        for answer in advice.refused_answers()
    )
    lines.extend(
        f"  drop {_family_words(drop.index.family)} on {printable(drop.index.column, 80)}:"
        f" {printable(drop.detail)}"
        for drop in advice.drops
    )
    lines.extend(
        f"  {_answer_words(answer.family, answer)}:"
        f" {percent(answer.saving_ratio)} of all entries, in filters and behind them"
        + (f" ({answer.amount:,.0f} {printable(answer.unit.name, 60)})" if answer.unit else "")
        for answer in advice.chosen_answers()
    )
    if (order := advice.sort_order) and order.chosen:
        lines.append(
            f"  not among these changes: sorted by {printable(order.chosen[0].index.column, 80)},"
            f" the table scans {percent(order.saving.ratio)} fewer entries in filters"
            f" (90 % interval {percent_range(order.saving.low, order.saving.high)}), by the order alone"
        )
    lines.extend(f"  note: {words}" for words in advice.notes)
    lines.extend(
        f"  reads {1 + each.more_ratio:.2f} times as many entries in filters:"
        f" {printable(mask_literals(each.text, quoted_names=True), 200)}"
        + (f"; not with {printable(each.option, 200)} before it" if each.option else "")
        for each in advice.harmed
    )
    lines.extend(
        f"  not used, {_family_words(family)}, because {why}" for family, why in advice.not_used.items()
    )
    if gap := gap_words(advice.gap_ratio).strip():
        lines.append(f"  {gap[:1].lower()}{gap[1:].removesuffix('.')}")
    return "\n".join(lines)


def _named(index: Index, families: FamilyChoice) -> str:
    column = printable(index.column, 80)
    return f"{column} ({index.family})" if len(families.with_path) > 1 else column


def _answer_words(family: str, answer: AdvisedAnswer | RefusedAnswer) -> str:
    by = f"{_family_words(family)} by {printable(', '.join(answer.columns), 200)}"
    return f"{by} with {printable(answer.variant, 200)}" if answer.variant else by


def _family_words(name: str) -> str:
    family = named(name)
    return family.singular if family else name


def _time_lines(advice: TableAdvice) -> list[str]:
    times, time = advice.times, advice.time
    if times is None:
        return [NO_LATENCIES]
    is_by_time = advice.unit == MS
    chosen = choice_words(
        times.name, times.r2, advice.mistrust, times.ms_per_query, times.waiting_ms, is_by_time=is_by_time
    )
    if time is None or (advice.mistrust and not is_by_time):
        return [chosen]
    saved = time_words(time.saving_ms, time.ms_per_query, time.low_ms, time.high_ms)
    return [f"that is {saved}", chosen]


def unadvised(request: TuneRequest, answer: TuneAnswer) -> Iterator[str]:
    """Yield a warning that names tables with a config and without advice: their names may be misspelt."""
    known = {each.table for each in answer.tables} | answer.failures.keys()
    given = sorted(request.configs.items())
    left = [name for name, configs in given if not any(map(configs[0].is_of, known))]
    if left:
        more = f" and {len(left) - 3} more" if len(left) > 3 else ""
        missing = "query in the log" if request.log_paths else "segment"
        yield f"--table-config: no advice for {', '.join(left[:3])}{more}: no {missing} of such a table"


def basis_of(request: TuneRequest) -> str:
    """Return the basis of the advice, if it is less than all that was asked for."""
    if not request.log_paths:
        asked = "weighted as given" if request.column_weights else "every column queried equally"
        return f"A guess without a log, from cardinalities alone: {asked}."
    if not request.metadata_path:
        return ""
    if request.settings.scoring.strategy == "leapfrog":
        return "Strategy estimation: leapfrog needs rows of segments, and the metadata has none."
    return f"Strategy {request.settings.scoring.strategy}; savings are estimated from the metadata."
