"""Records without a time: the night of the day that their file's path names, or of any day it may hold."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime

import pytest
from starskip.pinot.logs.file_day import may_be_of_day

LATE_EVENING = datetime(2026, 11, 18, 23, 0, tzinfo=UTC).timestamp()


@pytest.fixture
def nameless(tmp_path):
    path = tmp_path / "events.json"
    path.touch()
    os.utime(path, (LATE_EVENING, LATE_EVENING))
    return str(path)


@pytest.mark.parametrize("day", [17, 18, 19])
def test_the_day_that_the_path_names_and_no_other(tmp_path, day):
    path = tmp_path / "events-2026-11-18.json"
    path.touch()  # changed today
    assert may_be_of_day(str(path), date(2026, 11, day), "UTC") is (day == 18)


@pytest.mark.parametrize(
    ("day", "zone", "expected"),
    [(17, "UTC", True), (18, "UTC", True), (19, "UTC", False), (19, "Europe/Berlin", True)],
)
def test_a_file_last_changed_before_a_day_holds_nothing_of_it(nameless, day, zone, expected):
    assert may_be_of_day(nameless, date(2026, 11, day), zone) is expected


@pytest.mark.parametrize("path", ["s3://bucket/events.json", "/absent/events.json", "events\0.json"])
def test_of_a_file_whose_change_nobody_knows_any_day_may_be(path):
    assert may_be_of_day(path, date(2026, 11, 18), "UTC")
