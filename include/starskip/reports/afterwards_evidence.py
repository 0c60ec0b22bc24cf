"""Applied changes, predicted beside measured from the logs of later nights, as the evidence of a report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import pyarrow.compute as pc

from starskip.advisor.ledger.entry import LedgerEntry
from starskip.advisor.ledger.later_nights import ShapeCost, StandingChange, later_saving, standing_changes
from starskip.advisor.run.night import Night
from starskip.advisor.workload.shape_workload import UNPARSED, ShapeWorkload
from starskip.errors import StarskipError, StorageOutage, printable
from starskip.reports.advice_values import Interval, NamedIndex, TimeSavingEvidence
from starskip.storage.snapshot import Snapshot

MAX_LATER_NIGHTS = 60
"""Later nights of a change that a report keeps, the newest."""
LEAST_COVERED_RATIO = 0.5
"""A night that has fewer queries of known shapes says too little to refute a prediction."""
_NIGHTS_TO_REFUTE = 2
_COLUMNS = [
    "shape_id",
    "queries",
    "unlogged_queries",
    "entries_scanned_in_filter",
    "unlogged_entries_scanned_in_filter",
    "entries_scanned_post_filter",
    "latency_ms_sum",
    "unlogged_latency_ms_sum",
]


@dataclass(frozen=True, slots=True)
class LaterNight:
    """The savings of one later night's queries of known shapes, as shares of all entries and of their time.

    ``covered_ratio``: the share of the night's queries that are of known shapes. ``time_saving_ratio``: null
    if times are not logged.
    """

    run_date: date
    saving_ratio: float
    time_saving_ratio: float | None
    covered_ratio: float


@dataclass(frozen=True, slots=True)
class Afterwards:
    """The indexes of one advice that are in force, and what later nights say; ``nights``: oldest first.

    ``source``: the night that advised them, whose shapes are compared. ``dropped``: indexes taken away.
    ``saving_ratio``, ``interval``, ``time``: predicted; of a part of the advice the interval is not known.
    ``note``: why there is no newer night, empty if there is.
    """

    source: str
    since: date
    indexes: tuple[NamedIndex, ...]
    saving_ratio: float | None
    interval: Interval | None
    time: TimeSavingEvidence | None
    dropped: tuple[NamedIndex, ...] = ()
    nights: tuple[LaterNight, ...] = ()
    note: str = ""

    @property
    def refuting(self) -> tuple[LaterNight, ...]:
        """The newest two nights that cover enough, if both saved less than the interval says; else none."""
        telling = [each for each in self.nights if each.covered_ratio >= LEAST_COVERED_RATIO]
        newest = tuple(telling[-_NIGHTS_TO_REFUTE:])
        if self.interval is None or len(newest) < _NIGHTS_TO_REFUTE:
            return ()
        return newest if all(each.saving_ratio < self.interval.low for each in newest) else ()

    @property
    def is_refuted(self) -> bool:
        """True if later nights refute the prediction."""
        return bool(self.refuting)


def afterwards(
    night: Night,
    table: str,
    entries: Sequence[LedgerEntry],
    workload: Iterable[ShapeWorkload],
    last: Callable[[], Iterable[Afterwards]],
) -> tuple[Afterwards, ...]:
    """Return the changes in force on ``table``, the newest first, with this night beside those of ``last``.

    Only the newest change is compared: what the others save, it changed too. ``last``: reads the last report,
    if there is any change.
    """
    changes = standing_changes(entries)
    if not changes:
        return ()
    now = _costs(workload)
    known = {(each.source, each.since): each for each in last()}
    found = []
    for position, change in enumerate(changes):
        told = _evidence(change)
        before = known.get((told.source, told.since))
        told = replace(told, nights=before.nights if before else ())
        if position:
            told = replace(told, note="a later change was applied beside it")
        elif change.since <= night.run_date:
            told = _with_night(night, table, told, now)
        found.append(told)
    return tuple(found)


def _with_night(night: Night, table: str, told: Afterwards, now: Mapping[str, ShapeCost]) -> Afterwards:
    """Return the change with this night in place of itself or added."""
    earlier = tuple(each for each in told.nights if each.run_date < night.run_date)
    if not _is_night(told.source):
        return replace(told, note="it was not advised by a night, so that no queries from before are known")
    if told.source >= night.date_text:
        return told
    try:
        before = _costs_of(night.store.snapshot("workload", told.source), table)
    except StorageOutage:
        raise
    except StarskipError as error:
        words = printable(str(error), 200)
        return replace(told, nights=earlier, note=f"the advice's night cannot be read: {words}")
    if before is None:
        return replace(told, nights=earlier, note="the queries of the advice's night are no longer kept")
    saving = later_saving(before, now)
    if saving is None:
        return replace(told, nights=earlier, note=f"{night.date_text} has no query of a known shape")
    tonight = LaterNight(night.run_date, saving.saving_ratio, saving.time_ratio, saving.covered_ratio)
    return replace(told, nights=(*earlier, tonight)[-MAX_LATER_NIGHTS:])


def _is_night(source: str) -> bool:
    try:
        return date.fromisoformat(source).isoformat() == source
    except ValueError:
        return False


def _costs(workload: Iterable[ShapeWorkload]) -> dict[str, ShapeCost]:
    """Return the cost of each shape; queries that were not understood are of no shape, but do count."""
    return {
        shape.shape_id: ShapeCost(
            shape.estimated_queries,
            shape.estimated_entries
            + shape.entries_scanned_post_filter * shape.estimated_queries / max(shape.queries, 1),
            float(shape.latency_ms_sum + shape.unlogged_latency_ms_sum) or None,
        )
        for shape in workload
    }


def _costs_of(snapshot: Snapshot | None, table: str) -> dict[str, ShapeCost] | None:
    if snapshot is None or table not in snapshot.tables:
        return None
    rows = snapshot.read_table([table], _COLUMNS)
    rows = rows.filter(pc.invert(pc.starts_with(rows["shape_id"], UNPARSED)))
    return _costs(ShapeWorkload(table=table, text="", skeleton="", **row) for row in rows.to_pylist())


def _evidence(change: StandingChange) -> Afterwards:
    time = change.time
    return Afterwards(
        change.source,
        change.since,
        tuple(NamedIndex(each.family, each.columns) for each in change.indexes if not each.is_drop),
        change.saving_ratio,
        Interval(*change.interval) if change.interval else None,
        TimeSavingEvidence(time.ms_per_query, time.saving_ms, Interval(time.low_ms, time.high_ms))
        if time
        else None,
        tuple(NamedIndex(each.family, each.columns) for each in change.indexes if each.is_drop),
    )
