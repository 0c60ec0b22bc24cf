"""Files that a night reads; each record lands in exactly one night."""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from settings_with import settings_with
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.errors import ConfigError, SourceError
from starskip.execution.local_engine import LocalEngine
from starskip.night.night_logs import night_logs
from starskip.night.parse_query_logs import parse_query_logs
from starskip.pinot.logs.file_day import log_source
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.slow

DAY = date(2026, 10, 25)  # with 25 hours in Berlin


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    for day in ("24", "25", "26"):
        (tmp_path / f"broker-2026-10-{day}.log").touch()
    (tmp_path / "current.log").touch()
    return tmp_path


def names(logs: Path, *paths: str, neighbours: bool = True, day: date = DAY) -> tuple[list[str], int]:
    found = night_logs([f"{logs}/{path}" for path in paths], day, neighbours=neighbours)
    return [Path(file.path).name for file in found.files], len(found.warnings)


def test_the_files_of_the_days_beside_the_night_are_read_too(logs):
    all_three = [f"broker-2026-10-{day}.log" for day in (24, 25, 26)]
    assert names(logs, "broker-{run_date}.log") == (all_three, 0)
    assert names(logs, "broker-{run_date}.log", neighbours=False) == ([all_three[1]], 0)
    assert names(logs, "broker-{run_date}*", "current.log") == ([*all_three, "current.log"], 0)
    assert names(logs, "*.log", day=date(2030, 1, 1)) == ([*all_three, "current.log"], 0)


def test_the_last_day_has_no_day_behind_it_yet(logs):
    assert names(logs, "broker-{run_date}.log", day=date(2026, 10, 26)) == (
        ["broker-2026-10-25.log", "broker-2026-10-26.log"],
        0,
    )


def test_a_missing_file_of_the_night_is_told_and_without_neighbours_an_error(logs):
    assert names(logs, "broker-{run_date}.log", day=date(2026, 10, 27)) == (["broker-2026-10-26.log"], 1)
    with pytest.raises(SourceError, match=r"no log file at .*broker-2026-10-28\.log: check the path"):
        names(logs, "broker-{run_date}.log", day=date(2026, 10, 28))
    with pytest.raises(SourceError, match=r"broker-2026-10-27\.log"):
        names(logs, "broker-{run_date}.log", day=date(2026, 10, 27), neighbours=False)
    with pytest.raises(SourceError, match=r"absent\.log"):
        names(logs, "broker-{run_date}.log", "absent.log")


def test_a_broker_that_is_gone_leaves_the_logs_of_the_others(logs):
    assert names(logs, "broker-{run_date}.log", "gone-{run_date}.log") == (
        [f"broker-2026-10-{day}.log" for day in (24, 25, 26)],
        1,
    )
    with pytest.raises(SourceError, match=r"no log file at .*gone-2026-10-25\.log"):
        names(logs, "gone-{run_date}.log", "lost-{run_date}.log")


def test_brokers_whose_logs_are_missing_are_named(lab: Any, log_line: Callable[..., str]) -> None:
    for path in lab.logs.iterdir():
        path.unlink()
    line = log_line("lineitem", "SELECT COUNT(*) FROM lineitem")
    for day, brokers in ((18, "abcd"), (19, "abc"), (20, "a")):
        # Names of single objects are of no broker: none comes twice.
        for name in [*(f"broker-{broker}-" for broker in brokers), f"object-{day * 7_919:x}-"]:
            lab.log(line.replace("2026/11/20", f"2026/11/{day}"), name=f"{name}2026-11-{day}.log")
    for day in (18, 19):
        lab.run(lab.night(run_date=date(2026, 11, day)), STAGE_NAMES[:2])
        assert lab.warnings == ""
    lab.run(lab.night(), STAGE_NAMES[:2])
    missing = ", ".join(str(lab.logs / f"broker-{broker}") for broker in "bc")
    words = "no record of the day in logs that had some in the two nights before"
    assert lab.warnings == f"{words}: {missing}"


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("logs/broker-3-2026-11-18.log.2.gz", "logs/broker-3"),
        ("logs/broker-3-2026-11-19.log", "logs/broker-3"),
        ("logs/2026-11-18/broker-7.log", "logs/broker-7"),
        ("a/broker.log.1", "a/broker"),
        ("a/2026-11-18-broker-1.log", "a/broker-1"),
        ("a/b1.20261118.gz", "a/b1"),
        ("s3://b/x/2026/11/18/h1/q.jsonl.gz", "s3://b/x/h1/q"),
    ],
)
def test_a_log_is_of_the_broker_that_its_path_names(path: str, source: str) -> None:
    assert log_source(path) == source


@pytest.mark.parametrize("zone", ["Mars/Phobos", "", "../../etc/passwd", "/etc/localtime", "UTC\n", "Europe"])
def test_a_zone_that_there_is_not_is_named(zone):
    with pytest.raises(ConfigError, match=r"log\.time_zone: .* is not allowed: use an IANA time zone"):
        settings_with(time_zone=zone)


def queries_of(
    root: Path, day: date, zone: str, *paths: str, split_bytes: int = Settings().log.split_bytes
) -> list[str]:
    night = Night(
        run_date=day,
        store=ArtefactStore(storage_for(str(root / "artefacts"))),
        settings=settings_with(time_zone=zone, split_bytes=split_bytes),
        started_at=datetime(2027, 1, 1, tzinfo=UTC),
        run_id="test",
        log_paths=[f"{root}/{path}" for path in paths],
    )
    parse_query_logs(LocalEngine(), night)
    snapshot = night.store.snapshot("queries", night.date_text)
    assert snapshot is not None
    return [row["query_text"] for row in snapshot.read_table().to_pylist()] if snapshot.tables else []


STAMPS: dict[str, Callable[[datetime, ZoneInfo], str]] = {
    "wall clock": lambda at, zone: f"{at.astimezone(zone):%Y/%m/%d %H:%M:%S}.000",
    "offset": lambda at, zone: f"{at.astimezone(zone):%Y-%m-%dT%H:%M:%S%z}",
    "offset of another zone": lambda at, zone: f"{at.astimezone(ZoneInfo('Asia/Tokyo')):%Y-%m-%dT%H:%M:%S%z}",
    "UTC": lambda at, zone: f"{at:%Y-%m-%d %H:%M:%S}Z",
}


@settings(max_examples=25)
@given(data=st.data())
def test_each_record_lands_in_exactly_one_night_however_files_are_rotated(
    tmp_path_factory: pytest.TempPathFactory, log_line: Callable[..., str], data: st.DataObject
) -> None:
    """A file is closed at any moment and named after the day of its first or last record, or of closing."""
    root = tmp_path_factory.mktemp("rotated")
    zone = ZoneInfo(data.draw(st.sampled_from(["UTC", "Europe/Berlin", "Pacific/Auckland"])))
    start = datetime(2026, 10, 23, 12, tzinfo=UTC)
    seconds = st.integers(0, 4 * 24 * 3600)
    instants = [start + timedelta(seconds=s) for s in sorted(data.draw(st.lists(seconds, max_size=25)))]
    stamp = STAMPS[data.draw(st.sampled_from(sorted(STAMPS)))]
    cuts = [start + timedelta(seconds=s) for s in sorted(data.draw(st.lists(seconds, max_size=5)))]
    # At least once a day, as any rotation by days does.
    cuts = sorted({*cuts, *(start + timedelta(hours=23 * n) for n in range(6))})
    named_by = data.draw(st.sampled_from(["first", "last", "closing"]))
    written: Counter[str] = Counter()
    for number, closed in enumerate(cuts):
        opened = cuts[number - 1] if number else start - timedelta(days=1)
        inside = [at for at in instants if opened <= at < closed]
        if not inside:
            continue
        named_at = {"first": inside[0], "last": inside[-1], "closing": closed}[named_by]
        day = named_at.astimezone(zone).date().isoformat()
        with (root / f"broker-{day}-{number}.log").open("a") as file:
            for at in inside:
                written[f"SELECT {at:%d%H%M%S} FROM t"] += 1
                text = log_line("t", f"SELECT {at:%d%H%M%S} FROM t")
                file.write(text.replace("2026/11/20 10:00:00.000", stamp(at, zone)))
    read: Counter[str] = Counter()
    days = {(at.astimezone(zone)).date() for at in instants}
    for day in sorted({d + timedelta(days=n) for d in days for n in (-1, 0, 1)}):
        try:
            tonight = queries_of(root, day, zone.key, "broker-{run_date}-*.log")
        except SourceError:
            continue  # no file of three days
        for text in tonight:
            assert any(
                f"SELECT {at:%d%H%M%S} FROM t" == text and at.astimezone(zone).date() == day
                for at in instants
            ), "in the night of its own day"
        read.update(tonight)
    assert read == written


ZONES_AND_NOONS = {
    "a day of 25 hours": ("America/New_York", datetime(2026, 10, 31, 16, tzinfo=UTC)),
    "a day of 23 hours": ("America/New_York", datetime(2027, 3, 13, 17, tzinfo=UTC)),
    "half an hour more": ("Australia/Lord_Howe", datetime(2026, 10, 3, 1, tzinfo=UTC)),
    "always the same": ("UTC", datetime(2026, 11, 19, 12, tzinfo=UTC)),
}
PACKED = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


@pytest.mark.parametrize("days", ZONES_AND_NOONS)
@settings(max_examples=6, deadline=None)
@given(data=st.data())
def test_any_way_of_cutting_three_days_into_files_gives_the_same_nights(
    tmp_path_factory: pytest.TempPathFactory, log_line: Callable[..., str], days: str, data: st.DataObject
) -> None:
    """Files end anywhere, also in the middle of a second, with any name, packed or not."""
    root = tmp_path_factory.mktemp("cut")
    name, noon = ZONES_AND_NOONS[days]
    zone = ZoneInfo(name)
    seconds = st.integers(-36 * 3600, 36 * 3600)
    instants = [noon + timedelta(seconds=s) for s in sorted(data.draw(st.lists(seconds, max_size=30)))]
    lines = []
    for number, at in enumerate(instants):
        text = log_line("t", f"SELECT {number}\nFROM t")
        stamp = STAMPS[data.draw(st.sampled_from(sorted(STAMPS)))](at, zone)
        lines.append(text.replace("2026/11/20 10:00:00.000", stamp))
    (root / "whole").mkdir()
    (root / "whole" / "broker.log").write_text("".join(lines))
    (root / "parts").mkdir()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(lines)), max_size=6)))
    for start, end in pairwise([0, *cuts, len(lines)]):
        suffix = data.draw(st.sampled_from(sorted(PACKED)))
        file = root / "parts" / f"{data.draw(st.uuids(version=4))}{suffix}"
        file.write_bytes(PACKED[suffix]("".join(lines[start:end]).encode()))
    split_bytes = data.draw(st.integers(50, 5_000))
    seen: Counter[str] = Counter()
    first = noon.astimezone(zone).date()
    for day in (first + timedelta(days=n) for n in range(-3, 4)):
        of_day = sorted(
            f"SELECT {n}\nFROM t" for n, at in enumerate(instants) if at.astimezone(zone).date() == day
        )
        for folder, size in (("whole", 1 << 20), ("parts", split_bytes)):
            if of_day:
                assert sorted(queries_of(root, day, name, folder, split_bytes=size)) == of_day
            else:
                with pytest.raises(SourceError, match="hold no record of that day"):
                    queries_of(root, day, name, folder, split_bytes=size)
        seen.update(of_day)
    assert seen.total() == len(lines)


def test_a_record_without_a_time_belongs_to_the_day_that_its_path_names(tmp_path, log_line):
    bare = log_line("t", "SELECT 1 FROM t").partition("requestId")
    (tmp_path / "broker-2026-10-25.log").write_text("requestId" + bare[2])
    assert queries_of(tmp_path, DAY, "UTC", "broker-{run_date}.log") == ["SELECT 1 FROM t"]
    for day in (24, 26):
        with pytest.raises(SourceError, match="no record of that day and 1 of other days"):
            queries_of(tmp_path, date(2026, 10, day), "UTC", "broker-{run_date}.log")
    (tmp_path / "broker-2026-10-25.log").rename(tmp_path / "broker.log")
    assert len(queries_of(tmp_path, date(2026, 10, 24), "UTC", "broker.log")) == 1, (
        "no other night would have it"
    )


def test_events_without_a_time_or_a_day_in_their_files_name_belong_to_the_night_that_is_run(lab: Any) -> None:
    event = (
        '{"query": "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 7", "queryProcessingDuration": 9, '
        '"scannedEntriesInFilterCount": 5000000, "scannedEntriesPostFilterCount": 0}\n'
    )
    lab.log(*[event] * 7, name="events.json")  # written now, long after or before that night
    file = lab.root / "logs" / "events.json"
    os.utime(file, (2e9, 2e9))
    lab.run(stages=STAGE_NAMES[:2])
    assert lab.results["parse_query_logs"].counts["queries"] == 1481 + 7
    assert "7 queries have no time: they count for this night, which their files may hold" in lab.warnings
    os.utime(file, (1e9, 1e9))
    lab.run(stages=STAGE_NAMES[:2])
    assert lab.results["parse_query_logs"].counts["queries"] == 1481
    assert lab.results["parse_query_logs"].counts["outside_run_date"] == 7


def test_events_of_the_night_beside_a_log_in_a_whole_night(lab: Any) -> None:
    event = (
        '{"query": "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 7", "queryProcessingDuration": 9, '
        '"scannedEntriesInFilterCount": 5000000, "scannedEntriesPostFilterCount": 0, "time": "%s"}\n'
    )
    lab.log(
        *[event % "2026-11-20T10:00:00Z"] * 50,
        event % "2026-11-20T23:30:00Z",  # the 21st in Berlin
        '{"query": "SELECT 1 FROM lineitem"}\n',
        name="events-2026-11-20.json",
    )
    night = lab.run(
        lab.night(settings=settings_with(lab.settings, time_zone="Europe/Berlin")), STAGE_NAMES[:2]
    )
    counts = lab.results["parse_query_logs"].counts
    assert (counts["queries"], counts["outside_run_date"]) == (1481 + 50, 1)
    assert "1 log records rejected: incomplete_event" in lab.warnings
    rows = night.store.snapshot("queries", "2026-11-20").read_table(["lineitem"]).to_pylist()
    assert len(rows) == 896 + 50
    assert sum(row["line_format"] == "json-event" for row in rows) == 50
