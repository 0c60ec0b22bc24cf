"""Tests with further providers, in an environment of their own: .submitters.

Jobs are submitted by the real operators of services, and tasks of a real scheduler are watched: by StatsD, by
OpenLineage, and by a DAG that waits for an asset.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from free_ports import free_port
from starskip.airflow.airflow_environment import airflow_environment
from starskip.cli.main import main

pytestmark = [pytest.mark.slow, pytest.mark.dags]

CHECKOUT = Path(__file__).parents[2]
SUPPORT = CHECKOUT / "tests" / "support"
HOUSE = CHECKOUT / ".submitters"
UV = Path(sys.executable).with_name("uv")
PROVIDERS = """
apache-airflow-providers-amazon==9.39.0
apache-airflow-providers-apache-livy==4.6.4
apache-airflow-providers-cncf-kubernetes==10.25.0
apache-airflow-providers-databricks==7.23.0
apache-airflow-providers-google==22.8.0
apache-airflow-providers-openlineage==2.20.3
statsd==4.0.1
pytest
"""
OURS = ("apache-airflow", "apache-airflow-providers-apache-spark", "great-expectations")
"""Packages whose versions are those of requirements.txt: all of its pins go with no Amazon provider."""


@pytest.fixture(scope="module")
def python() -> Path:
    """The interpreter of the environment, made when what it is made of changes: 2 GB, in a minute."""
    pins = (CHECKOUT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    wanted = [line for line in pins if line.partition("==")[0] in OURS]
    project = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    asked = "\n".join([*wanted, PROVIDERS])
    digest = hashlib.sha256(f"{asked}{project}{sys.version}".encode()).hexdigest()
    made = HOUSE / "made-of"
    if not made.exists() or made.read_text(encoding="utf-8") != digest:
        shutil.rmtree(HOUSE, ignore_errors=True)
        uv("venv", "--quiet", "--python", sys.executable, str(HOUSE))
        (HOUSE / "asked.txt").write_text(asked, encoding="utf-8")
        files = ("-r", str(CHECKOUT / "pyproject.toml"), "-r", str(HOUSE / "asked.txt"))
        uv("pip", "install", "--quiet", "--python", str(HOUSE / "bin" / "python"), *files)
        # Parts of Airflow that are started without a PYTHONPATH have the package, too.
        (packages,) = HOUSE.glob("lib/python*/site-packages")
        (packages / "checkout.pth").write_text(f"{CHECKOUT / 'include'}\n", encoding="utf-8")
        made.write_text(digest, encoding="utf-8")
    return HOUSE / "bin" / "python"


def test_each_providers_own_operator_submits_the_job_and_the_receipt_tells_how_it_ended(
    python: Path, tmp_path: Path
) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "PYTHONPATH": f"{CHECKOUT / 'include'}:{SUPPORT}",
    }
    checks = sorted((SUPPORT / "submitters").glob("check_*.py"))
    # The conftest of the tests needs what this environment has not.
    options = ["-q", "--noconftest", "-c", tmp_path / "pytest.ini", "-p", "no:cacheprovider"]
    command = [python, "-m", "pytest", *options, *checks]
    ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=800)
    assert ran.returncode == 0, ran.stdout[-20_000:] + ran.stderr


DAGS = """
from pathlib import Path

from airflow.sdk import DAG, Asset, dag, task
from starskip.airflow.advice_assets import advice_alias
from starskip.airflow.configured_form import configured_form, early_config
from starskip.airflow.connections import Connections
from starskip.airflow.nightly_dag import check_tables
from starskip.airflow.spark_stage_operator import SparkStageOperator

place = str(Path(__file__).with_name("night.yaml"))
with DAG("nightly", schedule=None, params=configured_form(early_config(place))) as nightly:
    job = SparkStageOperator(task_id="collect_segment_metadata", config=place, connections=Connections())
    check = check_tables.override(task_id="check_write_report", outlets=[advice_alias("nightly")])
    job >> check("write_report", place, Connections(), None)


advice = Asset("starskip://nightly/airlineStats/advice")


@dag(schedule=advice)
def subscriber():
    @task
    def told(triggering_asset_events):
        return [event.extra for event in triggering_asset_events[advice]]

    told()


subscriber()
"""
SETTINGS = """
[core]
dags_are_paused_at_creation = False
[api]
secret_key = {key}
[api_auth]
jwt_secret = {key}
[workers]
execution_api_timeout = 60
[metrics]
statsd_on = True
statsd_host = 127.0.0.1
statsd_port = {port}
statsd_influxdb_enabled = True
[openlineage]
namespace = test
transport = {transport}
"""


def test_tasks_of_a_real_scheduler_are_watched_by_statsd_openlineage_and_a_dag_that_waits_for_advice(
    python: Path, tmp_path: Path
) -> None:
    """The first stage of a night runs, and the last gate judges reports that are there already."""
    lineage, home, dags = tmp_path / "lineage", tmp_path / "home", tmp_path / "dags"
    home.mkdir()
    dags.mkdir()
    (dags / "nightly.py").write_text(DAGS)
    sample, config = CHECKOUT / "include" / "sample", dags / "night.yaml"
    config.write_text(
        f"store: {{artefacts: {tmp_path / 'artefacts'}}}\ntables: [airlineStats]\n"
        f"sources: {{log_paths: [{sample / 'logs'}], segments_root: {sample / 'segments'}, "
        f"table_configs: [{sample / 'config' / 'airlineStats_table.json'}]}}\n"
    )
    night = ["stage", "all", "--config", str(config), "--run-date", "2026-11-20"]
    CliRunner().invoke(main, night, catch_exceptions=False)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as statsd:
        statsd.bind(("127.0.0.1", 0))
        statsd.settimeout(0.5)
        transport = {"type": "file", "log_file_path": str(lineage), "append": True}
        told = {"port": statsd.getsockname()[1], "transport": json.dumps(transport)}
        (home / "airflow.cfg").write_text(SETTINGS.format(**told, key="of a test" * 8))
        with running_airflow(python, tmp_path, home):
            metrics: dict[str, str] = {}
            deadline = time.monotonic() + 600
            while not (extras := subscriber_extras(home)):
                metrics |= received(statsd)
                assert time.monotonic() < deadline, "no DAG was triggered"
    ((extra,),) = extras
    assert (extra["run_date"], extra["chosen"]) == ("2026-11-20", extra["new"])
    assert 0 < extra["low"] <= extra["saving_ratio"] <= extra["high"] < 1
    tags = "stage=collect_segment_metadata,engine=local,dag_id=nightly"
    kinds = {"duration": "ms", "peak_memory_bytes": "g", "rows": "c", "bytes": "c"}
    names = {name: f"airflow.starskip.stage.{name},{tags}" for name in kinds}
    assert set(metrics) == set(names.values())
    values = {name: metrics[names[name]].split("|")[0] for name in kinds}
    assert {name: metrics[names[name]].split("|")[1] for name in kinds} == kinds
    assert 50e6 < float(values["peak_memory_bytes"]) < 4e9
    events = [json.loads(line) for line in lineage.read_text().splitlines()]
    (ended,) = [
        each
        for each in events
        if (each["eventType"], each["job"]["name"]) == ("COMPLETE", "nightly.collect_segment_metadata")
    ]
    assert [(each["namespace"], each["name"]) for each in ended["inputs"]] == [
        ("file", str(sample / "segments"))
    ]
    written = {each["name"]: each["outputFacets"]["outputStatistics"] for each in ended["outputs"]}
    assert f"{tmp_path / 'artefacts'}/table_facts" in written
    assert sum(each["rowCount"] for each in written.values()) == int(values["rows"]) > 0
    assert sum(each["size"] for each in written.values()) == int(values["bytes"]) > 0


@contextmanager
def running_airflow(python: Path, folder: Path, home: Path) -> Iterator[None]:
    """Airflow with scheduler and page, as ``make ui`` starts it, and a run of the night asked for."""
    path = f"{python.parent}:{os.environ['PATH']}"
    caller = {"PATH": path, "HOME": str(folder)}
    port = free_port((713, 714))
    command = [python, "-m", "starskip.airflow.airflow_ui", "--port", str(port), "--home", str(home)]
    trigger = [
        python.with_name("airflow"),
        "dags",
        "trigger",
        "nightly",
        "--conf",
        '{"run_date": "2026-11-20"}',
    ]
    log = folder / "ui.log"
    with log.open("wb") as said:
        running = subprocess.Popen(command, env=caller, cwd=folder, stdout=said, stderr=said)
    try:
        while "password in" not in log.read_text():
            assert running.poll() is None, log.read_text()
            time.sleep(0.5)
        environment = {**airflow_environment(folder, caller, home=home, port=port), "PATH": path}
        while subprocess.run(trigger, env=environment).returncode:
            assert running.poll() is None, log.read_text()
            time.sleep(2)
        yield
    finally:
        running.terminate()
        running.wait(60)


def subscriber_extras(home: Path) -> list[Any]:
    with sqlite3.connect(home / "airflow.db", timeout=60) as database:
        asked = "select value from xcom where dag_id = 'subscriber' and key = 'return_value'"
        rows = database.execute(asked).fetchall()
    database.close()
    return [json.loads(value) for (value,) in rows]


def received(statsd: socket.socket) -> dict[str, str]:
    """Return the metrics of Starskip that have come, each with value and kind."""
    found = {}
    try:
        while True:
            name, _, value = statsd.recv(65_536).decode().partition(":")
            if "starskip" in name:
                found[name] = value
    except TimeoutError:
        return found


def uv(*arguments: str) -> None:
    subprocess.run([UV, *arguments], check=True, cwd=CHECKOUT)
