"""The DAG ``index_advisor_apply``, run by Airflow's own ``dags test`` against a real Pinot 0.11."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from changed_table import BAD_TREE, COUNTRY, TABLE, TS, Table
from starskip.advisor.deployment.replayed_workload import logged_workload
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.ledger.ledger import ledger_entries
from starskip.advisor.run.night import Night
from starskip.advisor.workload.shape_workload import workload_table
from starskip.airflow.airflow_database import migrate_database
from starskip.airflow.airflow_environment import airflow_environment
from starskip.airflow.progress_line import progress_text
from starskip.settings import Settings
from starskip.storage.manifest import Part

pytestmark = [pytest.mark.slow, pytest.mark.dags]

CHECKOUT = Path(__file__).parents[3]
PROGRAMS = Path(sys.executable).parent
GONE = "gone"
"""A table with approved advice that Pinot does not have."""
SECRET = "the-SECRET"


@dataclass(frozen=True)
class Ran:
    """A run: its progress lines, and by task and place in the map its state and the name in lists."""

    said: str
    states: Mapping[tuple[str, int], tuple[str, str | None]]


@dataclass(frozen=True)
class House:
    """A night's configuration, and an Airflow."""

    table: Table
    environment: Mapping[str, str]

    def approve(self, table: str, *indexes: AdvisedIndex) -> None:
        advice = self.table.folder / f"{table}.json"
        told = [{**asdict(each), "columns": list(each.columns)} for each in indexes]
        advice.write_text(json.dumps({"tables": {table: {"indexes": told, "drops": []}}}))
        command = [PROGRAMS / "starskip", "decide", table, "--approve", "--recommendation", advice]
        subprocess.run([*command, "--config", self.environment["STARSKIP_CONFIG"]], check=True)

    def run(self, *, ends: int) -> Ran:
        command = [PROGRAMS / "airflow", "dags", "test", "index_advisor_apply"]
        ran = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        print(ran.stdout, ran.stderr)
        assert ran.returncode == ends
        assert SECRET not in ran.stdout + ran.stderr
        said = [words for line in ran.stdout.splitlines() if (words := progress_text(line)) is not None]
        return Ran("\n".join(said), self._states())

    def _states(self) -> dict[tuple[str, int], tuple[str, str | None]]:
        """Return the tasks of the last run, out of Airflow's own database."""
        with sqlite3.connect(Path(self.environment["AIRFLOW_HOME"]) / "airflow.db") as database:
            rows = database.execute(
                "select task_id, map_index, state, rendered_map_index from task_instance where run_id = "
                "(select run_id from dag_run order by id desc limit 1)"
            ).fetchall()
        database.close()
        return {(task, place): (state, name) for task, place, state, name in rows}

    def events(self, table: str) -> list[str]:
        return [f"{each.event.value} {each.index.name}" for each in ledger_entries(self.table.store, table)]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("airflow")
    migrate_database(home, airflow_environment(CHECKOUT, os.environ, home=home), home / "setup.log")
    return home


@pytest.fixture
def house(table: Table, home: Path) -> House:
    _publish_workload(table)
    config = table.folder / "night.yaml"
    config.write_text(
        "store: {artefacts: store}\nsources: {log_paths: [logs], segments_root: segments}\n"
        "settings: {deployment: {queries_per_second: 1000, no_progress_minutes: 10s}}\n"
    )
    environment = airflow_environment(CHECKOUT, os.environ, home=home) | {
        "STARSKIP_CONFIG": str(config),
        "AIRFLOW_CONN_PINOT_CONTROLLER_DEFAULT": _connection("pinot_admin", table.controller.url),
        "AIRFLOW_CONN_PINOT_BROKER_DEFAULT": _connection("pinot", table.broker.url),
    }
    return House(table, environment)


def _publish_workload(table: Table) -> None:
    """Publish what the night keeps of the log: the queries that are replayed."""
    night = Night(date(2026, 11, 18), table.store, Settings(), datetime.now(UTC), "test")
    shapes = workload_table(logged_workload([str(table.log)], TABLE, Settings()))
    written = table.store.staged_write("workload", night.date_text).write(TABLE, shapes)
    night.publish("workload", {TABLE: Part(written)})


def _connection(kind: str, url: str) -> str:
    place = urlsplit(url)
    given = {"conn_type": kind, "host": place.hostname, "port": place.port}
    return json.dumps({**given, "login": "advisor", "password": SECRET})


def test_approved_advice_is_applied_once(house: House, base: dict[str, Any]) -> None:
    house.approve(TABLE, COUNTRY, TS)
    ran = house.run(ends=0)
    assert ran.states["apply_table", 0] == ("success", "events: applied")
    assert house.events(TABLE)[2:] == ["kept inverted:country", "kept range:ts"]
    held = house.table.config()["tableIndexConfig"]
    assert (held["invertedIndexColumns"], held["rangeIndexColumns"]) == (["device", "country"], ["ts"])
    built = house.table.indexes().values()
    assert all(each >= {"country:inverted-index", "ts:range-index"} for each in built)
    assert "events: forecast: 100 kB of indexes over all replicas" in ran.said
    assert "events: range:ts: kept: saves " in ran.said
    assert "events: applied: measured: " in ran.said

    again = house.run(ends=0)
    assert again.said == "approved_tables: nothing is approved"
    assert again.states["apply_table", -1][0] == "skipped"
    assert house.table.config()["tableIndexConfig"] == held


def test_refuted_advice_is_taken_back_and_another_tables_failure_is_its_own(
    house: House, base: dict[str, Any]
) -> None:
    house.approve(GONE, COUNTRY)
    house.approve(TABLE, BAD_TREE)
    ran = house.run(ends=1)
    mapped = {ended for (task, _), ended in ran.states.items() if task == "apply_table"}
    assert mapped == {("success", "events: reverted"), ("failed", "gone")}
    assert "apply_table: FAILED: Pinot has no table gone" in ran.said
    assert "events: reverted: canary: scans more: " in ran.said
    assert house.events(TABLE)[1:] == ["refuted star_tree:id,device"]
    assert house.events(GONE) == ["approved inverted:country"]
    house.table.require_as_before(base)
