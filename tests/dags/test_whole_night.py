"""Whole nights as ``make night`` runs them: Airflow's own ``dags test``, real Spark jobs, real gates.

What is asked of most nights here is the DAG's: their jobs run in one process. One night submits the jobs of
half of the stages to Spark; the backfill's test submits those of the other half.
In the lake lineitem is a Delta table, as it is for ``make night``.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from lake_formats import jars_behind_sparks, session_settings
from local_submit import ON_A_CLUSTER, local_submit
from local_submit import job_server as job_server
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.dags, pytest.mark.spark, pytest.mark.quality, pytest.mark.timeout(3600)]

CHECKOUT = Path(__file__).parents[2]
NIGHT = "2026-11-20"


@dataclass(frozen=True)
class House:
    """A night's configuration and stores in a folder of their own, over a copy of the sample."""

    folder: Path
    job_server: Path

    @property
    def store(self) -> ArtefactStore:
        return ArtefactStore(storage_for(str(self.folder / "artefacts")))

    def run(self, *options: str, on_spark: Collection[str] = ()) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "starskip.airflow.nightly_run", "--run-date", NIGHT]
        folders = ["--home", self.folder / "airflow", "--reports", self.folder / "reports"]
        environment = {
            **os.environ,
            **jars_behind_sparks(),
            "STARSKIP_CONFIG": str(self.folder / "night.yaml"),
        }
        if set(on_spark) != set(STAGE_NAMES):
            programs = self.folder / "bin"
            # The operator takes this name, too; spark-submit of the environment comes before any other.
            local_submit(programs / "spark3-submit", self.job_server, on_spark)
            extra = {"deploy-mode": "client", "spark-binary": "spark3-submit"}
            connection = {"conn_type": "spark", "host": "local[2]", "extra": extra}
            environment["AIRFLOW_CONN_SPARK_DEFAULT"] = json.dumps(connection)
            environment["PATH"] = os.pathsep.join([str(programs), environment["PATH"]])
        ran = subprocess.run(
            [*command, *folders, *options], cwd=CHECKOUT, env=environment, capture_output=True, text=True
        )
        print(ran.stdout, ran.stderr)
        return ran

    def report(self, table: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(
            (self.folder / "reports" / NIGHT / table / "report.json").read_text()
        )
        return found

    def run_times(self) -> tuple[datetime, datetime]:
        """Beginning and end of the newest run, out of Airflow's own database."""
        with sqlite3.connect(self.folder / "airflow" / "airflow.db") as database:
            (row,) = database.execute(
                "select start_date, end_date from dag_run order by id desc limit 1"
            ).fetchall()
        database.close()
        began, ended = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in row)
        return began, ended

    def task_states(self) -> dict[str, tuple[str, int]]:
        """State and number of tries of each task of the last run, out of Airflow's own database.

        A task of a group is called after its place, too: score_votes_0.
        """
        with sqlite3.connect(self.folder / "airflow" / "airflow.db") as database:
            asked = "select task_id, map_index, state, try_number from task_instance"
            rows = database.execute(asked).fetchall()
        database.close()
        return {
            task if place < 0 else f"{task}_{place}": (state, tries) for task, place, state, tries in rows
        }


@pytest.fixture(scope="module")
def house(
    sample_delta: Path,
    sample_casts: dict[str, str],
    job_server: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> House:
    folder = tmp_path_factory.mktemp("house")
    spark = {
        "spark.driver.memory": "1g",
        "spark.driver.maxResultSize": "16m",
        **session_settings(folder / "warehouse"),
    }
    shutil.copytree(CHECKOUT / "include" / "sample", folder / "sample")
    (folder / "night.yaml").write_text(
        "store: {artefacts: artefacts}\n"
        "sources:\n  log_paths: [sample/logs]\n  segments_root: sample/segments\n"
        "  table_configs: [sample/config/airlineStats_table.json, sample/config/lineitem_table.json]\n"
        "  spark_event_logs: [sample/spark_events]\n"
        f"  lake_tables: {{lineitem: {{path: '{sample_delta}', casts: {sample_casts}, "
        "logged_as: 'file:/lake/lineitem'}}\n"
        "skipping: {metadata_root: skipping}\n"
        f"spark: {{conf: {json.dumps(spark)}}}\n"
        "settings:\n  advice: {min_gain_ratio: 0.05, unit: entries}\n  building: {verified_instances: 1}\n"
        # So small a night would need Spark for the files of the lake alone.
        "  scale: {local_queries: 0, local_bytes: 0}\n"
    )
    return House(folder, job_server)


@pytest.fixture(scope="module")
def before() -> datetime:
    return datetime.now(UTC)


@pytest.fixture(scope="module")
def first(house: House, before: datetime) -> subprocess.CompletedProcess[str]:
    """A night over the whole sample."""
    return house.run()


@pytest.fixture(scope="module")
def on_spark(house: House, first: object) -> subprocess.CompletedProcess[str]:
    """The same night from nothing, with the jobs of half of the stages on Spark."""
    for made in ("artefacts", "skipping"):
        shutil.rmtree(house.folder / made)
    return house.run(on_spark=set(STAGE_NAMES) - ON_A_CLUSTER)


@pytest.fixture(scope="module")
def second(house: House, on_spark: object) -> subprocess.CompletedProcess[str]:
    """The same night again, after every segment of lineitem was damaged."""
    for path in (house.folder / "sample" / "segments" / "lineitem").iterdir():
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    return house.run()


def test_a_night_over_the_sample_ends_well_and_shows_each_step(
    first: subprocess.CompletedProcess[str],
) -> None:
    assert first.returncode == 0
    assert "collect_segment_metadata: tables 2, segment files 35" in first.stdout
    # A group for the table of the lake, and one for the other.
    assert first.stdout.count("check_score_votes: 1 of 1 tables passed") == 2
    assert "finish_night: reports of airlineStats, lineitem are published" in first.stdout
    assert len(first.stdout.splitlines()) < 100


def test_the_run_is_shown_as_lasting_as_long_as_it_lasted(
    house: House, first: subprocess.CompletedProcess[str], before: datetime
) -> None:
    began, ended = house.run_times()
    assert before <= began <= ended <= datetime.now(UTC)


def test_the_advice_is_the_best_set_that_was_measured_for_what_no_star_tree_answers(
    house: House, first: subprocess.CompletedProcess[str]
) -> None:
    """For all queries of lineitem it has a range index on l_shipdate in place of l_partkey."""
    best = {
        "lineitem": {("inverted", "l_suppkey"), ("inverted", "l_shipmode"), ("inverted", "l_partkey")},
        "airlineStats": {("inverted", "OriginState"), ("inverted", "Carrier"), ("inverted", "Origin")},
    }
    for table, indexes in best.items():
        report = house.report(table)
        assert indexes == {(index["kind"], *index["columns"]) for index in report["chosen"][:3]}
        assert f"reports/{NIGHT}/{table}/report.html" in first.stdout
        html = (house.folder / "reports" / NIGHT / table / "report.html").read_text()
        assert all(column in html for _, column in indexes)


@pytest.mark.slow
def test_the_chosen_skipping_indexes_are_built_and_queries_read_less_with_the_same_rows(
    house: House, on_spark: subprocess.CompletedProcess[str]
) -> None:
    told = house.report("lineitem")["skipping"]
    assert {index["outcome"] for index in told["chosen"]} == {"created"}
    columns = {column for index in told["chosen"] for column in index["columns"]}
    assert "l_orderkey" in columns
    # Delta's own statistics tell dates apart: what they leave alone is no gain of an index.
    reasons = {index["specification"]: index["reason"] for index in told["refused"]}
    assert reasons["minmax:l_shipdate"] == "covered_by_format"
    assert (told["table_files"], told["table_rows"]) == (96, 299_814)
    assert told["saving_ratio"] > 0.25
    assert {shape["verdict"] for shape in told["replayed"]} <= {"equal", "not_comparable"}
    ran = [shape for shape in told["replayed"] if shape["verdict"] == "equal"]
    plain = sum(shape["plain_bytes_read"] for shape in ran)
    assert sum(shape["skipping_bytes_read"] for shape in ran) < 0.8 * plain
    assert len(ran) > 5
    read = [(shape["plain_files_read"], shape["skipping_files_read"]) for shape in ran]
    assert all(with_indexes <= alone <= told["table_files"] for alone, with_indexes in read)
    assert any(alone < told["table_files"] for alone, _ in read)
    assert any(with_indexes < alone for alone, with_indexes in read)
    assert (house.folder / "skipping").is_dir()


@pytest.mark.slow
def test_the_chosen_star_trees_are_built_and_answer_as_a_scan_does_with_less_to_read(
    house: House, on_spark: subprocess.CompletedProcess[str]
) -> None:
    trees = house.report("lineitem")["star_trees"]
    assert [tree["outcome"] for tree in trees["chosen"]] == ["built"] * len(trees["chosen"]) != []
    assert trees["table_rows"] == 299_814
    for tree in trees["chosen"]:
        assert tree["size_bytes"] < 0.12 * trees["table_bytes"]
        assert 0.8 < tree["size_bytes"] / tree["estimated_bytes"] < 1.25
        answered = {shape["shape_id"] for shape in tree["shapes"]}
        assert answered and answered <= {proved["shape_id"] for proved in trees["proved"]}
    for proved in trees["proved"]:
        assert proved["verdict"] in ("equal", "within_bound")
        assert proved["rows_read_from_tree"] < 10_000 < proved["rows_read_by_scan"] == 299_814
    (tree,) = house.report("airlineStats")["star_trees"]["chosen"]
    assert tree["outcome"] == "not_built"
    assert "verify_indexes: tables 1, shapes" in on_spark.stdout


def test_every_gate_left_its_verdicts_in_the_report(
    house: House, first: subprocess.CompletedProcess[str]
) -> None:
    gates = {gate["stage"] for gate in house.report("airlineStats")["data_quality"]["gates"]}
    assert gates == {stage for stage in STAGE_NAMES if stage != "write_report"}


@pytest.mark.slow
def test_a_table_without_one_readable_segment_is_left_out_and_named_and_the_other_reported(
    house: House, second: subprocess.CompletedProcess[str]
) -> None:
    assert second.returncode == 1
    assert "check_collect_segment_metadata: 1 of 2 tables passed" in second.stdout
    (reason,) = [line for line in second.stderr.splitlines() if line.startswith("Error: ")]
    assert "table lineitem was stopped by check_collect_segment_metadata" in reason
    assert "reports of airlineStats are published" in reason
    snapshot = house.store.snapshot("recommendations", NIGHT)
    assert snapshot is not None
    assert snapshot.tables == ("airlineStats",)
    states = house.task_states()
    assert states.pop("finish_night") == ("failed", 1)
    assert set(states.values()) == {("success", 1)}


@pytest.mark.slow
def test_if_no_table_is_left_the_rest_of_the_night_is_skipped(
    house: House, second: subprocess.CompletedProcess[str]
) -> None:
    ran = house.run("--tables", "lineitem")
    assert ran.returncode == 1
    assert "table lineitem was stopped by check_collect_segment_metadata" in ran.stderr
    states = house.task_states()
    assert states["check_collect_segment_metadata"] == ("success", 1)
    assert states["parse_query_logs"][0] == states["group_tables"][0] == "skipped"
    assert states["finish_night"] == ("failed", 1)


@pytest.mark.slow
def test_an_unknown_table_fails_at_once_with_the_names_of_those_there_are(
    house: House, second: subprocess.CompletedProcess[str]
) -> None:
    ran = house.run("--tables", "nation", on_spark=STAGE_NAMES)
    assert ran.returncode == 1
    (reason,) = [line for line in ran.stderr.splitlines() if line.startswith("Error: ")]
    assert "collect_segment_metadata failed: unknown table nation" in reason
    assert "airlineStats, lineitem" in reason
    assert "Traceback" not in ran.stdout + ran.stderr
    states = house.task_states()
    assert states["collect_segment_metadata"] == ("failed", 1)
    assert states["parse_query_logs"][0] == "upstream_failed"
