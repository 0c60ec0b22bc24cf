"""Render the calendar of nights: months of days with what became of them, and days that a reader chose."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, tzinfo
from itertools import groupby

from starskip.night.stored_note import StoredNote
from starskip.reports.night_days import DayState, NightDay
from starskip.reports.page_links import PageLinks
from starskip.reports.template_environment import rendered_page

_ENDS_OF_DAYS = ((0, time()), (-1, time(23, 59, 59)))
_LISTED = 31
"""Days that are listed with their reasons."""

MARKS = {
    DayState.REPORTED: "✓",
    DayState.PARTLY: "◐",
    DayState.FAILED: "✗",
    DayState.NO_LOG: "∅",
    DayState.RUNNING: "▶",
    DayState.QUEUED: "…",
    DayState.NOT_RUN: "",
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Days that a reader has chosen; ``command``: what runs a backfill of them.

    ``may_repeat``: whether the reader may start a run.
    """

    days: Sequence[NightDay]
    command: str
    may_repeat: bool


def render_calendar(
    links: PageLinks,
    dag_id: str,
    days: Sequence[NightDay],
    *,
    chosen: Chosen | None = None,
    older: date | None = None,
    newer: date | None = None,
    last_complete: date,
    stored: StoredNote | None = None,
    alarms: Sequence[str] = (),
) -> str:
    """Return the calendar of ``days``, whole months in their order.

    Days behind ``last_complete`` are not over. ``older`` and ``newer`` are days of the calendars beside this
    one. ``stored``: what the store holds.
    """
    past = [day for day in days if day.run_date <= last_complete]
    look_at = [d for d in past if d.state in (DayState.FAILED, DayState.NO_LOG, DayState.PARTLY)]
    return rendered_page(
        "page_calendar.html.j2",
        links=links,
        dag_id=dag_id,
        months=_months(days),
        counts=_counts(past),
        look_at=look_at[::-1][:_LISTED],
        more=max(0, len(look_at) - _LISTED),
        chosen=chosen,
        chosen_counts=_counts(chosen.days) if chosen else (),
        chosen_dates={day.run_date for day in chosen.days} if chosen else set(),
        older=older,
        newer=newer,
        last_complete=last_complete,
        marks=MARKS,
        states=DayState,
        stored=stored,
        alarms=alarms,
    )


def backfill_command(dag_id: str, days: Sequence[NightDay], zone: tzinfo = UTC) -> str:
    """Return the command that runs the days again; days with a report only if all of them have one.

    ``zone``: of the log, whose days these are; Airflow takes instants without an offset as those of UTC.
    """
    first, last = days[0].run_date.isoformat(), f"{days[-1].run_date.isoformat()}T23:59:59"
    if str(zone) != "UTC":
        begin, end = (datetime.combine(days[at].run_date, clock, zone) for at, clock in _ENDS_OF_DAYS)
        first, last = begin.isoformat(), end.isoformat()
    are_all_good = all(day.state is DayState.REPORTED for day in days)
    return (
        f"airflow backfill create --dag-id {dag_id} --from-date {first} --to-date {last} "
        f"--max-active-runs 1 --reprocess-behavior {'completed' if are_all_good else 'failed'}"
    )


def _counts(days: Sequence[NightDay]) -> list[tuple[DayState, int]]:
    found = Counter(day.state for day in days)
    return [(state, found[state]) for state in DayState if found[state]]


def _months(days: Sequence[NightDay]) -> list[tuple[date, list[list[NightDay | None]]]]:
    """Return the first day of each month, with its weeks."""
    by_month = groupby(days, lambda day: day.run_date.replace(day=1))
    return [(month, _weeks(list(found))) for month, found in by_month]


def _weeks(days: Sequence[NightDay]) -> list[list[NightDay | None]]:
    """Return the weeks of a month from Monday to Sunday, with None for days of the months beside it."""
    before, cells = days[0].run_date.weekday(), [*days]
    after = 6 - days[-1].run_date.weekday()
    padded: list[NightDay | None] = [*[None] * before, *cells, *[None] * after]
    return [padded[at : at + 7] for at in range(0, len(padded), 7)]
