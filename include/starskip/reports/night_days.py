"""Tell of each day whether a night was run for it, and how that ended; choose the months of a calendar.

Folders of the store tell which nights there are; only nights that a run has ended are looked into.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum

from starskip.advisor.run.night import Night
from starskip.errors import StorageError
from starskip.night.night_runs import NIGHT_RUNS, NightRun, night_runs, whole_run
from starskip.reports.report_lists import AT_ONCE

_MONTHS = 12


class DayState(StrEnum):
    """The end or the state of a day's night; the values are the words of the calendar's legend."""

    REPORTED = "reported"
    PARTLY = "partly"
    FAILED = "failed"
    NO_LOG = "no log"
    RUNNING = "running"
    QUEUED = "queued"
    NOT_RUN = "not run"


@dataclass(frozen=True, slots=True)
class NightDay:
    """One day: its state, ``why``, the run that says so, and whether reports of it are published."""

    run_date: date
    state: DayState
    why: str = ""
    run_id: str = ""
    has_reports: bool = False

    @property
    def can_be_repeated(self) -> bool:
        """Return whether a run of this day may be asked for."""
        return self.state not in (DayState.RUNNING, DayState.QUEUED)


ActiveRun = tuple[DayState, str]
"""A run that is not over: running or queued, and its id."""


def days_between(first: date, last: date) -> tuple[date, ...]:
    """Return the days from ``first`` to ``last``, both of them included."""
    return tuple(first + timedelta(days=each) for each in range((last - first).days + 1))


def night_days(night: Night, days: Iterable[date], active: Mapping[date, ActiveRun]) -> tuple[NightDay, ...]:
    """Return what became of each of the ``days``; ``active``: runs of Airflow's that are not over."""
    storage = night.store.storage
    reported, ended = set(storage.folders_in("reports")), set(storage.folders_in(NIGHT_RUNS))

    def day_of(run_date: date) -> NightDay:
        text = run_date.isoformat()
        has_reports = text in reported
        if run_date in active:
            state, run_id = active[run_date]
            return NightDay(run_date, state, run_id=run_id, has_reports=has_reports)
        if text not in ended:
            state = DayState.REPORTED if has_reports else DayState.NOT_RUN
            return NightDay(run_date, state, has_reports=has_reports)
        try:
            runs = night_runs(replace(night, run_date=run_date))
        except StorageError as error:
            return NightDay(run_date, DayState.FAILED, str(error), has_reports=has_reports)
        state, why, run_id = _end(runs, has_reports=has_reports)
        return NightDay(run_date, state, why, run_id, has_reports)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return tuple(pool.map(day_of, days))


def _end(runs: Sequence[NightRun], *, has_reports: bool) -> tuple[DayState, str, str]:
    run = whole_run(runs)
    if run is None:
        only = "only runs for some of the tables"
        return (DayState.PARTLY if has_reports else DayState.NOT_RUN), only, ""
    if run.is_log_missing:
        return DayState.NO_LOG, run.night_problem or "", run.run_id
    if run.night_problem:
        return DayState.FAILED, run.night_problem, run.run_id
    if run.problem or not has_reports:
        return DayState.PARTLY, run.problem or "no table has a report", run.run_id
    return DayState.REPORTED, "", run.run_id


@dataclass(frozen=True, slots=True)
class CalendarYear:
    """Some whole months; ``older`` and ``newer`` are days of the years beside them, None without any."""

    first: date
    last: date
    older: date | None
    newer: date | None


def calendar_year(
    nights: Sequence[date], asked: Sequence[date], until: date | None, complete: date
) -> CalendarYear:
    """Return the months from the first night to the day ``until``.

    ``nights``: the nights in the store, newest first. ``asked``: days to be seen if there is no ``until``.
    ``complete``: the newest day that is over, behind which no month begins.
    """
    oldest = min([complete, *nights[-1:], *asked])
    newest_year, _ = months_until(complete, _MONTHS)
    end = until or (max(asked) if asked and oldest < newest_year else complete)
    first, last = months_until(min(end, complete), _MONTHS)
    first = max(first, min(oldest, last).replace(day=1))
    return CalendarYear(
        first,
        last,
        first - timedelta(days=1) if oldest < first else None,
        min(complete, last + timedelta(days=360)) if last < complete else None,
    )


def months_until(last: date, months: int) -> tuple[date, date]:
    """Return the first day of the ``months`` that end with the month of ``last``, and their last day."""
    behind = (last.replace(day=1) + timedelta(days=32)).replace(day=1)
    at = max(12, last.year * 12 + last.month - months)  # any date may stand in an address
    return date(at // 12, at % 12 + 1, 1), behind - timedelta(days=1)
