from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from starskip.airflow.run_date import resolve_run_date
from starskip.errors import ConfigError

AFTER = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)


def test_a_date_that_is_asked_for_is_the_night() -> None:
    assert resolve_run_date("2026-11-18", AFTER, AFTER) == date(2026, 11, 18)


def test_a_scheduled_run_is_about_the_newest_day_that_is_over_when_its_interval_ends() -> None:
    """However long the interval is, of an hourly, a daily and a weekly schedule: a day must be complete."""
    assert resolve_run_date(None, AFTER, AFTER) == date(2026, 11, 20)
    assert resolve_run_date(None, AFTER.replace(hour=0), AFTER) == date(2026, 11, 20)
    assert resolve_run_date(None, AFTER.replace(hour=23), AFTER) == date(2026, 11, 20)


@pytest.mark.parametrize(
    ("zone", "schedule", "ends"),
    [
        ("Pacific/Auckland", "0 2 * * *", "2026-11-21T13:00"),
        ("Europe/Berlin", "0 2 * * *", "2026-11-21T01:00"),
        ("America/New_York", "0 20 * * *", "2026-11-21T01:00"),
    ],
)
def test_the_day_is_that_of_utc_whatever_the_zone_of_the_schedule(
    zone: str, schedule: str, ends: str
) -> None:
    hour = int(schedule.split()[1])
    local = datetime.fromisoformat(ends).replace(tzinfo=UTC).astimezone(ZoneInfo(zone))
    assert local.hour == hour
    assert resolve_run_date(None, local, AFTER) == date(2026, 11, 20)


def test_no_day_is_read_before_it_is_over_where_clocks_go_forward() -> None:
    """The interval of 23 hours starts and ends on the 8th of March by UTC."""
    evening = datetime(2026, 3, 8, 19, tzinfo=ZoneInfo("America/New_York"))
    assert evening.astimezone(UTC) == datetime(2026, 3, 8, 23, tzinfo=UTC)
    assert resolve_run_date(None, evening, AFTER) == date(2026, 3, 7)


def test_a_run_without_an_interval_is_about_the_last_complete_day() -> None:
    assert resolve_run_date(None, None, AFTER) == date(2026, 11, 20)
    assert resolve_run_date(None, None, AFTER.replace(hour=0)) == date(2026, 11, 20)


def test_what_is_no_date_is_named() -> None:
    with pytest.raises(ConfigError, match="run_date '2026-13-01' is not a date") as error:
        resolve_run_date("2026-13-01", None, AFTER)
    assert error.value.setting == "run_date"
