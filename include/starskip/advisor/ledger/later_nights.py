"""The savings of applied changes by later logs: the entries that a query of a shape read before, and now.

A shape that the approving night did not know cannot be compared; it counts in what is not covered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from starskip.advisor.latency.shape_times import TimeSaving
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.standing import newest_by_index

_IN_FORCE = (Event.APPLIED, Event.KEPT)


@dataclass(frozen=True, slots=True)
class ShapeCost:
    """The queries of one shape in one night, all entries that they read, and their time if it is logged."""

    queries: float
    entries: float
    ms: float | None = None


@dataclass(frozen=True, slots=True)
class LaterSaving:
    """The savings of a night's queries of known shapes, as shares of what they would have read before.

    ``covered_ratio``: the share of the night's queries that are of known shapes. ``time_ratio``: None if not
    all of their times are logged.
    """

    saving_ratio: float
    time_ratio: float | None
    covered_ratio: float


@dataclass(frozen=True, slots=True)
class StandingChange:
    """The indexes of one advice that are in force, as the ledger has them.

    ``since``: the first night all of whose queries had them. ``saving_ratio``, ``interval``, ``time``:
    predicted; of a part of the advice the interval is not known.
    """

    source: str
    since: date
    indexes: tuple[AdvisedIndex, ...]
    saving_ratio: float | None
    interval: tuple[float, float] | None
    time: TimeSaving | None


def standing_changes(entries: Sequence[LedgerEntry]) -> list[StandingChange]:
    """Return the changes in force of one table, the newest first; ``entries``: its ledger, oldest first."""
    by_source: dict[str, list[LedgerEntry]] = {}
    for entry in newest_by_index(entries).values():
        if entry.event in _IN_FORCE:
            by_source.setdefault(entry.source, []).append(entry)
    found = [_change(of_source, entries) for of_source in by_source.values()]
    return sorted(found, key=lambda each: (each.since, each.source), reverse=True)


def later_saving(before: Mapping[str, ShapeCost], now: Mapping[str, ShapeCost]) -> LaterSaving | None:
    """Return what the queries of ``now`` save; None if no shape that read anything is known from before."""
    known = {
        shape_id: (before[shape_id], cost)
        for shape_id, cost in now.items()
        if shape_id in before and before[shape_id].queries > 0
    }
    would_read = sum(old.entries / old.queries * cost.queries for old, cost in known.values())
    if would_read <= 0:
        return None
    read = sum(cost.entries for _, cost in known.values())
    queries = sum(cost.queries for cost in now.values())
    covered = sum(cost.queries for _, cost in known.values())
    return LaterSaving(1 - read / would_read, _time_ratio(known.values()), covered / queries)


def _time_ratio(known: Iterable[tuple[ShapeCost, ShapeCost]]) -> float | None:
    would_take = takes = 0.0
    for old, cost in known:
        if old.ms is None or cost.ms is None:
            return None
        would_take += old.ms / old.queries * cost.queries
        takes += cost.ms
    return 1 - takes / would_take if would_take > 0 else None


def _change(in_force: Sequence[LedgerEntry], entries: Sequence[LedgerEntry]) -> StandingChange:
    newest = max(in_force, key=lambda each: each.at)
    names = {each.index.name for each in in_force}
    asked = {
        each.index.name for each in entries if each.source == newest.source and each.event is Event.APPROVED
    }
    # What a night saw in the config was there before; what an application put began in the middle of a day.
    days = [each.at.date() + timedelta(days=each.event is not Event.APPLIED) for each in in_force]
    indexes = tuple(each.index for each in in_force)
    if asked <= names:
        saving, interval, time = (
            newest.table_predicted_saving_ratio,
            newest.interval,
            newest.table_predicted_time,
        )
    else:
        saving, interval, time = None, None, None
    if saving is None:
        known = [each.saving_ratio for each in indexes if each.saving_ratio is not None]
        saving = sum(known) if known else None
    return StandingChange(newest.source, max(days), indexes, saving, interval, time)
