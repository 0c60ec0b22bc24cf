"""A log file that holds nothing of the night is read once, and nights are as if it were read each time."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from settings_with import settings_with
from starskip.advisor.run.night import Night
from starskip.errors import MissingLog
from starskip.execution.local_engine import LocalEngine
from starskip.night import log_times
from starskip.night import parse_query_logs as stage_module
from starskip.night.log_times import LOG_TIMES
from starskip.night.parse_query_logs import parse_query_logs
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore, Experiment
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.slow

DAYS = [date(2026, 11, day) for day in range(17, 22)]
UNTIMED = "SELECT 1 FROM somewhere, without a time\n"


def night_of(root: Path, day: date, store: str = "artefacts", **changes: Any) -> Night:
    night = Night(
        run_date=day,
        store=ArtefactStore(storage_for(str(root / store))),
        settings=Settings(),
        started_at=datetime(2027, 1, 1, tzinfo=UTC),
        run_id="test",
        log_paths=[str(root / "logs")],
    )
    return replace(night, **changes)


def outcome(night: Night) -> Any:
    """Return all that a night tells and publishes, but for how many files it has read."""
    try:
        result = parse_query_logs(LocalEngine(), night)
    except MissingLog as error:
        return str(error)
    counts = {name: count for name, count in result.counts.items() if not name.startswith("log_files")}
    published: list[object] = []
    for artefact in ("queries", "rejected_records"):
        snapshot = night.store.snapshot(artefact, night.date_text)
        assert snapshot is not None
        rows = sorted(map(str, snapshot.read_table().to_pylist()))
        published.append((rows, {table: part.properties for table, part in snapshot.parts().items()}))
    return counts, sorted(result.warnings), published


def write(path: Path, lines: list[str], changed: datetime) -> None:
    content = "".join(lines).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    os.utime(path, (changed.timestamp(), changed.timestamp()))


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the files that are read."""
    names: list[str] = []
    parse = stage_module.parse_split

    def noted(split: Any, *arguments: Any) -> Any:
        names.append(Path(split.path).name)
        return parse(split, *arguments)

    monkeypatch.setattr(stage_module, "parse_split", noted)
    return names


@pytest.fixture
def root(tmp_path: Path, log_line: Callable[..., str]) -> Path:
    """A log file of each of five days, closed at its end."""
    (tmp_path / "logs").mkdir()
    for day in DAYS:
        line = log_line("t", "SELECT COUNT(*) FROM t").replace("2026/11/20", f"{day:%Y/%m/%d}")
        closed = datetime(day.year, day.month, day.day, 23, 59, tzinfo=UTC)
        write(tmp_path / "logs" / f"broker-{day}.log", [line], closed)
    return tmp_path


files = st.lists(
    st.tuples(
        st.sampled_from(["broker-{}.log", "broker-{}.log.gz", "plain-{}.log"]),
        st.lists(st.sampled_from([*DAYS, None]), max_size=4),
        st.sampled_from(DAYS),
    ),
    min_size=1,
    max_size=4,
)
steps = st.lists(st.tuples(st.sampled_from(DAYS), st.none() | st.integers(0, 3)), min_size=2, max_size=5)


@settings(max_examples=25)
@given(files=files, steps=steps)
def test_a_night_is_as_if_all_files_were_read(
    tmp_path_factory: pytest.TempPathFactory, log_line: Callable[..., str], files: Any, steps: Any
) -> None:
    root = tmp_path_factory.mktemp("nights")
    (root / "logs").mkdir()

    def line(day: date | None, word: int) -> str:
        text = log_line("t", f"SELECT {word} FROM t")
        return UNTIMED if day is None else text.replace("2026/11/20", f"{day:%Y/%m/%d}")

    def rewrite(number: int, seconds: int, *more: str) -> None:
        name, days, changed = files[number]
        path = root / "logs" / name.format(DAYS[number] if name.startswith("broker") else number)
        at = datetime(changed.year, changed.month, changed.day, 12, 0, seconds, tzinfo=UTC)
        write(path, [*(line(day, number) for day in days), *more], at)

    for number in range(len(files)):
        rewrite(number, 0)
    for place, (day, changed) in enumerate(steps):
        if changed is not None and changed < len(files):
            rewrite(changed, place + 1, line(day, place))
        # What another parser found is not used.
        with patch.object(log_times, "_parser_digest", lambda place=place: f"parser {place}"):
            reads_all = outcome(night_of(root, day, store="reads-all"))
        assert outcome(night_of(root, day)) == reads_all


def test_a_file_of_other_days_is_read_once(root: Path, read: list[str]) -> None:
    parse_query_logs(LocalEngine(), night_of(root, DAYS[3]))
    assert len(read) == 5
    read.clear()
    result = parse_query_logs(LocalEngine(), night_of(root, DAYS[4]))
    assert read == ["broker-2026-11-21.log"]
    assert result.counts["log_files_not_read_again"] == 4
    assert (result.counts["queries"], result.counts["outside_run_date"]) == (1, 4)


def test_a_file_that_has_changed_is_read_again(
    root: Path, read: list[str], log_line: Callable[..., str]
) -> None:
    parse_query_logs(LocalEngine(), night_of(root, DAYS[3]))
    line = log_line("t", "SELECT COUNT(*) FROM t")
    write(root / "logs" / "broker-2026-11-17.log", [line, line], datetime(2026, 11, 20, 12, tzinfo=UTC))
    read.clear()
    result = parse_query_logs(LocalEngine(), night_of(root, DAYS[3]))
    assert read == ["broker-2026-11-17.log", "broker-2026-11-20.log"]
    assert result.counts["queries"] == 3


def test_a_file_that_was_just_written_is_read_again(root: Path, read: list[str]) -> None:
    # It may be written again within the same tick of the clock, at the same size.
    (root / "logs" / "broker-2026-11-17.log").touch()
    for _ in range(2):
        read.clear()
        parse_query_logs(LocalEngine(), night_of(root, DAYS[4]))
    assert read == ["broker-2026-11-17.log", "broker-2026-11-21.log"]


@pytest.mark.parametrize("changed", [{"time_zone": "Europe/Berlin"}, {"message_field": "msg"}])
def test_a_log_that_is_read_otherwise_is_read_again(root: Path, read: list[str], changed: Any) -> None:
    parse_query_logs(LocalEngine(), night_of(root, DAYS[3]))
    read.clear()
    parse_query_logs(LocalEngine(), night_of(root, DAYS[3], settings=settings_with(**changed)))
    assert len(read) == 5


def test_times_that_are_damaged_or_of_an_experiment_are_not_used(root: Path, read: list[str]) -> None:
    night = night_of(root, DAYS[3])
    aside = replace(night, store=replace(night.store, experiment=Experiment("2026-11-20", "x")))
    parse_query_logs(LocalEngine(), aside)
    assert night.store.snapshot(LOG_TIMES, "current") is None
    parse_query_logs(LocalEngine(), night)
    (kept,) = (root / "artefacts" / LOG_TIMES).rglob("*.parquet")
    kept.write_bytes(kept.read_bytes()[:-20])
    read.clear()
    parse_query_logs(LocalEngine(), night)
    assert len(read) == 5


def test_a_file_that_could_not_be_read_is_tried_again(
    root: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from starskip.storage.files import file_blocks

    opened = file_blocks.open_file

    def failing(path: str) -> Any:
        if "11-17" in path:
            raise OSError(5, "Input/output error")
        return opened(path)

    with monkeypatch.context() as patch:
        patch.setattr(file_blocks, "open_file", failing)
        parse_query_logs(LocalEngine(), night_of(root, DAYS[4]))
    read.clear()
    parse_query_logs(LocalEngine(), night_of(root, DAYS[4]))
    assert read == ["broker-2026-11-17.log", "broker-2026-11-21.log"]
