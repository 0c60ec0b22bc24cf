"""The applications of advice on one table, predicted beside measured, from the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from starskip.advisor.ledger.entry import Event, LedgerEntry
from starskip.advisor.ledger.standing import drift
from starskip.reports.advice_values import Interval, TimeSavingEvidence
from starskip.reports.afterwards_evidence import Afterwards
from starskip.reports.afterwards_words import place_words

MAX_CHANGES = 5
"""Applications of a table that a report shows, the newest."""
_OUTCOMES = {
    Event.KEPT.value: "kept",
    Event.REFUTED.value: "taken back for what was measured",
    Event.TAKEN_BACK.value: "taken back",
}


@dataclass(frozen=True, slots=True)
class AppliedIndex:
    """One index of an application; savings are shares of all entries, and milliseconds of a mean query."""

    kind: str
    columns: tuple[str, ...]
    is_drop: bool
    size_bytes: int | None
    predicted_saving_ratio: float | None
    measured_saving_ratio: float | None
    predicted_saving_ms: float | None
    measured_saving_ms: float | None
    detail: str


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """One application: what was predicted of all its indexes together, and what a replay measured.

    ``outcome``: the code of an end, as in the ledger. ``replayed_ms``: a mean query's time before the change.
    A saving is null where it was not predicted, or not measured.
    """

    at: datetime
    who: str
    source: str
    outcome: str
    reason: str
    predicted_saving_ratio: float | None
    interval: Interval | None
    measured_saving_ratio: float | None
    time: TimeSavingEvidence | None
    replayed_ms: float | None
    measured_saving_ms: float | None
    reloaded_bytes: int | None
    reload_seconds: float | None
    indexes: tuple[AppliedIndex, ...]

    @property
    def outcome_words(self) -> str:
        """The outcome for people."""
        return _OUTCOMES.get(self.outcome, self.outcome)

    @property
    def entries_words(self) -> str:
        """The place of the measured saving of entries beside its interval, empty if that is not known."""
        if self.interval is None:
            return ""
        return _beside(self.measured_saving_ratio, self.interval)

    @property
    def measured_time_ratio(self) -> float | None:
        """The share of a mean query's time that was saved in the replay."""
        if self.measured_saving_ms is None or not self.replayed_ms:
            return None
        return self.measured_saving_ms / self.replayed_ms

    @property
    def time_interval(self) -> Interval | None:
        """The predicted interval as a share of a mean query's time."""
        if self.time is None or self.time.ms_per_query <= 0:
            return None
        ends = self.time.interval_ms
        return Interval(ends.low / self.time.ms_per_query, ends.high / self.time.ms_per_query)

    @property
    def time_words(self) -> str:
        """The place of the measured saving of time beside its interval, both as shares of a query's time."""
        interval = self.time_interval
        return "" if interval is None else _beside(self.measured_time_ratio, interval)


@dataclass(frozen=True, slots=True)
class AppliedAdvice:
    """The newest applications of a table, newest first, and the number of ``earlier`` ones.

    ``drift``: how measured savings differ from predicted ones, as words. ``afterwards``: the changes in
    force, newest first, and what later logs say of them.
    """

    changes: tuple[AppliedChange, ...]
    earlier: int
    drift: str
    afterwards: tuple[Afterwards, ...] = ()

    @property
    def refuted(self) -> tuple[Afterwards, ...]:
        """The changes in force whose prediction later logs refute."""
        return tuple(each for each in self.afterwards if each.is_refuted)


def applied_advice(
    entries: Sequence[LedgerEntry], afterwards: tuple[Afterwards, ...] = ()
) -> AppliedAdvice | None:
    """Return the applications that a table's ``entries`` tell of, oldest first, and its changes in force.

    None if there are neither.
    """
    by_application: dict[str, dict[str, LedgerEntry]] = {}
    for entry in entries:
        if entry.application:
            # The newest entry of an index counts: what was kept may be taken back.
            by_application.setdefault(entry.application, {})[entry.index.name] = entry
    changes = [_change(list(of_index.values())) for of_index in by_application.values()]
    if not changes and not afterwards:
        return None
    changes.sort(key=lambda each: each.at, reverse=True)
    return AppliedAdvice(
        tuple(changes[:MAX_CHANGES]), max(len(changes) - MAX_CHANGES, 0), drift(entries), afterwards
    )


def _change(entries: Sequence[LedgerEntry]) -> AppliedChange:
    newest = max(entries, key=lambda each: each.at)
    time = newest.table_predicted_time
    return AppliedChange(
        newest.at,
        newest.who,
        newest.source,
        newest.event.value,
        newest.reason,
        newest.table_predicted_saving_ratio,
        Interval(*newest.interval) if newest.interval else None,
        newest.table_measured_saving_ratio,
        TimeSavingEvidence(time.ms_per_query, time.saving_ms, Interval(time.low_ms, time.high_ms))
        if time
        else None,
        newest.table_replayed_ms,
        newest.table_measured_saving_ms,
        newest.reloaded_bytes,
        newest.reload_seconds,
        tuple(
            AppliedIndex(
                each.index.family,
                each.index.columns,
                each.index.is_drop,
                each.index.size_bytes,
                each.index.saving_ratio,
                each.measured_saving_ratio,
                each.index.saving_ms,
                each.measured_saving_ms,
                each.detail,
            )
            for each in entries
        ),
    )


def _beside(measured: float | None, interval: Interval) -> str:
    return "" if measured is None else place_words(measured, interval)
