from __future__ import annotations

import gzip
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

Call = Callable[..., Any]

DATE = ("--run-date", "2026-11-20")


@pytest.fixture
def config(tmp_path: Path, deep_store: Path, logs: Path) -> Path:
    path = tmp_path / "night.yaml"
    path.write_text(
        f"sources: {{log_paths: '{logs}/broker-{{run_date}}.log.gz', segments_root: {deep_store}}}\n"
        "settings:\n"
        "  scoring: {window_rows_per_table: 2048, max_simulations_per_table: 300, max_sampled_segments: 2}\n"
        "store:\n  artefacts: store\n"
    )
    return path


def recommendations(config: Path) -> list[str]:
    store = ArtefactStore(storage_for(str(config.parent / "store")))
    snapshot = store.snapshot("recommendations", "2026-11-20")
    assert snapshot is not None
    return [str(row) for row in snapshot.read_table().to_pylist()]


def test_tables_and_settings_of_the_command_line(call: Call, config: Path) -> None:
    result = call(
        "stage", "all", "--config", config, *DATE, "--tables", "lineitem", "--set", "advice.max_indexes=1"
    )
    assert result.exit_code == 0
    assert "select_indexes: tables 1, chosen indexes 1, " in result.stdout
    assert [line.partition(":")[0] for line in result.stdout.splitlines()] == list(STAGE_NAMES)
    (report,) = (config.parent / "store" / "reports").rglob("*report.md")
    assert "with other settings than the configuration's: advice.max_indexes = 1" in report.read_text()


def test_a_setting_of_the_environment_counts(
    call: Call, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STARSKIP_ADVICE__MAX_INDEXES", "-1")
    result = call("stage", STAGE_NAMES[0], "--config", config, *DATE)
    assert result.exit_code == 3
    assert "advice.max_indexes: -1 is not allowed" in result.stderr


def test_warnings_are_one_line_each(call: Call, config: Path, tmp_path: Path, deep_store: Path) -> None:
    segments = tmp_path / "segments"
    (segments / "lineitem").mkdir(parents=True)
    (segments / "lineitem" / "lineitem_0.tar.gz").symlink_to(deep_store / "lineitem" / "lineitem_0.tar.gz")
    (segments / "lineitem" / "evil\n\x1b[2Jstarskip: all is well.tar.gz").write_bytes(b"x")
    config.write_text(config.read_text().replace(str(deep_store), str(segments)))
    result = call("stage", "collect_segment_metadata", "--config", config, *DATE)
    assert result.exit_code == 0
    (warning,) = result.stderr.splitlines()
    assert warning.startswith("collect_segment_metadata: warning: damaged segment ")
    assert warning.isprintable()


_MEASURED = """
import resource, subprocess, sys
code = subprocess.run(sys.argv[1:]).returncode
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
"""


@pytest.mark.slow
def test_a_bomb_costs_neither_memory_nor_disk(config: Path, tmp_path: Path, deep_store: Path) -> None:
    (tmp_path / "segments" / "bomb").mkdir(parents=True)
    head = tarfile.TarInfo("s/columns.psf")
    head.size = 8 << 30
    bomb = tmp_path / "segments" / "bomb" / "bomb_0.tar.gz"
    bomb.write_bytes(gzip.compress(head.tobuf()) + gzip.compress(bytes(64 << 20)) * 128)
    config.write_text(config.read_text().replace(str(deep_store), str(tmp_path / "segments")))
    command = [str(Path(sys.executable).with_name("starskip")), "stage", "collect_segment_metadata"]
    # Behind a small process: until it calls exec, a child counts the memory of the one that forked it.
    ran = subprocess.run(
        [sys.executable, "-c", _MEASURED, *command, "--config", str(config), *DATE],
        capture_output=True,
        text=True,
        check=True,
    )
    message, peak_kib = ran.stderr, int(ran.stdout.splitlines()[-1])
    assert "bomb_0.tar.gz: too_large (unpacks to more than 250 times its size" in message
    assert peak_kib < 600 * 1024
    assert sum(path.stat().st_size for path in (tmp_path / "store").rglob("*.*")) < 100_000


@pytest.mark.parametrize(
    ("words", "of_files", "of_folders"),
    [("", 0o600, 0o700), ("  readable_by: group\n", 0o640, 0o750)],
)
def test_what_stages_write_is_private_unless_the_configuration_says_who_may_read(
    words: str, of_files: int, of_folders: int, call: Call, config: Path
) -> None:
    config.write_text(config.read_text() + words)
    before = os.umask(0o022)
    try:
        for name in STAGE_NAMES[:2]:
            assert call("stage", name, "--config", config, *DATE).exit_code == 0
    finally:
        os.umask(before)
    written = [config.parent / "store", *(config.parent / "store").rglob("*")]
    assert {path.stat().st_mode & 0o777 for path in written if path.is_file()} == {of_files}
    assert {path.stat().st_mode & 0o777 for path in written if path.is_dir()} == {of_folders}


def test_who_may_read_is_one_of_three(call: Call, config: Path) -> None:
    config.write_text(config.read_text() + "  readable_by: 644\n")
    result = call("stage", STAGE_NAMES[0], "--config", config, *DATE)
    assert result.exit_code == 3
    assert "store.readable_by must be one of owner, group, all" in result.stderr


def test_all_stages_of_a_night_without_a_log_end_before_the_first(
    call: Call, config: Path, logs: Path
) -> None:
    config.write_text(config.read_text().replace("broker-{run_date}.log.gz", "broker-2026-11-18.log.gz"))
    result = call("stage", "all", "--config", config, *DATE)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.startswith(
        "starskip: no log of 2026-11-20: 1 log files hold no record of that day and 1"
    )
    assert not (config.parent / "store").exists()
    assert call("stage", STAGE_NAMES[0], "--config", config, *DATE).exit_code == 0
