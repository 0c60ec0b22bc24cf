"""Shards of the tests: which files they have, and which ones a change concerns."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shards import SHARDS, changed_since, shard_of, touched

CHECKOUT = Path(__file__).parents[1]
ALL = list(range(1, len(SHARDS) + 1))


def test_each_file_belongs_to_the_shard_with_the_longest_beginning() -> None:
    files = [str(each.relative_to(CHECKOUT)) for each in (CHECKOUT / "tests").rglob("test_*.py")]
    assert {shard_of(each) for each in files} == set(ALL)
    nights = shard_of("tests/spark/skipping/night/test_skipping_nights.py")
    assert (
        nights != shard_of("tests/spark/skipping/test_skipping_law.py") != shard_of("tests/spark/test_x.py")
    )


def test_each_beginning_is_that_of_a_path() -> None:
    for shard in SHARDS:
        for each in (*shard.tests, *shard.code):
            folder, _, start = each.rpartition("/")
            assert any(path.name.startswith(start) for path in (CHECKOUT / folder).iterdir()), each


@pytest.mark.parametrize(
    ("path", "concerned"),
    [
        ("docs/operate.md", []),
        ("CHANGELOG.md", []),
        ("include/starskip/errors.py", ALL),
        ("requirements.txt", ALL),
        ("tests/conftest.py", ALL),
        ("tests/ui/test_report_pages_in_airflow.py", [7]),
        ("tests/ui/test_runs_from_the_browser.py", [10]),
        ("dags/index_advisor_nightly_dag.py", [7, 8, 10]),
        ("include/starskip/sql/query_shape.py", [4, 6]),
        ("include/starskip/lake/lake_table.py", [1, 2, 3, 4, 5]),
        ("include/starskip/storage/vacuum.py", [2, 3, 4, 5, 6]),
        ("include/starskip/file_metadata/table_state.py", [1, 2, 3, 5, 6]),
        ("include/starskip/skipping/registry.py", [1, 2, 3, 5, 6]),
    ],
)
def test_what_a_change_concerns(path: str, concerned: list[int]) -> None:
    assert touched([path]) == concerned


def test_a_file_that_was_moved_counts_at_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        own = ("-c", "user.name=a test", "-c", "user.email=", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *own, *arguments], cwd=tmp_path, check=True, capture_output=True)

    (tmp_path / "before.py").write_text("a = 1\n" * 20)
    git("init")
    git("add", ".")
    git("commit", "-m", "one")
    git("mv", "before.py", "after.py")
    git("commit", "-m", "two")
    monkeypatch.chdir(tmp_path)
    assert changed_since("HEAD~1") == ["after.py", "before.py"]


def test_a_shard_that_there_is_not_is_refused_by_name() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "--shard", "11/10", "--collect-only", "tests/test_errors.py"],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 4
    assert f"SHARD=11/10: the shards are 1/{len(SHARDS)}, 2/{len(SHARDS)}, " in ran.stderr


def test_the_time_of_all_programs_below_is_told_and_the_code_is_that_of_the_tests() -> None:
    orphan = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'sum(range(9_000_000))'])"
    program = CHECKOUT / "tests" / "support" / "timed.py"
    ran = subprocess.run(
        [sys.executable, program, "-c", f"{orphan}; sys.exit(5)"], capture_output=True, text=True
    )
    assert ran.returncode == 5
    assert " s of wall time, " in ran.stdout and ran.stdout.endswith(" s of processors\n")
