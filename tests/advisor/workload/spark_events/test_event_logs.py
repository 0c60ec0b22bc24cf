"""Files that make up the logs of applications."""

from __future__ import annotations

from pathlib import Path

import pytest
from starskip.advisor.workload.spark_events.event_logs import event_logs
from starskip.errors import SourceError


def touched(folder: Path, *names: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()
    return str(folder)


def names(files: tuple[str, ...]) -> list[str]:
    return [Path(file).name for file in files]


def test_a_folder_of_logs_of_all_kinds(tmp_path: Path) -> None:
    touched(tmp_path, "local-1", "local-2.zstd", "local-3.lz4.inprogress", ".local-1.crc", "_tmp")
    touched(
        tmp_path / "eventlog_v2_app-4", "appstatus_app-4", "events_1_app-4.zstd", ".events_1_app-4.zstd.crc"
    )
    touched(tmp_path / "other", "local-9")
    logs = event_logs([str(tmp_path)])
    assert [log.name for log in logs] == [
        "eventlog_v2_app-4",
        "local-1",
        "local-2.zstd",
        "local-3.lz4.inprogress",
    ]
    assert names(logs[0].files) == ["events_1_app-4.zstd"]
    assert [log.is_running for log in logs] == [False, False, False, True]


def test_rolled_files_are_read_by_number(tmp_path: Path) -> None:
    folder = touched(
        tmp_path / "eventlog_v2_a", "appstatus_a.inprogress", *(f"events_{n}_a" for n in (1, 2, 10, 9, 11))
    )
    (log,) = event_logs([folder])
    assert names(log.files) == ["events_1_a", "events_2_a", "events_9_a", "events_10_a", "events_11_a"]
    assert log.is_running


def test_a_compacted_file_stands_for_those_up_to_its_number(tmp_path: Path) -> None:
    folder = touched(
        tmp_path / "eventlog_v2_a",
        "events_1_a.zstd",
        "events_2_a.zstd.compact",
        "events_3_a.zstd",
        "events_3_a.zstd.compact",
        "events_4_a.zstd",
    )
    (log,) = event_logs([folder])
    assert names(log.files) == ["events_3_a.zstd.compact", "events_4_a.zstd"]


def test_a_log_named_twice_is_one(tmp_path: Path) -> None:
    folder = touched(tmp_path / "eventlog_v2_a", "events_1_a")
    single = touched(tmp_path, "local-1") + "/local-1"
    logs = event_logs([str(tmp_path), folder, single, f"{tmp_path}/local-*", f"{tmp_path}/eventlog_v2_*"])
    assert [(log.name, len(log.files)) for log in logs] == [("eventlog_v2_a", 1), ("local-1", 1)]


def test_a_path_that_names_nothing(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no log file at"):
        event_logs([str(tmp_path / "gone")])


def test_a_folder_without_logs(tmp_path: Path) -> None:
    assert event_logs([str(tmp_path)]) == ()
