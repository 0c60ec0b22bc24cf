"""kill -9 between every two lines that touch the store, kill -9 at random, and a race of many writers.

The same on a disk and, with fewer cases, on the S3 server.

Environment: STARSKIP_KILL_COUNT (30 random kills), STARSKIP_RACE ("8x16": processes x commits),
STARSKIP_S3_KILL_COUNT (10), STARSKIP_S3_RACE ("16x4").
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import starskip
from law_cases import law_cases

KILL_COUNT = law_cases("STARSKIP_KILL_COUNT", 30)
S3_KILL_COUNT = law_cases("STARSKIP_S3_KILL_COUNT", 10)
RACE = os.environ.get("STARSKIP_RACE", "8x16")
S3_RACE = os.environ.get("STARSKIP_S3_RACE", "16x4")


def worker(mode: str, folder: Path | str, *numbers: int) -> Any:
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


@pytest.mark.slow
def test_killed_before_every_line_that_touches_the_store(tmp_path: Path) -> None:
    counts = worker("lines", tmp_path, 1)
    print(f"killed at lines: {counts}")
    assert counts["killed"] >= 500
    check_old_or_new(counts)


@pytest.mark.slow
def test_killed_before_lines_that_touch_the_bucket(s3: Any) -> None:
    counts = worker("lines", s3.fresh_url(), 16)
    print(f"killed at lines: {counts}")
    assert counts["killed"] >= 10
    check_old_or_new(counts)


def check_old_or_new(counts: dict[str, int]) -> None:
    assert counts["wrong"] == counts["stuck"] == 0
    assert counts["old"] > 0
    assert counts["new"] > 0


@pytest.mark.law
def test_killed_at_random_moments(tmp_path: Path) -> None:
    check_nothing_stuck(worker("random", tmp_path, KILL_COUNT, 20261118), KILL_COUNT)


@pytest.mark.law
def test_killed_at_random_moments_on_a_bucket(s3: Any) -> None:
    check_nothing_stuck(worker("random", s3.fresh_url(), S3_KILL_COUNT, 20261118), S3_KILL_COUNT)


def check_nothing_stuck(counts: dict[str, int], kills: int) -> None:
    print(f"killed at random: {counts}")
    assert counts["killed"] == kills
    assert counts["wrong"] == 0
    assert counts["published"] > kills
    assert counts["left"] == 3, "one manifest and two data files, nothing that the dead left"


def test_many_writers_on_one_chain_with_lost_answers(tmp_path: Path) -> None:
    check_race(tmp_path, RACE)


@pytest.mark.slow
def test_many_writers_on_one_chain_of_a_bucket_with_lost_answers(s3: Any) -> None:
    check_race(s3.fresh_url(), S3_RACE)


def check_race(place: Path | str, size: str) -> None:
    processes, commits = map(int, size.split("x"))
    total = processes * commits
    found = worker("race", place, processes, commits)
    assert found["failed"] == 0
    assert found["versions"] == list(range(1, total + 1)), "a gap"
    assert found["running_counts"] == list(range(1, total + 1)), "a lost or doubled update"
    expected = {f"{process}/{number}" for process in range(processes) for number in range(commits)}
    assert len(found["commit_ids"]) == total
    assert set(found["commit_ids"]) == expected
    assert found["counts"] == {f"process {process}": commits for process in range(processes)} | {"all": total}
