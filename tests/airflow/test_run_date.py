from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from starskip.airflow.night_request import resolve_run_date
from starskip.errors import ConfigError

AFTER = datetime(2026, 11, 21, 2, 0, tzinfo=UTC)


def test_a_date_that_is_asked_for_is_the_night() -> None:
    interval_start = datetime(2026, 11, 20, 2, tzinfo=UTC)
    assert resolve_run_date("2026-11-18", interval_start, AFTER) == date(2026, 11, 18)


def test_a_scheduled_run_is_about_the_day_its_interval_starts_in() -> None:
    assert resolve_run_date(None, datetime(2026, 11, 20, 2, tzinfo=UTC), AFTER) == date(2026, 11, 20)


def test_the_day_is_that_of_utc_whatever_the_zone_of_the_interval() -> None:
    auckland = timezone(timedelta(hours=13))
    assert resolve_run_date(None, datetime(2026, 11, 21, 9, tzinfo=auckland), AFTER) == date(2026, 11, 20)


def test_a_run_without_an_interval_is_about_the_last_complete_day() -> None:
    assert resolve_run_date(None, None, AFTER) == date(2026, 11, 20)
    assert resolve_run_date(None, None, AFTER.replace(hour=0)) == date(2026, 11, 20)


def test_what_is_no_date_is_named() -> None:
    with pytest.raises(ConfigError, match="run_date '2026-13-01' is not a date") as error:
        resolve_run_date("2026-13-01", None, AFTER)
    assert error.value.setting == "run_date"
