"""Overview of a DAG's tables: what the newest advice would save, its state, and how the last night ended.

The newest nights are looked at, each by one manifest that holds a summary of every table, and the ledger.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal

from starskip.advisor.deployment.forecast import reload_seconds
from starskip.advisor.ledger.entry import LedgerEntry
from starskip.advisor.ledger.index_states import STATES, index_states
from starskip.advisor.ledger.ledger import newest_entries
from starskip.advisor.ledger.standing import measured_beside, newest_by_index, reload_rate
from starskip.advisor.run.gate_verdicts import GateVerdict, stopping_verdicts
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import stage_named
from starskip.advisor.run.table_by_table import FAILED
from starskip.errors import StorageError
from starskip.night.night_runs import failed_run
from starskip.reports.published_reports import report_parts, without_collections
from starskip.reports.report_lists import AT_ONCE, report_nights
from starskip.reports.report_summary import SUMMARY, ReportSummary, summary_of
from starskip.reports.trend import TrendPoint
from starskip.storage.manifest import Part

NIGHTS_LOOKED_AT = 14
"""The newest nights, among which a table's standing advice is its newest report."""

Unit = Literal["milliseconds", "entries"]
DECIDED_AGAINST = frozenset({"rejected", "deferred", "refuted", "taken_back"})
FAULTS = ("stopped", "failed", "unreadable")
Outcome = Literal["reported", "stopped", "failed", "unreadable", "absent"]
"""The last night's outcome of a table; "absent" if the night was not about it."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Failure of the last night: of the whole night without a ``table``, or of that table."""

    kind: str
    words: str
    table: str = ""


@dataclass(frozen=True, slots=True)
class TableRow:
    """One table: its standing ``advice``, None where no report of the nights can be read.

    ``states``: how many indexes of the advice are in which state of the ledger, in the order of STATES;
    ``applied``: how many indexes were seen to work, or kept, before. ``measured``: as
    ``measured_beside``. ``reload_seconds``: None where the table's size is not known. ``why``: why a table
    without advice has none, or what stopped it last night.
    """

    table: str
    advice: ReportSummary | None
    outcome: Outcome
    why: str = ""
    states: Mapping[str, int] = field(default_factory=dict)
    applied: int = 0
    measured: tuple[float, int] | None = None
    trend: tuple[TrendPoint, ...] = ()
    reload_seconds: float | None = None

    @property
    def is_decided_against(self) -> bool:
        """True if each of its actions was rejected, deferred, refuted or taken back."""
        return bool(self.states) and self.states.keys() <= DECIDED_AGAINST

    @property
    def is_lake(self) -> bool:
        """True if only Spark gains, so that the saving is in bytes."""
        return self.advice is not None and self.advice.lake_only


@dataclass(frozen=True, slots=True)
class Overview:
    """Overview of the tables of a DAG.

    ``nights``: the nights that were read, newest first. ``ranked``: tables with advice on their table config,
    what saves most first, by ``unit``; tables whose advice is decided against come last. ``lake``: tables of
    the lake alone, by bytes; ``without``: tables without advice, by name. ``is_rate_measured``: whether
    reloads are forecast by past applications.
    """

    nights: tuple[date, ...]
    faults: tuple[Fault, ...] = ()
    unit: Unit = "entries"
    ranked: tuple[TableRow, ...] = ()
    lake: tuple[TableRow, ...] = ()
    without: tuple[TableRow, ...] = ()
    is_rate_measured: bool = False

    @property
    def counted(self) -> tuple[TableRow, ...]:
        """The ranked tables that figures are about: no table whose advice is decided against."""
        return tuple(row for row in self.ranked if not row.is_decided_against)

    @property
    def rows(self) -> tuple[TableRow, ...]:
        """Rows of all tables, in the order of the page."""
        return (*self.ranked, *self.lake, *self.without)


def overview(night: Night) -> Overview:
    """Return the overview of the tables of ``night``, whose date does not matter.

    Raises StorageError if the store cannot be read at all; a night or table that cannot is a fault.
    """
    with without_collections():
        return _overview(night, report_nights(night)[:NIGHTS_LOOKED_AT])


def _overview(night: Night, nights: tuple[date, ...]) -> Overview:
    if not nights:
        return Overview(())
    last = replace(night, run_date=nights[0])
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(pool.map(lambda each: _parts(replace(night, run_date=each)), nights))
    faults = [Fault("unreadable", each) for each in found if isinstance(each, str)]
    parts = [{} if isinstance(each, str) else each for each in found]
    stopped, of_night = _last_night(last)
    faults = [*of_night, *faults]
    ledger, problem = _ledger(night)
    faults += [Fault("unreadable", problem)] if problem else []
    rate = reload_rate(entry for entries in ledger.values() for entry in entries)
    rows = [
        _row(table, nights, parts, stopped.get(table), ledger.get(table, ()), rate)
        for table in sorted({name for each in parts for name in each} | stopped.keys())
        if night.wants(table)
    ]
    faults += [Fault(row.outcome, row.why, row.table) for row in rows if row.outcome in FAULTS]
    return _ranked(nights, faults, rows, is_rate_measured=rate is not None)


def _parts(night: Night) -> Mapping[str, Part] | str:
    try:
        return report_parts(night)
    except StorageError as error:
        return f"night of {night.date_text}: {error}"


def _last_night(night: Night) -> tuple[Mapping[str, GateVerdict], list[Fault]]:
    stopped: Mapping[str, GateVerdict] = {}
    faults = []
    try:
        if run := failed_run(night):
            faults.append(Fault("night", run.night_problem or ""))
    except StorageError as error:
        faults.append(Fault("unreadable", str(error)))
    try:
        stopped = stopping_verdicts(night)
    except StorageError as error:
        faults.append(Fault("unreadable", str(error)))
    return stopped, faults


def _ledger(night: Night) -> tuple[Mapping[str, Sequence[LedgerEntry]], str]:
    """Return the entries of each table, oldest first, and why they cannot be read, if so."""
    try:
        return newest_entries(night.store), ""
    except StorageError as error:
        return {}, str(error)


def _row(
    table: str,
    nights: Sequence[date],
    parts: Sequence[Mapping[str, Part]],
    verdict: GateVerdict | None,
    entries: Sequence[LedgerEntry],
    rate: float | None,
) -> TableRow:
    advice, problem = _standing(table, nights, parts)
    outcome, why = _outcome(parts[0].get(table), verdict)
    if problem and not why:
        outcome, why = "unreadable", problem
    if advice is None:
        return TableRow(table, None, outcome, why)
    states = index_states((each for each in advice.indexes if each.name), entries, advice.created_at)
    told = Counter(each.state for each in states.values())
    applied = sum(
        entry.event.value in ("applied", "kept") and name not in states
        for name, entry in newest_by_index(entries).items()
    )
    reload = None if advice.table_bytes is None else reload_seconds(advice.segments, advice.table_bytes, rate)
    return TableRow(
        table,
        advice,
        outcome,
        why or ("" if advice.indexes else advice.headline),
        {state: told[state] for state in STATES if told[state]},
        applied,
        measured_beside(entries),
        _trend(table, nights, parts),
        reload,
    )


def _standing(
    table: str, nights: Sequence[date], parts: Sequence[Mapping[str, Part]]
) -> tuple[ReportSummary | None, str]:
    """Return the newest summary of a table, and why a newer report than that has none."""
    problem = ""
    for run_date, of_night in zip(nights, parts, strict=True):
        part = of_night.get(table)
        if part is None or part.properties.get(FAILED):
            continue
        try:
            return summary_of(part, table, run_date), problem
        except StorageError as error:
            problem = problem or str(error)
    return None, problem


def _outcome(part: Part | None, verdict: GateVerdict | None) -> tuple[Outcome, str]:
    if part is not None and (reason := part.properties.get(FAILED)):
        return "failed", str(reason)
    if verdict is not None:
        (check, *more) = verdict.checks
        words = f"after {check.stage}: {check.check}, found {check.observed}, expected {check.expected}"
        words += f", and {len(more)} more" if more else ""
        is_reported = part is not None and not stage_named(verdict.stage).stops_report
        return ("failed" if is_reported else "stopped"), words
    return ("reported", "") if part is not None else ("absent", "")


def _trend(table: str, nights: Sequence[date], parts: Sequence[Mapping[str, Part]]) -> tuple[TrendPoint, ...]:
    """Return the saving of each night that has one; a night that chose nothing saves nothing."""
    points = []
    for run_date, of_night in zip(reversed(nights), reversed(parts), strict=True):
        part = of_night.get(table)
        told: Any = part.properties.get(SUMMARY) if part is not None else None
        with suppress(AttributeError, TypeError, ValueError):
            name = "lake_ratio" if told.get("lake_only") else "saving_ratio"
            if told.get(name) is not None or not told.get("indexes"):
                points.append(TrendPoint(run_date, float(told.get(name) or 0.0)))
    return tuple(points)


def _ranked(
    nights: tuple[date, ...], faults: Sequence[Fault], rows: Iterable[TableRow], *, is_rate_measured: bool
) -> Overview:
    with_advice: list[TableRow] = []
    without: list[TableRow] = []
    for row in rows:
        (with_advice if row.advice is not None and row.advice.indexes else without).append(row)
    lake = [row for row in with_advice if row.is_lake]
    ranked = [row for row in with_advice if not row.is_lake]
    counted = [row for row in ranked if not row.is_decided_against] or ranked
    known = [row.advice for row in counted if row.advice and row.advice.saving_ratio is not None]
    by_time = bool(known) and all(each.saving_ms is not None for each in known)
    unit: Unit = "milliseconds" if by_time else "entries"
    ranked.sort(key=lambda row: (row.is_decided_against, -(saving_of(row, unit) or 0.0), row.table))
    lake.sort(key=lambda row: (-(saving_of(row, unit) or 0.0), row.table))
    return Overview(nights, tuple(faults), unit, tuple(ranked), tuple(lake), tuple(without), is_rate_measured)


def saving_of(row: TableRow, unit: Unit) -> float | None:
    """Return what a night would save: of a table of the lake in bytes, of another one in ``unit``."""
    if row.advice is None:
        return None
    if row.is_lake:
        return row.advice.lake_bytes
    return row.advice.saving_ms if unit == "milliseconds" else row.advice.saving_entries
