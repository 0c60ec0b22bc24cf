"""Old nights on a real Airflow: scheduler, PostgreSQL and a Spark cluster, started as the compose file does.

Two of the sample's days and a day before them that nobody logged, the log of one day missing at first. To
keep time down only jobs of one night go to the cluster, those of half of its stages; the others run the same
stages in one process, and the scheduler, which tasks are forked from, has imported what tasks import: that is
most of a task's processor time. In the lake lineitem has every eighth of the sample's files.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
import zstandard
from free_ports import free_ports
from local_submit import ON_A_CLUSTER, local_submit
from local_submit import job_server as job_server
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.night.night_runs import NIGHT_RUNS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.dags,
    pytest.mark.spark,
    pytest.mark.quality,
    pytest.mark.timeout(5400),
    pytest.mark.filterwarnings("default"),
]

UNLOGGED, BROKEN, ON_CLUSTER = NIGHTS = ("2026-11-17", "2026-11-18", "2026-11-19")

_AT_START = """import sys
if "scheduler" in sys.orig_argv:
    import great_expectations
    import starskip.night.configuration.night_from_config
    import starskip.airflow.configured_form
    import starskip.airflow.night_outcome
    import starskip.night.quality.check_stage
    import starskip.night.night_logs
    from starskip.advisor.families.families import BUILT_IN
    from starskip.advisor.run.stages import STAGE_NAMES
    from starskip.night.stage_functions import stage_gate
    gates = [stage_gate(name) for name in STAGE_NAMES]
    gates += [family.gates() for family in BUILT_IN if family.gates]
"""

SERVICES = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yaml").read_text())["services"]


@dataclass(frozen=True)
class Seen:
    """State that the runs left, at three moments."""

    house: Any
    cluster: Any
    events: str
    first_states: dict[str, str]
    first_failures: dict[str, str]
    after_first: dict[tuple[str, str], Any]
    backfills: list[tuple[int, str]]
    runs: list[Any]
    tasks: dict[str, dict[str, tuple[str, int]]]
    after_all: dict[tuple[str, str], Any]
    by_api: Any
    refused: tuple[int, Any]
    connections: int
    printed: str
    health: dict[str, subprocess.CompletedProcess[str]]


def parts_of(house: Any) -> dict[tuple[str, str], Any]:
    store = house.store
    return {(a, night): house.parts(a, night) for a in store.artefacts() for night in store.run_dates(a)}


@pytest.fixture(scope="module")
def seen(
    postgres_url: str,
    spark_cluster: Any,
    operation: SimpleNamespace,
    job_server: Path,
    sample_lake: Path,
    sample_casts: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Seen]:
    from starskip.airflow.airflow_environment import airflow_environment

    folder = tmp_path_factory.mktemp("backfill")
    lake = folder / "lake" / "lineitem"
    lake.mkdir(parents=True)
    for path in sorted(sample_lake.iterdir())[::8]:
        shutil.copy2(path, lake)
    house = operation.make_house(folder / "house")
    lake_tables = {"lineitem": {"path": str(lake), "casts": sample_casts}}
    document = json.loads(house.config.read_text())
    document["sources"]["lake_tables"] = lake_tables
    house.config.write_text(json.dumps(document))
    log = house.logs / f"broker-{BROKEN}.log.gz"
    log.rename(folder / log.name)
    events, home, programs = folder / "events", folder / "airflow", folder / "bin"
    for each in (events, home, programs):
        each.mkdir()
    of_day, of_one_table = (f"--run-date={ON_CLUSTER}",), ("--tables=lineitem",)
    local_submit(programs / "spark-submit", job_server, ON_A_CLUSTER, of_day, unless=of_one_table)
    (programs / "sitecustomize.py").write_text(_AT_START)
    port, scheduler_port = free_ports(2)
    host, _, port_of_master = spark_cluster.connection.rpartition(":")
    event_log = {"spark.eventLog.enabled": True, "spark.eventLog.dir": f"file://{events}"}
    connection = {"conn_type": "spark", "host": host, "port": int(port_of_master), "extra": event_log}
    caller = {
        # Other tests name a home of Airflow's, whose database this one is not.
        **{name: value for name, value in os.environ.items() if not name.startswith("AIRFLOW")},
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": postgres_url,
        "AIRFLOW_CONN_SPARK_DEFAULT": json.dumps(connection),
        "STARSKIP_CONFIG": str(house.config),
    }
    environment = airflow_environment(operation.CHECKOUT, caller, home=home, port=port) | {
        "AIRFLOW__API_AUTH__JWT_SECRET": "a secret of the test, long enough for it",
        "AIRFLOW__API__SECRET_KEY": "another secret of the test",
        "AIRFLOW__SCHEDULER__ENABLE_HEALTH_CHECK": "true",
        "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_PORT": str(scheduler_port),
        # The schedule itself would add the night of whatever day it is.
        "AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE": "False",
        # The DAG file does not change while it runs.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
    }
    environment["PATH"] = f"{programs}:{environment['PATH']}"
    environment["PYTHONPATH"] = f"{programs}:{environment.get('PYTHONPATH', '')}".rstrip(":")
    with operation.running_airflow(home, environment, port) as airflow:
        span = ["--from-date", NIGHTS[0], "--to-date", f"{ON_CLUSTER}T23:59:59", "--max-active-runs", "2"]
        backfill = ["backfill", "create", "--dag-id", "index_advisor_nightly", *span]
        status, answer = airflow.call("PATCH", "/dags/index_advisor_nightly", {"is_paused": False})
        assert status == 200, answer
        printed = [airflow.command(*backfill)]

        def ended(count: int) -> Any:
            runs = airflow.runs()
            is_over = len(runs) == count and all(run["state"] in ("success", "failed") for run in runs)
            return runs if is_over else None

        health = {
            name: healthy(command, environment)
            for name, command in health_commands(
                operation, spark_cluster, postgres_url, port, scheduler_port
            ).items()
        }
        first = operation.wait_until(lambda: ended(3), 2500, "the backfill", every_s=3)
        failed = [run for run in first if run["state"] == "failed"]
        first_failures = {night_of(r): airflow.failure(r["dag_run_id"], STAGE_NAMES[0]) for r in failed}
        after_first = parts_of(house)
        (folder / log.name).rename(log)

        # The scheduler looks only now and then whether a backfill is over; until then there is no second one.
        def is_over() -> bool:
            with operation.postgres_session(postgres_url) as session:
                session.execute("SELECT count(*) FROM backfill WHERE completed_at IS NULL")
                return bool(session.fetchone() == (0,))

        operation.wait_until(is_over, 300, "the end of the backfill")
        printed.append(airflow.command(*backfill, "--reprocess-behavior", "failed"))
        assert printed[-1].returncode == 0
        runs_path = "/dags/index_advisor_nightly/dagRuns"
        asked = {"run_date": ON_CLUSTER, "tables": ["lineitem"]}
        refused = airflow.call(
            "POST", runs_path, {"logical_date": None, "conf": {**asked, "advice.max_indexes": 0}}
        )
        status, answer = airflow.call("POST", runs_path, {"logical_date": None, "conf": asked})
        assert status == 200, answer
        again = "the failed days again, and one table's run"
        runs = operation.wait_until(lambda: ended(4), 2500, again, every_s=3)
        with operation.postgres_session(postgres_url) as session:
            session.execute(
                "SELECT b.id, r.state FROM backfill b JOIN backfill_dag_run x ON x.backfill_id = b.id "
                "JOIN dag_run r ON r.id = x.dag_run_id ORDER BY b.id"
            )
            backfills = session.fetchall()
            session.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = 'airflow'")
            ((connections,),) = session.fetchall()
        spark_events = "".join(map(unpacked, sorted(events.rglob("events_*"))))
        written = [path for folder in (home, spark_cluster.work) for path in folder.rglob("*")]
        logs = "".join(
            path.read_text(errors="replace")
            for path in written
            if path.is_file() and path.suffix not in (".jar", ".zip")
        )
        yield Seen(
            house=house,
            cluster=spark_cluster,
            events=spark_events,
            first_states={night_of(run): run["state"] for run in first},
            first_failures=first_failures,
            after_first=after_first,
            backfills=backfills,
            runs=runs,
            tasks={run["dag_run_id"]: airflow.tasks(run["dag_run_id"]) for run in runs},
            after_all=parts_of(house),
            by_api=next(run for run in runs if run["run_type"] == "manual"),
            refused=refused,
            connections=connections,
            printed=logs
            + spark_events
            + "".join(ran.stdout + ran.stderr for ran in (*printed, *health.values())),
            health=health,
        )


def health_commands(
    operation: SimpleNamespace, cluster: Any, postgres_url: str, port: int, scheduler_port: int
) -> dict[str, list[str]]:
    """Return the health check of each service of the compose file, as it is on this machine."""
    of_database = re.match(r".*@([\d.]+):(\d+)/", postgres_url)
    assert of_database is not None
    database = operation.health_command("postgres", {})
    return {
        "postgres": [*database, f"--host={of_database[1]}", f"--port={of_database[2]}"],
        "airflow-apiserver": operation.health_command("airflow-apiserver", {"8080": str(port)}),
        "airflow-scheduler": operation.health_command("airflow-scheduler", {"8974": str(scheduler_port)}),
        "airflow-dag-processor": operation.health_command("airflow-dag-processor", {}),
        "airflow-triggerer": operation.health_command("airflow-triggerer", {}),
        **{
            name: operation.health_command(name, {"localhost:8081": f"127.0.0.1:{web}"})
            for name, web in cluster.web_ports.items()
        },
    }


def unpacked(path: Path) -> str:
    """Return the text of an event log, which Spark packs frame by frame."""
    with path.open("rb") as file:
        text: bytes = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True).read()
    return text.decode()


def healthy(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Return the last of as many tries as the compose file allows where they are fewest."""
    for _ in range(3):
        ran = subprocess.run(command, env=environment, capture_output=True, text=True)
        if ran.returncode == 0:
            break
    return ran


def night_of(run: Any) -> str:
    return str(run["logical_date"])[:10]


def test_a_backfill_runs_each_day_once_and_the_bad_ones_do_not_stop_the_others(seen: Seen) -> None:
    assert seen.first_states == {UNLOGGED: "failed", BROKEN: "failed", ON_CLUSTER: "success"}
    days = [night_of(run) for run in seen.runs if run["run_type"] == "backfill"]
    assert sorted(days) == list(NIGHTS)


def test_a_day_without_a_log_says_so_and_publishes_neither_advice_nor_reports(seen: Seen) -> None:
    assert seen.first_failures.keys() == {UNLOGGED, BROKEN}
    for night, reason in seen.first_failures.items():
        assert reason.startswith(f"no log of {night}: 2 log files hold no record of that day")
    nights = {artefact: {n for a, n in seen.after_first if a == artefact} for artefact, _ in seen.after_first}
    assert nights["reports"] == nights["recommendations"] == nights["queries"] == {ON_CLUSTER}


def test_a_failed_day_is_repeated_alone_when_its_log_is_there(seen: Seen) -> None:
    states = {night_of(run): run["state"] for run in seen.runs if run["run_type"] == "backfill"}
    assert states == {UNLOGGED: "failed", BROKEN: "success", ON_CLUSTER: "success"}
    # The second backfill took up the two failed days and not the other.
    assert len([1 for backfill, _ in seen.backfills if backfill == 2]) == 2
    tries = {
        night_of(run): seen.tasks[run["dag_run_id"]]["collect_segment_metadata"][1]
        for run in seen.runs
        if run["run_type"] == "backfill"
    }
    assert tries[ON_CLUSTER] == 1
    assert tries[BROKEN] == tries[UNLOGGED] == 2
    assert set(seen.after_all["reports", BROKEN]) == {"airlineStats", "lineitem"}
    assert ("reports", UNLOGGED) not in seen.after_all


def test_a_backfill_does_no_more_than_advise(seen: Seen) -> None:
    steps = {name for stage in STAGE_NAMES for name in (stage, f"check_{stage}")}
    steps |= {"group_tables", "finish_night"}
    for run in seen.runs:
        assert set(seen.tasks[run["dag_run_id"]]) == steps


def test_a_backfill_chooses_star_trees_and_leaves_building_to_a_run_about_the_newest_night(
    seen: Seen,
) -> None:
    assert seen.after_first["recommendations", ON_CLUSTER]["lineitem"].properties["star_trees"]
    assert {place for place in seen.after_first if place[0] == "star_trees"} == set()
    rows = seen.house.rows("star_tree_builds", BROKEN, "lineitem")
    assert {row["outcome"] for row in rows} == {"not_built"}
    assert "backfill" in rows[0]["detail"]
    assert set(seen.after_all["star_trees", "current"]) == {"lineitem"}
    built = seen.house.rows("star_tree_builds", ON_CLUSTER, "lineitem")
    assert {row["outcome"] for row in built} == {"built"}
    proved = seen.house.rows("verdicts", ON_CLUSTER, "lineitem")
    assert {row["verdict"] for row in proved} <= {"equal", "within_bound"} and proved


def test_a_run_for_one_table_leaves_every_other_tables_artefacts_alone(seen: Seen) -> None:
    assert seen.by_api["state"] == "success"
    assert seen.by_api["logical_date"] is None
    changed = set()
    for place, before in seen.after_first.items():
        artefact, night = place
        if night != ON_CLUSTER or artefact == NIGHT_RUNS:
            continue
        after = seen.after_all[place]
        assert without_lineitem(after) == without_lineitem(before), artefact
        if after.get("lineitem") != before.get("lineitem"):
            changed.add(artefact)
    assert {"reports", "queries", "recommendations", "votes"} <= changed


def without_lineitem(parts: Any) -> dict[str, Any]:
    return {table: part for table, part in parts.items() if table != "lineitem"}


def test_a_bad_value_is_refused_by_the_api_and_no_run_is_made(seen: Seen) -> None:
    status, answer = seen.refused
    assert status == 400
    assert answer["detail"].startswith(
        "Invalid input for param advice.max_indexes: 0 is not one of [1, 2, 3, "
    )
    assert len(seen.runs) == 4


def test_every_service_that_runs_is_healthy_by_the_compose_files_own_check(seen: Seen) -> None:
    # Those of a profile run only where Celery is chosen.
    always = {name for name in SERVICES if "profiles" not in SERVICES[name]}
    assert set(seen.health) == {name for name in always if "healthcheck" in SERVICES[name]}
    assert {name: ran.stderr for name, ran in seen.health.items() if ran.returncode} == {}


def test_the_cluster_did_the_work_on_both_workers_with_code_that_travelled(seen: Seen) -> None:
    events = [json.loads(line) for line in seen.events.split("\n") if line]
    applications = [
        event["App Name"] for event in events if event["Event"] == "SparkListenerApplicationStart"
    ]
    assert sorted(applications) == sorted(f"{stage}:{ON_CLUSTER}" for stage in ON_A_CLUSTER)
    done = [event for event in events if event["Event"] == "SparkListenerTaskEnd"]
    assert {event["Task Info"]["Executor ID"] for event in done} >= {"0", "1"}
    assert not any(event["Task Info"]["Failed"] for event in done)
    for worker in ("worker-0", "worker-1"):
        assert len(list((seen.cluster.work / worker).glob("app-*"))) == len(ON_A_CLUSTER)
    # Their Python has no Starskip of its own: what they ran came with the job.
    python = seen.cluster.work / "bin" / "python3"
    command, alone = [python, "-c", "import starskip"], {"PATH": os.environ["PATH"]}
    ran = subprocess.run(command, env=alone, capture_output=True, text=True, cwd="/")
    assert "No module named 'starskip'" in ran.stderr


def test_the_cluster_gives_the_advice_that_one_process_gives(
    seen: Seen, operation: SimpleNamespace, tmp_path: Path
) -> None:
    local = operation.make_house(tmp_path / "house")
    command = [operation.BIN / "starskip", "stage", "all", "--config", local.config, "--run-date"]
    ran = subprocess.run([*command, ON_CLUSTER], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    # The run of one table has replaced lineitem's since, with the nights before it as they were then.
    for artefact in ("queries", "votes", "latency_bins"):
        found, expected = (house.rows(artefact, ON_CLUSTER, "airlineStats") for house in (seen.house, local))
        assert len(found) == len(expected) > 0, artefact
    found, expected = (
        house.rows("recommendations", ON_CLUSTER, "airlineStats") for house in (seen.house, local)
    )
    assert len(found) == len(expected) > 0
    for row, other in zip(sorted(found, key=place_of), sorted(expected, key=place_of), strict=True):
        assert {name: close(value) for name, value in other.items()} == row


def place_of(row: Any) -> str:
    return f"{row['verdict']} {row['kind']} {row['column']}"


def close(value: Any) -> Any:
    # Executors hand their sums over in any order, which shows in the last digits of a ratio.
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value


def test_postgresql_kept_it_and_its_password_is_nowhere_in_the_logs(seen: Seen, postgres_url: str) -> None:
    assert seen.connections > 0
    password = re.match(r".*//airflow:(.*)@", postgres_url)
    assert password is not None
    assert password[1] not in seen.printed
