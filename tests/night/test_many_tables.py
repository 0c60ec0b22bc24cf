"""A night of many tables: one goes wrong at each stage, and each stage is killed; all others have reports.

Environment: STARSKIP_TABLES (12), the number of made-up tables.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import starskip
from starskip.advisor.families import lake_builds
from starskip.advisor.families.star_tree import build_star_trees
from starskip.advisor.families.star_tree.proof import verify_star_trees
from starskip.advisor.run.night import Night
from starskip.advisor.run.stages import STAGES, stage_named
from starskip.errors import DamagedFile
from starskip.night.configuration.night_from_config import NightArguments, night_from_config
from starskip.night.quality.check_stage import check_stage
from starskip.night.stage_here import stage_here
from starskip.reports.report_lists import night_rows

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "cluster"))

from made_up_cluster import write_cluster
from made_up_tables import ClusterSize, made_up_tables

pytestmark = [
    pytest.mark.slow,
    pytest.mark.quality,
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings("default"),
]

TABLES = int(os.environ.get("STARSKIP_TABLES", "12"))
SIZE = ClusterSize(TABLES, 2 * TABLES, 125 * TABLES)
SETTINGS = """settings:
  scoring: {window_rows_per_table: 512, max_simulations_per_table: 50}
  advice: {index_kinds: "inverted,range,sorted"}
"""
NAMES = [table.name for table in made_up_tables(SIZE)]
POISONED = {stage.name: NAMES[place] for place, stage in enumerate(STAGES)}
STOPPED = {table for stage, table in POISONED.items() if stage_named(stage).stops_report}


@pytest.fixture
def cluster(tmp_path: Path) -> Path:
    write_cluster(tmp_path / "cluster", SIZE)
    with (tmp_path / "cluster" / "night.yaml").open("a", encoding="utf-8") as written:
        written.write(SETTINGS)
    return tmp_path / "cluster"


def night_of(cluster: Path) -> Night:
    arguments = NightArguments(date(2026, 11, 18), "test", datetime(2026, 11, 19, 2, tzinfo=UTC))
    return night_from_config(str(cluster / "night.yaml"), arguments, {})


def cut_segments(cluster: Path, table: str) -> None:
    for path in (cluster / "segments" / table).iterdir():
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def garble_queries(cluster: Path, table: str) -> None:
    """Have the log of the table hold no text that is a query."""
    for path in (cluster / "logs").iterdir():
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        garbled = [
            f"{each.partition('query=')[0]}query=SELECT ((( FROM {table} WHERE\n"
            if f"table={table}," in each
            else each
            for each in lines
        ]
        path.write_text("".join(garbled), encoding="utf-8")


def cut_input(cluster: Path, night: Night, stage: str, table: str) -> None:
    """Cut the files that a stage reads of the table, which their gate has passed."""
    artefact = stage_named(stage).made_of
    snapshot = night.store.snapshot(artefact, night.date_text)
    assert snapshot is not None
    for file in snapshot.parts()[table].files:
        path = cluster / "artefacts" / file.name
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def failing_on(table: str, real: Callable[..., Any], error: Exception) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        if any(isinstance(each, str) and each == table for each in arguments):
            raise error
        return real(*arguments)

    return call


def test_one_table_goes_wrong_at_each_stage_and_all_others_have_reports(
    cluster: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_segments(cluster, POISONED["collect_segment_metadata"])
    garble_queries(cluster, POISONED["parse_query_logs"])
    # Where Spark builds and proves, no input can be damaged without it.
    lost = DamagedFile("t.parquet: is damaged", location="t.parquet")
    faults = {
        "build_star_trees": (build_star_trees, "held_trees"),
        "refresh_skipping_indexes": (lake_builds, "_chosen"),
        "refresh_secondary_indexes": (lake_builds, "_chosen"),
        "verify_indexes": (verify_star_trees, "_planned"),
    }
    night = night_of(cluster)
    failed: dict[str, str] = {}
    for stage in (each.name for each in STAGES):
        table = POISONED[stage]
        with monkeypatch.context() as patch:
            if stage in faults:
                module, name = faults[stage]
                patch.setattr(module, name, failing_on(table, getattr(module, name), lost))
            elif stage_named(stage).made_of:
                cut_input(cluster, night, stage, table)
            stage_here(stage, night)
        failed |= {verdict.table: stage for verdict in check_stage(night, stage) if not verdict.passed}
    # That queries are no queries is seen where they are counted by shape.
    expected = {table: stage for stage, table in POISONED.items()}
    assert failed == {**expected, POISONED["parse_query_logs"]: "score_votes"}
    reports = night.store.snapshot("reports", night.date_text)
    assert reports is not None
    reported = {table for table, part in reports.parts().items() if part.files}
    assert reported == set(NAMES) - STOPPED
    rows = {row.table: row for row in night_rows(night, limit=TABLES).rows}
    assert {table for table, row in rows.items() if row.stopped} >= STOPPED
    print(f"{len(reported)} reports of {TABLES} tables; gone wrong: {failed}")


def test_a_night_killed_in_each_stage_and_repeated_ends_as_an_undisturbed_one(cluster: Path) -> None:
    program = Path(__file__).with_name("killed_night.py")
    package = {"PYTHONPATH": str(Path(starskip.__file__).parents[1])}  # the one that this process tests
    done = subprocess.run(
        [sys.executable, program, cluster],
        env=os.environ | package,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    print(found)
    assert found["kills"] == 2 * len(STAGES)
    assert found["changed"] == []
    assert found["differing"] == []
    assert found["reports"] == TABLES
