"""Summarise one report for lists, as plain JSON in the manifest of reports: no list reads a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from starskip.errors import StorageError, printable
from starskip.reports.advice_values import Interval
from starskip.reports.evidence import Evidence
from starskip.reports.family_sections import family_sections
from starskip.reports.headline import beside_indexes, headline
from starskip.storage.manifest import Part

SUMMARY = "summary"
"""Property of a table's part of ``reports``: its summary."""

_LONGEST_TEXT = 600


@dataclass(frozen=True, slots=True)
class SummaryIndex:
    """One action of an advice: an index to add, or with ``is_drop`` one to drop.

    ``columns``: of a star-tree its dimensions; ``functions``: its pairs of function and column, which are no
    columns. ``name``: as the ledger names it, empty for an index beside the table config, which the
    night builds itself.
    """

    kind: str
    columns: tuple[str, ...]
    name: str = field(default="", compare=False)
    functions: tuple[str, ...] = ()
    is_drop: bool = False


@dataclass(frozen=True, slots=True)
class ReportSummary:
    """The first look at a report; a saving that is not known, or that there is none of, is None.

    ``saving_ratio``, ``interval``: of all changes together, a share of all entries scanned.
    ``saving_entries``, ``saving_ms`` (``interval_ms``): the same in entries and in time, of a mean night of
    the voting ones; time only where it is trusted (``times_trusted``, None without a model). ``indexes``:
    all that was chosen, and all that should go. ``size_bytes``: of new indexes in one replica; ``unsized``:
    how many of them have no known size. ``table_bytes``, ``segments``: what a reload of the table has to
    read. ``lake_ratio``, ``lake_bytes``: share and bytes that Spark reads less; ``lake_only``: the table has
    no other saving. ``kept``: how many of its indexes stand for the last advice alone: a fresh choice would
    not take them.

    ``queries``: Pinot's, or Spark's if the table lies in the lake alone. ``beside``: sentences on the
    families' choices beside indexes of columns, empty if there are none or the headline says it.
    """

    table: str
    run_date: date
    created_at: datetime
    headline: str
    queries: int
    saving_ratio: float | None = None
    interval: Interval | None = None
    saving_entries: float | None = None
    saving_ms: float | None = None
    interval_ms: Interval | None = None
    times_trusted: bool | None = None
    indexes: tuple[SummaryIndex, ...] = ()
    size_bytes: int = 0
    unsized: int = 0
    table_bytes: int | None = None
    segments: int = 0
    lake_ratio: float | None = None
    lake_bytes: float | None = None
    lake_only: bool = False
    kept: int = 0
    beside: str = ""

    @property
    def chosen(self) -> tuple[SummaryIndex, ...]:
        """The indexes that were chosen."""
        return tuple(each for each in self.indexes if not each.is_drop)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of its actions, each once."""
        return tuple(dict.fromkeys(each.kind for each in self.indexes))

    def to_json(self) -> dict[str, Any]:
        """Return the summary as plain JSON, without table and date, which stand beside it."""
        told = {name: getattr(self, name) for name in _PLAIN}
        return {
            **{name: value for name, value in told.items() if value not in (None, "", 0, False)},
            "created_at": self.created_at.isoformat(),
            "queries": self.queries,
            "times_trusted": self.times_trusted,
            "interval": self.interval and [self.interval.low, self.interval.high],
            "interval_ms": self.interval_ms and [self.interval_ms.low, self.interval_ms.high],
            "indexes": [
                [each.kind, list(each.columns), each.name, list(each.functions), each.is_drop]
                for each in self.indexes
            ],
        }


_PLAIN = (
    "headline",
    "saving_ratio",
    "saving_entries",
    "saving_ms",
    "size_bytes",
    "unsized",
    "table_bytes",
    "segments",
    "lake_ratio",
    "lake_bytes",
    "lake_only",
    "kept",
    "beside",
)
"""Fields that JSON holds as they are, and leaves out where they say nothing."""


def summary_of(part: Part, table: str, run_date: date) -> ReportSummary:
    """Return the summary that a part of ``reports`` holds; raises StorageError if it holds none."""
    try:
        told = dict(part.properties[SUMMARY])
        interval, interval_ms = told.pop("interval"), told.pop("interval_ms")
        return ReportSummary(
            table=table,
            run_date=run_date,
            created_at=datetime.fromisoformat(told.pop("created_at")),
            headline=told.pop("headline", ""),
            interval=Interval(*interval) if interval else None,
            interval_ms=Interval(*interval_ms) if interval_ms else None,
            indexes=tuple(_index(*each) for each in told.pop("indexes")),
            **told,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(
            f"the report of {printable(table, 100)} has no summary that this Starskip reads: run the night "
            f"of {run_date.isoformat()} again",
            location="reports",
        ) from error


def _index(
    kind: str, columns: Sequence[str], name: str, functions: Sequence[str], is_drop: bool
) -> SummaryIndex:
    return SummaryIndex(kind, tuple(columns), name, tuple(functions), is_drop)


def report_summary(evidence: Evidence) -> ReportSummary:
    """Return the first look at the report of ``evidence``."""
    combined, skipping = evidence.summary.combined, evidence.skipping
    new = [each for each in evidence.actions if not each.is_drop]
    entries = (combined.entries_before - combined.entries_after) / _nights(evidence) if combined else None
    time, saving_ms = evidence.summary.time, evidence.summary.saving_ms if combined else None
    queries = saving_ms / time.saving_ms if time and saving_ms and time.saving_ms else 0.0
    ratio = skipping.saving_ratio if skipping and skipping.chosen else None
    return ReportSummary(
        table=evidence.table,
        run_date=evidence.run_date,
        created_at=evidence.created_at,
        headline=printable("".join(piece.text for piece in headline(evidence)), _LONGEST_TEXT),
        queries=_queries(evidence),
        saving_ratio=combined.saving_ratio if combined else None,
        interval=combined.interval if combined else None,
        saving_entries=entries,
        saving_ms=saving_ms,
        interval_ms=Interval(queries * time.interval_ms.low, queries * time.interval_ms.high)
        if time and queries > 0
        else None,
        times_trusted=evidence.times.trusted if evidence.times else None,
        indexes=(
            *(
                SummaryIndex(each.kind, each.columns, each.name, each.functions, each.is_drop)
                for each in evidence.actions
            ),
            *_beside_config(evidence),
        ),
        size_bytes=sum(each.size_bytes or 0 for each in new),
        unsized=sum(each.size_bytes is None for each in new),
        table_bytes=evidence.summary.table_bytes,
        segments=evidence.data_quality.segments,
        lake_ratio=ratio,
        lake_bytes=ratio * skipping.total_bytes if skipping and ratio and skipping.total_bytes else None,
        lake_only=evidence.lake_only,
        kept=len(evidence.past.kept) if evidence.past else 0,
        beside="" if evidence.lake_only else printable(beside_indexes(evidence), _LONGEST_TEXT),
    )


def _beside_config(evidence: Evidence) -> Iterator[SummaryIndex]:
    for section, values in family_sections(evidence):
        for kind, columns in section.chosen(values):
            yield SummaryIndex(kind, tuple(columns))


def _nights(evidence: Evidence) -> float:
    """Return how many nights the entries of the window are of, an older night counting less."""
    return 1.0 + sum(each.weight for each in evidence.past.nights) if evidence.past else 1.0


def _queries(evidence: Evidence) -> int:
    if not evidence.lake_only:
        return evidence.summary.queries
    return round(sum(section.queries(values) for section, values in family_sections(evidence)))
