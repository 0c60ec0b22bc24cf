"""Cut the tests in tiers: what ``make test`` leaves out, and the shards of ``make test-all``.

A test marked ``slow`` runs in its shard alone. A test marked ``law`` runs in ``make test`` with few cases and
in its shard with all. All others run in ``make test`` alone. ``SHARDS`` says which files a shard has.
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


_TESTED = ("tests/", "include/", "requirements", "pyproject.toml", "spark_jobs/", "dags/", "plugins/")
"""Where a change can make a test of a shard fail; ``make test`` holds the pages of docs."""

SHARDS: tuple[Shard, ...] = (
    Shard(
        "laws and values of skipping in Spark",
        ("tests/spark/skipping/",),
        (
            "include/starskip/spark/skipping/",
            "include/starskip/skipping/",
            "include/starskip/advisor/families/file_indexes/",
            "include/starskip/advisor/families/lake_workload.py",
            "include/starskip/advisor/families/skipping/",
            "include/starskip/advisor/workload/filter_text.py",
            "include/starskip/advisor/workload/function_text.py",
            "include/starskip/advisor/workload/lake_queries.py",
            "include/starskip/advisor/workload/table_locations.py",
            "include/starskip/file_metadata/",
            "include/starskip/night/lake_logs.py",
            "include/starskip/predicates/expression_json.py",
            "include/starskip/predicates/expression_sql.py",
            "include/starskip/predicates/literal_text.py",
            "include/starskip/predicates/predicate_shape.py",
            "include/starskip/predicates/",
            "include/starskip/lake/",
            "include/starskip/advisor/workload/spark_events/",
        ),
        12,
    ),
    Shard(
        "nights, formats and stores of skipping in Spark",
        (
            "tests/spark/skipping/night/",
            "tests/spark/skipping/test_derived_nights.py",
            "tests/spark/skipping/test_encrypted_tables.py",
            "tests/spark/skipping/test_lake_format",
            "tests/spark/skipping/test_opensearch.py",
            "tests/spark/skipping/test_overwritten_tables.py",
            "tests/spark/skipping/test_program_exit.py",
            "tests/spark/skipping/test_sample_as_delta.py",
            "tests/spark/skipping/test_skipping_nights.py",
            "tests/spark/skipping/test_spark_connect.py",
        ),
        (
            "include/starskip/spark/skipping/",
            "include/starskip/skipping/",
            "include/starskip/advisor/families/file_indexes/",
            "include/starskip/advisor/families/lake_workload.py",
            "include/starskip/advisor/families/skipping/",
            "include/starskip/advisor/workload/filter_text.py",
            "include/starskip/advisor/workload/function_text.py",
            "include/starskip/advisor/workload/lake_queries.py",
            "include/starskip/advisor/workload/table_locations.py",
            "include/starskip/file_metadata/",
            "include/starskip/night/lake_logs.py",
            "include/starskip/predicates/expression_json.py",
            "include/starskip/predicates/expression_sql.py",
            "include/starskip/predicates/literal_text.py",
            "include/starskip/predicates/predicate_shape.py",
            "include/starskip/advisor/families/lake_builds.py",
            "include/starskip/storage/opensearch/",
        ),
        12,
    ),
    Shard(
        "secondary indexes, star-trees and stages on Spark",
        ("tests/spark/",),
        (
            "include/starskip/spark/",
            "include/starskip/night/stage_job.py",
            "include/starskip/execution/",
            "include/starskip/secondary/",
            "include/starskip/advisor/families/secondary/",
            "include/starskip/star_tree/",
            "include/starskip/advisor/families/star_tree/",
            "include/starskip/predicates/column_types.py",
            "include/starskip/sql/nanoseconds.py",
            "include/starskip/sql/sandboxed_duckdb.py",
            "include/starskip/sql/typed_literals.py",
            "include/starskip/lake/",
            "include/starskip/advisor/workload/spark_events/",
        ),
        12,
    ),
    Shard(
        "star-trees, cost, selection, logs",
        (
            "tests/star_tree/",
            "tests/advisor/families/star_tree/recommend/",
            "tests/sql/test_sandboxed_duckdb.py",
            "tests/cli/star_tree/",
            "tests/advisor/cost/",
            "tests/advisor/latency/",
            "tests/pinot/",
            "tests/predicates/",
            "tests/advisor/selection/",
            "tests/sql/",
            "tests/tables/",
            "tests/advisor/workload/",
        ),
        (
            "include/starskip/star_tree/",
            "include/starskip/advisor/families/star_tree/",
            "include/starskip/predicates/column_types.py",
            "include/starskip/sql/nanoseconds.py",
            "include/starskip/sql/sandboxed_duckdb.py",
            "include/starskip/sql/typed_literals.py",
            "include/starskip/advisor/cost/",
            "include/starskip/advisor/latency/",
            "include/starskip/pinot/",
            "include/starskip/predicates/",
            "include/starskip/advisor/selection/",
            "include/starskip/sql/",
            "include/starskip/tables/",
            "include/starskip/advisor/workload/",
        ),
        8,
    ),
    Shard(
        "files: secondary indexes, metadata, lake, storage, OpenSearch",
        (
            "tests/advisor/families/",
            "tests/advisor/workload/test_filter_text.py",
            "tests/advisor/workload/test_lake_queries.py",
            "tests/file_metadata/",
            "tests/predicates/test_expression_json.py",
            "tests/predicates/test_expression_sql.py",
            "tests/secondary/",
            "tests/skipping/",
            "tests/lake/",
            "tests/advisor/workload/spark_events/",
            "tests/storage/",
        ),
        (
            "include/starskip/secondary/",
            "include/starskip/advisor/families/secondary/",
            "include/starskip/skipping/",
            "include/starskip/advisor/families/file_indexes/",
            "include/starskip/advisor/families/lake_workload.py",
            "include/starskip/advisor/families/skipping/",
            "include/starskip/advisor/workload/filter_text.py",
            "include/starskip/advisor/workload/function_text.py",
            "include/starskip/advisor/workload/lake_queries.py",
            "include/starskip/advisor/workload/table_locations.py",
            "include/starskip/file_metadata/",
            "include/starskip/night/lake_logs.py",
            "include/starskip/predicates/expression_json.py",
            "include/starskip/predicates/expression_sql.py",
            "include/starskip/predicates/literal_text.py",
            "include/starskip/predicates/predicate_shape.py",
            "include/starskip/lake/",
            "include/starskip/advisor/workload/spark_events/",
            "include/starskip/storage/",
        ),
        10,
    ),
    Shard(
        "nights in one process, commands, reports",
        ("tests/",),
        (
            "include/starskip/cli/",
            "include/starskip/night/configuration/",
            "include/starskip/advisor/families/",
            "include/starskip/advisor/workload/filter_text.py",
            "include/starskip/advisor/workload/function_text.py",
            "include/starskip/advisor/workload/lake_queries.py",
            "include/starskip/advisor/workload/table_locations.py",
            "include/starskip/file_metadata/",
            "include/starskip/night/lake_logs.py",
            "include/starskip/predicates/column_types.py",
            "include/starskip/predicates/expression_json.py",
            "include/starskip/predicates/expression_sql.py",
            "include/starskip/predicates/literal_text.py",
            "include/starskip/predicates/predicate_shape.py",
            "include/starskip/secondary/",
            "include/starskip/skipping/",
            "include/starskip/sql/nanoseconds.py",
            "include/starskip/sql/sandboxed_duckdb.py",
            "include/starskip/sql/typed_literals.py",
            "include/starskip/star_tree/",
            "include/starskip/night/",
            "include/starskip/reports/write_report.py",
            "include/starskip/night/quality/",
            "include/starskip/reports/reports_gate.py",
            "include/starskip/reports/",
            "include/starskip/advisor/run/",
            "include/starskip/night/expire_snapshots.py",
            "include/starskip/night/lake_only.py",
            "include/starskip/night/listed_tables.py",
            "include/starskip/night/look_for_log.py",
            "include/starskip/night/night_logs.py",
            "include/starskip/night/night_runs.py",
            "include/starskip/night/submitting_process.py",
            "include/starskip/advisor/selection/",
        ),
        10,
    ),
    Shard(
        "Airflow, its pages in a browser, backfills",
        ("tests/dags/", "tests/operation/", "tests/ui/"),
        (
            "dags/",
            "plugins/",
            "spark_jobs/",
            "include/starskip/orchestration/",
            "include/starskip/reports/",
            "include/starskip/advisor/run/",
            "include/starskip/night/expire_snapshots.py",
            "include/starskip/night/lake_only.py",
            "include/starskip/night/listed_tables.py",
            "include/starskip/night/look_for_log.py",
            "include/starskip/night/night_logs.py",
            "include/starskip/night/night_runs.py",
            "include/starskip/night/submitting_process.py",
        ),
        14,
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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shard", help=f"Run one part of what make test leaves out, such as 1/{len(SHARDS)}.")


def tests_of_the_shard(config: pytest.Config, items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests that ``--shard`` keeps, which are all without it."""
    chosen = config.getoption("--shard")
    if chosen is None:
        return items
    number = _number(chosen)
    kept = [each for each in items if _runs_in_shards(each) and shard_of(each.nodeid) == number]
    config.hook.pytest_deselected(items=[each for each in items if each not in set(kept)])
    return kept


def _number(chosen: str) -> int:
    names = [f"{n}/{len(SHARDS)}" for n in _all()]
    if chosen not in names:
        raise pytest.UsageError(f"SHARD={chosen}: the shards are {', '.join(names)}")
    return names.index(chosen) + 1


def _runs_in_shards(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(each) for each in ("slow", "law"))


def main() -> int:
    """Run the shards that changes concern, and one by turns, as far as the time goes."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--minutes", type=float, required=True, help="What all of them may take.")
    until = time.monotonic() + 60 * parser.parse_args().minutes
    commits = int(_git("rev-list", "--count", "HEAD"))
    settled = _git("rev-list", "-1", f"--before={_SETTLED}", "HEAD")
    concerned = touched(_git("diff", "--name-only", settled, "HEAD").splitlines()) if settled else _all()
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
