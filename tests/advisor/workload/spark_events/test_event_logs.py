"""Files that make up the logs of applications."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

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


def filled(folder: Path, **texts: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    return str(folder)


def of_context(context: int, number: int, *, more: str = "") -> str:
    told = f'"Rollover Number":{number},"SparkContext Id":{context}'
    return f'{{"Event":"DBCEventLoggingListenerMetadata",{told}}}\n{more}'


def test_files_of_databricks_are_one_log_in_the_order_of_their_times(tmp_path: Path) -> None:
    folder = tmp_path / "1113_driver" / "77"
    touched(folder, "eventlog", "eventlog-2026-11-18--10-00.gz", "eventlog-2026-11-18--09-00.gz", "log4j.log")
    log, other = event_logs([f"{tmp_path}/*/*"])
    assert (log.name, other.name) == ("77", "log4j.log")
    assert names(log.files) == ["eventlog-2026-11-18--09-00.gz", "eventlog-2026-11-18--10-00.gz", "eventlog"]


def test_contexts_of_databricks_are_logs_of_their_own(tmp_path: Path) -> None:
    for context in (1, 2):
        filled(tmp_path / str(context), eventlog=of_context(context, 1))
    assert [len(log.files) for log in event_logs([f"{tmp_path}/*"])] == [1, 1]


def test_a_context_of_databricks_in_two_folders(tmp_path: Path) -> None:
    """The archive has a copy of what was being written then, and one file that is not rolled any more."""
    older, later = "eventlog-2026-11-18--09-00", "eventlog-2026-11-18--10-00"
    filled(tmp_path / "archive", **{older: of_context(5, 0), "eventlog": of_context(5, 1, more="{cut")})
    filled(
        tmp_path / "live", **{later: of_context(5, 1, more="{cut and whole}"), "eventlog": of_context(5, 2)}
    )
    (log,) = event_logs([f"{tmp_path}/*"])
    parents = [Path(file).parent.name for file in log.files]
    assert (parents, names(log.files)) == (["archive", "live", "live"], [older, later, "eventlog"])


def test_an_application_in_two_folders_is_one_log(tmp_path: Path) -> None:
    filled(tmp_path / "1" / "eventlog_v2_a", events_1_a="one", events_2_a="two")
    filled(tmp_path / "2" / "eventlog_v2_a", events_2_a="two and more", events_3_a="three")
    (log,) = event_logs([f"{tmp_path}/*/eventlog_v2_a"])
    assert [file[-12:] for file in log.files] == ["a/events_1_a", "a/events_2_a", "a/events_3_a"]
    assert Path(log.files[1]).read_text() == "two and more"


def test_applications_of_one_name_are_logs_of_their_own(tmp_path: Path) -> None:
    for cluster in ("east", "west"):
        filled(tmp_path / cluster / "eventlog_v2_a", events_1_a=f"of {cluster}", events_2_a=f"{cluster} too")
        filled(tmp_path / cluster, app=f"of {cluster}")
    logs = event_logs([f"{tmp_path}/*", *(f"{tmp_path}/{each}/eventlog_v2_a" for each in ("east", "west"))])
    assert [(log.name, len(log.files)) for log in logs] == [("app", 1)] * 2 + [("eventlog_v2_a", 2)] * 2


def test_a_copy_of_a_single_log_counts_once(tmp_path: Path) -> None:
    filled(tmp_path / "1", **{"app-1.inprogress": "first\nsec"})
    filled(tmp_path / "2", **{"app-1": "first\nsecond"})
    (log,) = event_logs([f"{tmp_path}/*"])
    assert log.name == "app-1"


@pytest.mark.slow
def test_files_in_a_bucket_that_were_written_before_are_left_out(s3: Any, tmp_path: Path) -> None:
    (tmp_path / "app-1").write_text("{}\n")
    place = s3.upload(tmp_path, s3.fresh_url())
    (log,) = event_logs([place], time.time_ns() - 3600 * 10**9)
    assert names(log.files) == ["app-1"]
    assert event_logs([place], time.time_ns() + 3600 * 10**9) == ()
