"""Summarise one report for lists: its headline and main figures."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime

from starskip.advisor.families.headline_pieces import Piece
from starskip.reports.advice_values import Interval, NamedIndex
from starskip.reports.evidence import Evidence
from starskip.reports.family_sections import family_sections
from starskip.reports.headline import beside_indexes, headline


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """The first look at a report; without a chosen index of the config it has no saving and no interval.

    ``saving_ratio``, ``interval``: of all changes together, a share of all entries scanned.
    ``chosen``: everything that was chosen, star-trees with dimensions and pairs, skipping indexes with their
    kinds.

    ``queries``: Pinot's, or Spark's if the table lies in the lake alone. ``beside``: sentences on the
    families' choices beside indexes of columns, empty if there are none or the headline says it.
    """

    table: str
    run_date: date
    created_at: datetime
    headline: tuple[Piece, ...]
    queries: int
    saving_ratio: float | None
    interval: Interval | None
    saving_ms: float | None
    chosen: tuple[NamedIndex, ...]
    beside: str = ""


def report_summary(evidence: Evidence) -> ReportSummary:
    """Return the first look at the report of ``evidence``."""
    combined = evidence.summary.combined
    return ReportSummary(
        table=evidence.table,
        run_date=evidence.run_date,
        created_at=evidence.created_at,
        headline=headline(evidence),
        queries=_queries(evidence),
        saving_ratio=combined.saving_ratio if combined else None,
        interval=combined.interval if combined else None,
        saving_ms=evidence.summary.saving_ms if evidence.chosen else None,
        chosen=_chosen(evidence),
        beside="" if evidence.lake_only else beside_indexes(evidence),
    )


def _chosen(evidence: Evidence) -> tuple[NamedIndex, ...]:
    return (
        *(NamedIndex(each.kind, each.columns) for each in evidence.chosen),
        *(
            NamedIndex(kind, columns)
            for section, values in family_sections(evidence)
            for kind, columns in section.chosen(values)
        ),
    )


def _queries(evidence: Evidence) -> int:
    if not evidence.lake_only:
        return evidence.summary.queries
    return round(sum(section.queries(values) for section, values in family_sections(evidence)))
