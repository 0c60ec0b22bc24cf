"""Resolve the night of a DAG run, once for all its tasks."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from starskip.errors import ConfigError


def resolve_run_date(
    asked: str | None, start: datetime | None, end: datetime | None, run_after: datetime
) -> date:
    """Return the night of a run: the one ``asked`` for, else the day its data interval starts in, in UTC.

    ``start``, ``end``: of the interval. A day that is not over at its end is not read yet: the night is the
    day before, as of an hourly run, and of Airflow's trigger timetables, whose intervals have no length. A
    run that the API triggers without a logical date has no interval: it is about the day before
    ``run_after``. A *logical date* is never used, since it starts the interval of a scheduled run and ends
    the interval of a manual one.

    Raises ConfigError if ``asked`` is not a date.
    """
    if asked is not None:
        try:
            return date.fromisoformat(asked)
        except ValueError:
            raise ConfigError(
                f"run_date {asked!r} is not a date such as 2026-11-20", setting="run_date"
            ) from None
    complete = (end or run_after).astimezone(UTC).date() - timedelta(days=1)
    return min(start.astimezone(UTC).date(), complete) if start is not None else complete
