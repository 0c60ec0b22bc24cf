"""Notes that tell the next ``make night`` of one that was killed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from starskip.airflow.unfinished_runs import noted_run

pytestmark = pytest.mark.dags


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def notes(home: Path) -> set[str]:
    return {path.name for path in (home / "nights").iterdir()}


def test_a_run_that_ends_by_itself_leaves_no_note(tmp_path: Path) -> None:
    for _ in range(2):
        with noted_run(tmp_path) as was_killed:
            assert not was_killed
            assert notes(tmp_path) == {str(os.getpid())}
        assert notes(tmp_path) == set()


def test_one_that_was_killed_is_told_until_a_run_has_ended_well(tmp_path: Path) -> None:
    (tmp_path / "nights").mkdir()
    (tmp_path / "nights" / str(dead_process())).touch()
    with pytest.raises(KeyboardInterrupt), noted_run(tmp_path) as was_killed:
        assert was_killed
        raise KeyboardInterrupt
    assert len(notes(tmp_path)) == 2
    with noted_run(tmp_path) as was_killed:
        assert was_killed
    assert notes(tmp_path) == set()


def test_while_another_run_goes_on_none_is_called_killed(tmp_path: Path) -> None:
    (tmp_path / "nights").mkdir()
    for process in (dead_process(), os.getppid()):
        (tmp_path / "nights" / str(process)).touch()
    with noted_run(tmp_path) as was_killed:
        assert not was_killed
    assert len(notes(tmp_path)) == 2
