"""Cut the tests in tiers: what ``make test`` leaves out, and the shards of ``make test-all``.

A test lies in the folder of what it tests, at the lowest level that can show the behaviour. Without a mark it
runs in ``make test`` and may take a second of processors. A test marked ``slow`` runs in its shard alone: it
takes longer, repeats a behaviour, or starts a server of its own. A test marked ``law`` runs in ``make test``
with few cases and in its shard with all. ``SHARDS`` cuts the shards by folders: a shard is what shares a
server, or a session that is slow to start.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

_SETTLED = "4 hours ago"
"""A commit older than this was tested by the shards before; what changed since is tested now."""


@dataclass(frozen=True, slots=True)
class Shard:
    """Tests that one call runs; ``tests`` and ``code`` are beginnings of paths.

    A test file belongs to the shard with the longest beginning of its path. A change of ``code`` touches the
    shard; code of no shard is what all are built of, and touches all. ``minutes``: on two slow cores.
    """

    name: str
    tests: tuple[str, ...]
    code: tuple[str, ...]
    minutes: int


_TESTED = (
    "tests/",
    "include/",
    "requirements",
    "pyproject.toml",
    "spark_jobs/",
    "dags/",
    "plugins/",
    "benchmarks/deployment.py",
    "benchmarks/pinot/",
)
"""Places where a change can make a test of a shard fail; ``make test`` holds the pages of docs."""

_SKIPPING = (
    "include/starskip/advisor/families/skipping/",
    "include/starskip/file_metadata/",
    "include/starskip/lake/",
    "include/starskip/predicates/",
    "include/starskip/skipping/",
    "include/starskip/spark/skipping/",
    "include/starskip_contrib/",
)

SHARDS: tuple[Shard, ...] = (
    Shard(
        "laws and values of skipping in Spark",
        ("tests/spark/skipping/",),
        _SKIPPING,
        9,
    ),
    Shard(
        "nights, formats and stores of skipping in Spark",
        (
            "tests/spark/skipping/formats/",
            "tests/spark/skipping/night/",
            "tests/spark/skipping/stores/",
        ),
        (
            *_SKIPPING,
            "include/starskip/advisor/families/",
            "include/starskip/advisor/workload/spark_events/",
            "include/starskip/storage/",
            "include/starskip_opensearch/",
        ),
        12,
    ),
    Shard(
        "secondary indexes, star-trees and stages on Spark",
        ("tests/spark/",),
        (
            "include/starskip/advisor/families/file_indexes/",
            "include/starskip/advisor/families/secondary/",
            "include/starskip/advisor/families/star_tree/",
            "include/starskip/advisor/run/",
            "include/starskip/advisor/workload/spark_events/",
            "include/starskip/execution/",
            "include/starskip/file_metadata/",
            "include/starskip/lake/",
            "include/starskip/night/",
            "include/starskip/predicates/",
            "include/starskip/secondary/",
            "include/starskip/skipping/",
            "include/starskip/spark/",
            "include/starskip/star_tree/",
            "include/starskip/storage/",
        ),
        10,
    ),
    Shard(
        "star-trees, cost, selection, logs",
        (
            "tests/advisor/",
            "tests/cli/star_tree/",
            "tests/pinot/",
            "tests/predicates/",
            "tests/sql/",
            "tests/star_tree/",
            "tests/tables/",
        ),
        (
            "include/starskip/advisor/cost/",
            "include/starskip/advisor/families/star_tree/",
            "include/starskip/advisor/latency/",
            "include/starskip/advisor/selection/",
            "include/starskip/advisor/verification/",
            "include/starskip/advisor/workload/",
            "include/starskip/lake/",
            "include/starskip/pinot/",
            "include/starskip/predicates/",
            "include/starskip/sql/",
            "include/starskip/star_tree/",
            "include/starskip/storage/",
            "include/starskip/tables/",
        ),
        5,
    ),
    Shard(
        "files: secondary indexes, metadata, lake, storage, OpenSearch",
        (
            "tests/advisor/families/",
            "tests/file_metadata/",
            "tests/lake/",
            "tests/secondary/",
            "tests/skipping/",
            "tests/storage/",
            "tests/starskip_contrib/",
            "tests/starskip_opensearch/",
        ),
        (
            "include/starskip/advisor/families/",
            "include/starskip/execution/",
            "include/starskip/file_metadata/",
            "include/starskip/lake/",
            "include/starskip/predicates/",
            "include/starskip/secondary/",
            "include/starskip/skipping/",
            "include/starskip/star_tree/",
            "include/starskip/storage/",
            "include/starskip_contrib/",
            "include/starskip_opensearch/",
        ),
        8,
    ),
    Shard(
        "nights in one process, commands, reports",
        ("tests/",),
        (
            "include/starskip/advisor/cost/",
            "include/starskip/advisor/families/",
            "include/starskip/advisor/run/",
            "include/starskip/advisor/selection/",
            "include/starskip/cli/",
            "include/starskip/execution/",
            "include/starskip/file_metadata/",
            "include/starskip/night/",
            "include/starskip/pinot/",
            "include/starskip/reports/",
            "include/starskip/secondary/",
            "include/starskip/skipping/",
            "include/starskip/sql/",
            "include/starskip/star_tree/",
            "include/starskip/storage/",
        ),
        6,
    ),
    Shard(
        "Airflow, its pages in a browser, backfills",
        ("tests/dags/", "tests/operation/", "tests/ui/"),
        (
            "dags/",
            "plugins/",
            "spark_jobs/",
            "include/starskip/advisor/run/",
            "include/starskip/night/",
            "include/starskip/airflow/",
            "include/starskip/reports/",
        ),
        12,
    ),
    Shard(
        "the wheel, installed elsewhere",
        ("tests/release/",),
        (
            "benchmarks/deployment.py",
            "dags/",
            "include/starskip/airflow/",
            "include/starskip/cli/",
            "include/starskip/night/",
        ),
        6,
    ),
    Shard(
        "a real Pinot",
        ("tests/advisor/deployment/", "tests/pinot/cluster/live/"),
        (
            "benchmarks/pinot/pinot_process.py",
            "benchmarks/pinot/running_pinot.py",
            "include/starskip/advisor/deployment/",
            "include/starskip/advisor/ledger/",
            "include/starskip/airflow/apply_dag.py",
            "include/starskip/cli/pinot_apply.py",
            "include/starskip/pinot/cluster/",
            "include/starskip/pinot/config_change.py",
            "include/starskip/pinot/segments/",
        ),
        12,
    ),
    Shard(
        "runs that are asked for in a browser, on Spark",
        ("tests/ui/test_runs_from_the_browser.py",),
        (
            "dags/",
            "spark_jobs/",
            "include/starskip/airflow/",
        ),
        16,
    ),
)


def shard_of(file: str) -> int:
    """Return the number of a test file's shard, from 1."""
    numbered = [(each, n) for n, shard in enumerate(SHARDS, 1) for each in shard.tests]
    return max((len(each), n) for each, n in numbered if file.startswith(each))[1]


def touched(changed: Sequence[str]) -> list[int]:
    """Return the numbers of the shards that changed files concern."""
    found: set[int] = set()
    for path in changed:
        if path.startswith("tests/") and Path(path).name.startswith("test_"):
            found.add(shard_of(path))
        elif path.startswith(_TESTED):
            of_code = {n for n, shard in enumerate(SHARDS, 1) if path.startswith(shard.code)}
            found |= of_code or set(_all())
    return sorted(found)


def changed_since(commit: str) -> list[str]:
    """Return the paths of the files that changed; a file that was moved counts at both its places."""
    return _git("diff", "--name-only", "--no-renames", commit, "HEAD").splitlines()


def pytest_addoption(parser: pytest.Parser) -> None:
    help_text = f"Run one part of what make test leaves out, such as 1/{len(SHARDS)}."
    parser.addoption("--shard", type=_number, help=help_text)


def _number(chosen: str) -> int:
    # Refused here, in one line, before processes of pytest-xdist start.
    names = [f"{n}/{len(SHARDS)}" for n in _all()]
    if chosen not in names:
        raise argparse.ArgumentTypeError(f"SHARD={chosen}: the shards are {', '.join(names)}")
    return names.index(chosen) + 1


def tests_of_the_shard(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that ``--shard`` keeps, which are all without it."""
    number = config.getoption("--shard")
    if number is None:
        return items
    kept, left = [], []
    for each in items:
        is_kept = _runs_in_shards(each) and shard_of(each.nodeid) == number
        (kept if is_kept else left).append(each)
    config.hook.pytest_deselected(items=left)
    return kept


def _runs_in_shards(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(each) for each in ("slow", "law"))


def main() -> int:
    """Run the shards that changes concern, and one by turns, as far as the time goes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, required=True, help="What all of them may take.")
    until = time.monotonic() + 60 * parser.parse_args().minutes
    commits = int(_git("rev-list", "--count", "HEAD"))
    settled = _git("rev-list", "-1", f"--before={_SETTLED}", "HEAD")
    concerned = touched(changed_since(settled)) if settled else _all()
    # Where not all fit, others come first after each commit.
    in_turn = [1 + (commits + n) % len(SHARDS) for n in range(len(SHARDS))]
    wanted = [each for each in in_turn if each in concerned]
    wanted += [each for each in in_turn[:1] if each not in concerned]
    left_out, failed = [], []
    for number in wanted:
        name = f"{number}/{len(SHARDS)} ({SHARDS[number - 1].name})"
        if time.monotonic() + 60 * SHARDS[number - 1].minutes > until:
            left_out.append(name)
            continue
        print(f"Shard {name}", flush=True)
        if subprocess.run(["make", "test-all", f"SHARD={number}/{len(SHARDS)}"]).returncode:
            failed.append(name)
    for name in left_out:
        print(f"Not run, for want of time: shard {name}; run it by hand")
    for name in failed:
        print(f"Failed: shard {name}")
    return 1 if failed else 0


def _all() -> list[int]:
    return list(range(1, len(SHARDS) + 1))


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
