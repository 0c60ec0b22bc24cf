"""kill -9 between every two lines that touch the store, kill -9 at random, and a race of many writers.

Environment: STARSKIP_KILL_COUNT (30 random kills), STARSKIP_RACE ("8x16": processes x commits).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import starskip

KILL_COUNT = int(os.environ.get("STARSKIP_KILL_COUNT", "30"))
PROCESSES, COMMITS = map(int, os.environ.get("STARSKIP_RACE", "8x16").split("x"))


def worker(mode: str, folder: Path, *numbers: int) -> Any:
    command = [sys.executable, str(Path(__file__).with_name("crash_worker.py")), mode, str(folder)]
    package = {"PYTHONPATH": str(Path(starskip.__file__).parents[1])}  # the one that this process tests
    done = subprocess.run(
        command + [str(number) for number in numbers],
        env=os.environ | package,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_killed_before_every_line_that_touches_the_store(tmp_path: Path) -> None:
    counts = worker("lines", tmp_path)
    print(f"killed at lines: {counts}")
    assert counts["wrong"] == counts["stuck"] == 0
    assert counts["killed"] >= 500
    assert counts["old"] > 0
    assert counts["new"] > 0


def test_killed_at_random_moments(tmp_path: Path) -> None:
    counts = worker("random", tmp_path, KILL_COUNT, 20261118)
    print(f"killed at random: {counts}")
    assert counts["killed"] == KILL_COUNT
    assert counts["wrong"] == 0
    assert counts["published"] > KILL_COUNT
    assert counts["left"] == 3, "one manifest and two data files, nothing that the dead left"


def test_many_writers_on_one_chain_with_lost_answers(tmp_path: Path) -> None:
    total = PROCESSES * COMMITS
    found = worker("race", tmp_path, PROCESSES, COMMITS)
    assert found["failed"] == 0
    assert found["versions"] == list(range(1, total + 1)), "a gap"
    assert found["running_counts"] == list(range(1, total + 1)), "a lost or doubled update"
    expected = {f"{process}/{number}" for process in range(PROCESSES) for number in range(COMMITS)}
    assert len(found["commit_ids"]) == total
    assert set(found["commit_ids"]) == expected
    assert found["counts"] == {f"process {process}": COMMITS for process in range(PROCESSES)} | {"all": total}
