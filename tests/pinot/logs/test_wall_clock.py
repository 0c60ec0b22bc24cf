"""Times with and without an offset, as the clock of the log's zone shows them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.pinot.logs.file_day import file_day
from starskip.pinot.logs.record_columns import wall_clock

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/Los_Angeles",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
)
EPOCH = datetime(1970, 1, 1)


def told(clock: datetime, offset: bytes | None, zone: str) -> datetime:
    milliseconds = np.array([(clock - EPOCH) // timedelta(milliseconds=1)])
    return EPOCH + timedelta(milliseconds=int(wall_clock(milliseconds, [offset], zone)[0]))


@pytest.mark.parametrize(
    ("clock", "offset", "zone", "expected"),
    [
        ("2026-11-18 08:45:08.326", None, "Europe/Berlin", "2026-11-18 08:45:08.326"),
        ("2026-11-18 08:45:08.326", b"Z", "UTC", "2026-11-18 08:45:08.326"),
        ("2026-11-18 23:30:00.000", b"Z", "Europe/Berlin", "2026-11-19 00:30:00.000"),
        ("2026-11-19 00:30:00.000", b"+01:00", "Europe/Berlin", "2026-11-19 00:30:00.000"),
        ("2026-11-19 00:30:00.000", b"+0530", "UTC", "2026-11-18 19:00:00.000"),
        ("2026-11-18 20:00:00.000", b"-08:00", "UTC", "2026-11-19 04:00:00.000"),
        # Clocks in Berlin go forward on 29 March and back on 25 October, both at 01:00 UTC.
        ("2026-03-29 00:59:59.999", b"Z", "Europe/Berlin", "2026-03-29 01:59:59.999"),
        ("2026-03-29 01:00:00.000", b"Z", "Europe/Berlin", "2026-03-29 03:00:00.000"),
        ("2026-10-25 00:30:00.000", b"Z", "Europe/Berlin", "2026-10-25 02:30:00.000"),
        ("2026-10-25 01:30:00.000", b"Z", "Europe/Berlin", "2026-10-25 02:30:00.000"),
        ("0001-01-01 00:00:00.000", b"Z", "America/Los_Angeles", "0001-01-01 00:00:00.000"),
    ],
)
def test_known_times(clock, offset, zone, expected):
    assert told(datetime.fromisoformat(clock), offset, zone) == datetime.fromisoformat(expected)


@given(
    instant=st.datetimes(datetime(1971, 1, 1), datetime(2100, 1, 1)),
    zone=st.sampled_from(ZONES),
    minutes=st.integers(-14 * 60, 14 * 60),
)
def test_an_instant_is_told_as_its_zone_tells_it_whatever_its_offset(instant, zone, minutes):
    sign, size = "-" if minutes < 0 else "+", abs(minutes)
    offset = f"{sign}{size // 60:02d}:{size % 60:02d}".encode()
    instant = instant.replace(microsecond=instant.microsecond // 1000 * 1000)
    expected = instant.replace(tzinfo=UTC).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    assert told(instant + timedelta(minutes=minutes), offset, zone) == expected


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-03-30", 24), ("2026-10-25", 25)])
def test_a_day_has_the_hours_that_its_zone_gives_it(day, hours):
    first = datetime.fromisoformat(day) - timedelta(days=1)
    minutes = [first + timedelta(minutes=m) for m in range(3 * 24 * 60)]
    clocks = [told(minute, b"Z", "Europe/Berlin") for minute in minutes]
    assert sum(clock.date().isoformat() == day for clock in clocks) == hours * 60


@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("/logs/broker-2026-11-18.log.gz", "2026-11-18"),
        ("/logs/pinotBroker.2026-11-18-3.log", "2026-11-18"),
        ("/logs/broker.log-20261118", "2026-11-18"),
        ("/logs/broker.log.2026111806", "2026-11-18"),
        ("/logs/events_2026_11_18.json.zst", "2026-11-18"),
        ("s3://logs/2026/11/18/broker-3.log", "2026-11-18"),
        ("/backup-2026-01-01/dt=2026-11-18/part-0.json", "2026-11-18"),
        ("/logs/2026-11-18/part-2026-99-99.json", "2026-11-18"),
        ("/logs/broker.log", None),
        ("/logs/broker-1794996000123.log", None),
        ("/logs/broker-2026-11.log", None),
        ("/logs/1926-11-18.log", None),
        ("9" * 100_000, None),
    ],
)
def test_day_that_a_path_names(path, day):
    found = file_day(path)
    assert (found and found.isoformat()) == day
