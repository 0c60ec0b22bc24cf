from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from starskip.airflow.night_request import resolve_run_date
from starskip.errors import ConfigError

AFTER = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)


def test_a_date_that_is_asked_for_is_the_night() -> None:
    assert resolve_run_date("2026-11-18", AFTER - timedelta(days=1), AFTER, AFTER) == date(2026, 11, 18)


@pytest.mark.parametrize(
    ("length", "night"),
    [
        (timedelta(days=1), 20),
        (timedelta(days=3), 18),  # over a weekend: Friday
        (timedelta(weeks=1), 14),
        (timedelta(hours=1), 20),
        (timedelta(0), 20),  # of Airflow's trigger timetables
    ],
)
def test_a_run_is_about_the_day_its_interval_starts_in_once_that_is_over(
    length: timedelta, night: int
) -> None:
    assert resolve_run_date(None, AFTER - length, AFTER, AFTER) == date(2026, 11, night)


@pytest.mark.parametrize(
    ("zone", "hour"), [("Pacific/Auckland", 2), ("Europe/Berlin", 2), ("America/New_York", 20)]
)
def test_the_day_is_that_of_the_log_whatever_the_zone_of_the_schedule(zone: str, hour: int) -> None:
    start = datetime(2026, 11, 20, hour, tzinfo=ZoneInfo(zone))
    night = start.astimezone(UTC).date()
    assert resolve_run_date(None, start, start + timedelta(days=1), AFTER) == night


@pytest.mark.parametrize(
    ("zone", "scheduled", "night"),
    [
        # By the clock of the brokers the 20th has 6 more hours.
        ("America/Los_Angeles", AFTER, 19),
        ("UTC", AFTER, 20),
        ("Asia/Tokyo", datetime(2026, 11, 21, 2, tzinfo=ZoneInfo("Asia/Tokyo")), 20),
        ("Europe/Berlin", datetime(2026, 11, 21, 1, tzinfo=ZoneInfo("Europe/Berlin")), 20),
    ],
)
def test_a_night_is_the_last_day_that_is_over_in_the_zone_of_the_log(
    zone: str, scheduled: datetime, night: int
) -> None:
    ends = scheduled - timedelta(days=1), scheduled, scheduled
    assert resolve_run_date(None, *ends, ZoneInfo(zone)) == date(2026, 11, night)
    assert resolve_run_date(None, None, *ends[1:], ZoneInfo(zone)) == date(2026, 11, night)


@pytest.mark.parametrize(("month", "first"), [(3, 27), (10, 23)])
def test_each_day_has_one_night_where_clocks_change(month: int, first: int) -> None:
    zone = ZoneInfo("Europe/Berlin")
    starts = [datetime(2026, month, first + number, 1, tzinfo=zone) for number in range(5)]
    nights = [resolve_run_date(None, start, end, end, zone) for start, end in pairwise(starts)]
    assert nights == [date(2026, month, first + number) for number in range(4)]


def test_no_day_is_read_before_it_is_over_where_clocks_go_forward() -> None:
    """The interval of 23 hours starts and ends on the 8th of March by UTC."""
    start, end = (datetime(2026, 3, day, 19, tzinfo=ZoneInfo("America/New_York")) for day in (7, 8))
    assert start.astimezone(UTC).date() == end.astimezone(UTC).date() == date(2026, 3, 8)
    assert resolve_run_date(None, start, end, AFTER) == date(2026, 3, 7)


def test_a_run_without_an_interval_is_about_the_last_complete_day() -> None:
    assert resolve_run_date(None, None, None, AFTER) == date(2026, 11, 20)
    assert resolve_run_date(None, None, None, AFTER.replace(hour=0)) == date(2026, 11, 20)


def test_what_is_no_date_is_named() -> None:
    with pytest.raises(ConfigError, match="run_date '2026-13-01' is not a date") as error:
        resolve_run_date("2026-13-01", None, None, AFTER)
    assert error.value.setting == "run_date"
