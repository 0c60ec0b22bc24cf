"""Print the summary of a finished night: headline, K curve and report of each table."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from starskip.errors import printable
from starskip.number_text import percent, percent_range
from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.family_sections import family_sections
from starskip.reports.headline import headline
from starskip.reports.past_words import stop_clause
from starskip.reports.saving_words import ALL_ENTRIES

_MAX_POINTS = 12
_MAX_COLUMNS_CHARACTERS = 70


def night_summary(reports: Mapping[str, Mapping[str, Path]], since: datetime, beside: Path) -> str:
    """Return the text for exported ``reports``; reports written before ``since`` are only named.

    Paths that lie below ``beside`` are shown relative to it.
    """
    return "\n\n".join(_table_summary(paths, since, beside) for _, paths in sorted(reports.items()))


def _table_summary(paths: Mapping[str, Path], since: datetime, beside: Path) -> str:
    source = paths["report.json"]
    evidence = evidence_from_json(source.read_bytes(), str(source))
    if evidence.created_at < since:
        return (
            f"{printable(evidence.table, 120)}: no new report; that of {evidence.created_at:%F %R} UTC stands"
        )
    sentence = "".join(printable(piece.text) for piece in headline(evidence))
    lines = [printable(evidence.table, 120), f"  {sentence}", *_curve(evidence)]
    lines += [line for section, values in family_sections(evidence) for line in section.summary(values)]
    shown = [path.relative_to(beside) if path.is_relative_to(beside) else path for path in paths.values()]
    lines += [f"  {path}" for path in sorted(shown, key=lambda path: path.suffix != ".html")]
    return "\n".join(lines)


def _curve(evidence: Evidence) -> list[str]:
    points, chosen = evidence.k_curve.points, evidence.k_curve.chosen_k
    if not points:
        return []
    lines = ["", f"  Savings of {ALL_ENTRIES}:"]
    lines.append(f"  {'K':>4}  {'saving':>7}  {'90 % interval':>13}  best set of columns")
    smaller: tuple[str, ...] = ()
    for point in points[:_MAX_POINTS]:
        mark = "*" if point.k == chosen else " "
        interval = percent_range(point.interval.low, point.interval.high)
        columns = printable(_best_set(smaller, point.columns), _MAX_COLUMNS_CHARACTERS)
        lines.append(f"  {point.k:>3}{mark}  {percent(point.saving_ratio):>7}  {interval:>13}  {columns}")
        smaller = point.columns
    chosen_words = f"* chosen; it stops at {chosen}" if chosen else "none chosen"
    return [*lines, f"  {chosen_words}: {stop_clause(evidence)}", ""]


def _best_set(smaller: tuple[str, ...], columns: tuple[str, ...]) -> str:
    """Return the columns of a set; if it holds all of the ``smaller`` set, only the added columns."""
    if smaller and set(smaller) <= set(columns):
        return "+ " + ", ".join(column for column in columns if column not in smaller)
    return ", ".join(columns)
