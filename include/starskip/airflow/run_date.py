"""Resolve the night of a DAG run, once for all its tasks."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from starskip.errors import ConfigError


def resolve_run_date(asked: str | None, data_interval_end: datetime | None, run_after: datetime) -> date:
    """Return the night of a run: the one ``asked`` for, else the newest day, in UTC, that is over by then.

    *Then* is the end of the run's data interval, however long that is: an hour, a week, or nothing, as
    Airflow has it for an asset or a trigger timetable. A run that the API triggers without a logical date
    has no interval, but a time, ``run_after``. A *logical date* is never used, since it starts the interval
    of a scheduled run and ends the interval of a manual one.

    Raises ConfigError if ``asked`` is not a date.
    """
    if asked is not None:
        try:
            return date.fromisoformat(asked)
        except ValueError:
            raise ConfigError(
                f"run_date {asked!r} is not a date such as 2026-11-20", setting="run_date"
            ) from None
    return (data_interval_end or run_after).astimezone(UTC).date() - timedelta(days=1)
