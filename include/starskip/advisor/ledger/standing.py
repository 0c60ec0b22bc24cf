"""The standing of an index in the ledger today: approved, or not to be proposed again yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from math import ceil

from starskip.advisor.ledger.advised_index import AdvisedChange
from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.errors import MissingSource, printable
from starskip.number_text import percent

LEAST_APPLICATIONS = 5
_LEAST_HALF_WIDTH = 0.001
_LEAST_SECONDS = 10.0
_REFUSALS = (Event.REJECTED, Event.DEFERRED, Event.REFUTED, Event.TAKEN_BACK)


def newest_by_index(entries: Iterable[LedgerEntry]) -> dict[str, LedgerEntry]:
    """Return the newest entry of each index of one table, by the index's name; ``entries``: oldest first."""
    return {entry.index.name: entry for entry in entries}


def newest_decisions(entries: Iterable[LedgerEntry]) -> dict[str, LedgerEntry]:
    """Return the newest entry of each index of one table, by what ``refused_again`` knows an index by."""
    return {_plain(entry.index.name): entry for entry in entries}


def _plain(name: str) -> str:
    """Return an index's name without its variant, with its columns sorted.

    Who rejected a star-tree is not asked again for other functions or another split order.
    """
    family, _, columns = name.partition("#")[0].partition(":")
    return f"{family}:{','.join(sorted(columns.split(',')))}"


def approved(entries: Iterable[LedgerEntry]) -> list[LedgerEntry]:
    """Return what a table's newest approval named, but for what was applied or withdrawn since.

    An approval names all that then stands approved (``decide``): what it does not name, it replaces.
    """
    known = list(entries)
    newest = max((each.at for each in known if each.event is Event.APPROVED), default=None)
    return [
        each for each in newest_by_index(known).values() if each.event is Event.APPROVED and each.at == newest
    ]


def approved_advice(table: str, entries: Sequence[LedgerEntry]) -> AdvisedChange:
    """Return what is approved for a table and not applied yet; raises MissingSource if there is nothing."""
    found = approved(entries)
    if not found:
        name = printable(table, 100)
        raise MissingSource(
            f"table {name}: nothing is approved: starskip decide {name} --approve approves the newest advice",
            source=table,
        )
    newest = found[-1]
    change = AdvisedChange(newest.table, newest.source, tuple(each.index for each in found))
    if not _is_whole(found, [each for each in entries if each.at == newest.at]):
        return change
    return replace(
        change,
        saving_ratio=newest.table_predicted_saving_ratio,
        interval=newest.interval,
        time=newest.table_predicted_time,
    )


def _is_whole(found: Iterable[LedgerEntry], decided: Iterable[LedgerEntry]) -> bool:
    """Return whether what stands approved is what was approved together: of a part no saving is known."""
    standing, together = (
        {each.index.name for each in some if not each.index.is_drop} for some in (found, decided)
    )
    return standing == together


def refused_again(
    name: str,
    alone_ratio: float,
    refusals: Mapping[str, LedgerEntry],
    today: date,
    *,
    cool_down_days: int,
    gain_ratio: float,
) -> str:
    """Return why an index must not be proposed today, empty if it may.

    A rejected, refuted or taken-back index comes again once ``cool_down_days`` are over, or once its saving
    by itself, ``alone_ratio``, is by ``gain_ratio`` greater than it was; a deferred one at its date.
    ``refusals``: ``newest_decisions``.
    """
    entry = refusals.get(_plain(name))
    if entry is None or entry.event not in _REFUSALS:
        return ""
    before = entry.index.alone_ratio
    has_grown = before is not None and alone_ratio > before and alone_ratio >= before * (1 + gain_ratio)
    if entry.event is not Event.DEFERRED and has_grown:
        return ""
    until = proposed_again_from(entry, cool_down_days)
    if until is None or today >= until:
        return ""
    words = {
        Event.REJECTED: "rejected",
        Event.DEFERRED: "deferred",
        Event.REFUTED: "applied, and taken back for what was measured",
        Event.TAKEN_BACK: "applied, and taken back",
    }[entry.event]
    why = f": {entry.reason or entry.detail}" if entry.reason or entry.detail else ""
    return f"it was {words} on {entry.at.date()}{why}; it is proposed again from {until} on"


def proposed_again_from(entry: LedgerEntry, cool_down_days: int) -> date | None:
    """Return the day from which an index may be proposed again; None of an entry that refuses nothing."""
    if entry.event is Event.DEFERRED:
        return entry.until
    return entry.at.date() + timedelta(days=cool_down_days) if entry.event in _REFUSALS else None


def reload_rate(entries: Iterable[LedgerEntry]) -> float | None:
    """Return the bytes a second that a server reloaded in past applications; None without any.

    Those of a few seconds tell nothing: most of their time is not of bytes.
    """
    applied = {
        entry.application: (entry.reloaded_bytes, entry.reload_seconds)
        for entry in entries
        if entry.application and entry.reloaded_bytes and (entry.reload_seconds or 0) >= _LEAST_SECONDS
    }
    total, seconds = (sum(each) for each in zip(*applied.values(), strict=True)) if applied else (0, 0)
    return total / seconds if seconds else None


def interval_factors(entries: Iterable[LedgerEntry]) -> tuple[float, float]:
    """Return by how much intervals must grow to have held nine in ten measured savings, each 1 at least.

    The first factor is of intervals in entries, the second of intervals in time. A factor is 1 as long as
    fewer than LEAST_APPLICATIONS applications were measured.
    """
    applied = list({each.application: each for each in entries if each.application}.values())
    return _factor(map(_entries_miss, applied)), _factor(map(_time_miss, applied))


def _factor(misses: Iterable[float | None]) -> float:
    known = sorted(miss for miss in misses if miss is not None)
    if len(known) < LEAST_APPLICATIONS:
        return 1.0
    return max(known[ceil(0.9 * len(known)) - 1], 1.0)


def _entries_miss(entry: LedgerEntry) -> float | None:
    """Return by how many half widths of the interval a saving was missed, None if that is not known."""
    predicted, measured = entry.table_predicted_saving_ratio, entry.table_measured_saving_ratio
    if entry.interval is None or predicted is None or measured is None:
        return None
    half = (entry.interval[1] - entry.interval[0]) / 2
    return abs(measured - predicted) / max(half, _LEAST_HALF_WIDTH)


def _time_miss(entry: LedgerEntry) -> float | None:
    """Return the same of the share of time: log and replay find servers busy in different ways."""
    time, saved_ms = entry.table_predicted_time, entry.table_measured_saving_ms
    if time is None or saved_ms is None or not entry.table_replayed_ms or time.ms_per_query <= 0:
        return None
    half = (time.high_ms - time.low_ms) / 2 / time.ms_per_query
    missed = saved_ms / entry.table_replayed_ms - time.saving_ms / time.ms_per_query
    return abs(missed) / max(half, _LEAST_HALF_WIDTH)


def measured_beside(entries: Sequence[LedgerEntry]) -> tuple[float, int] | None:
    """Return by how much measured savings of a table's applications differ from predicted ones, and how many.

    A mean difference of shares of all entries; None if no application was measured.
    """
    applied = {
        entry.application: (entry.table_predicted_saving_ratio, entry.table_measured_saving_ratio)
        for entry in entries
        if entry.application and entry.table_measured_saving_ratio is not None
    }
    pairs = [(p, m) for p, m in applied.values() if p is not None and m is not None]
    return (
        (sum(measured - predicted for predicted, measured in pairs) / len(pairs), len(pairs))
        if pairs
        else None
    )


def drift(entries: Sequence[LedgerEntry]) -> str:
    """Return the same as words, empty if no application was measured."""
    found = measured_beside(entries)
    if found is None:
        return ""
    off, number = found
    less = "less" if off < 0 else "more"
    times = "1 application" if number == 1 else f"{number} applications"
    return f"measured savings are {percent(abs(off))} of all entries {less} than predicted ({times})"
