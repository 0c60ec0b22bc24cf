"""The DAG that ``index_advisor_dag`` makes of a configuration: what a DAG file may say, and what it gets."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

CONFIG = "store: {artefacts: artefacts}\ntables: [orders]\nsources: {segments_root: .}\n"
THREE_LINES = """from starskip.airflow import index_advisor_dag

dag = index_advisor_dag(config="night.yaml", schedule="30 3 * * *")
"""


@pytest.fixture
def make(dag_bag: Any) -> Callable[..., Any]:
    """The factory; ``dag_bag`` has given Airflow a home of its own."""
    from starskip.airflow import index_advisor_dag

    return index_advisor_dag


def test_it_is_documented_and_no_other_name_is_there(make: Callable[..., Any]) -> None:
    import starskip.airflow

    assert make.__doc__ and "config" in make.__doc__
    with pytest.raises(AttributeError, match="has no attribute 'index_adviser_dag'"):
        _ = starskip.airflow.index_adviser_dag


def test_a_folder_of_three_lines_and_a_configuration_is_a_dag(dag_bag: Any, tmp_path: Path) -> None:
    from airflow.dag_processing.dagbag import DagBag

    (tmp_path / "nights.py").write_text(THREE_LINES)
    (tmp_path / "night.yaml").write_text(CONFIG)
    bag = DagBag(tmp_path, bundle_path=tmp_path)
    assert bag.import_errors == {}
    dag = bag.dags["index_advisor_nightly"]
    assert dag.relative_fileloc == "nights.py"
    assert dag.params.get_param("tables").schema["examples"] == ["orders"]
    assert dag.get_task("score_votes").config == str(tmp_path / "night.yaml")
    assert dag.get_task("write_report").report_source == {
        "config": str(tmp_path / "night.yaml"),
        "store": str(tmp_path / "artefacts"),
        "tables": ["orders"],
        "time_zone": "UTC",
    }


@pytest.mark.parametrize(("named", "zone"), [("Asia/Tokyo", "Asia/Tokyo"), ("Mars/Phobos", "UTC")])
def test_the_pages_know_the_zone_of_the_log(
    make: Callable[..., Any], tmp_path: Path, named: str, zone: str
) -> None:
    (tmp_path / "night.yaml").write_text(f"{CONFIG}settings: {{log: {{time_zone: {named}}}}}\n")
    assert make(tmp_path / "night.yaml").get_task("write_report").report_source["time_zone"] == zone


@pytest.mark.parametrize(
    ("text", "says"),
    [(None, "No such file"), ("[", "is not YAML"), ("tables: [x]", "store.artefacts is missing")],
)
def test_a_configuration_that_cannot_be_read_is_told_by_the_pages_and_loses_no_dag(
    make: Callable[..., Any], tmp_path: Path, text: str | None, says: str
) -> None:
    if text is not None:
        (tmp_path / "night.yaml").write_text(text)
    source = make(tmp_path / "night.yaml").get_task("write_report").report_source
    assert says in source["problem"] and "store" not in source


def test_a_configuration_in_an_object_store_is_left_to_tasks_and_pages(make: Callable[..., Any]) -> None:
    dag = make("s3://bucket/night.yaml")
    assert dag.get_task("score_votes").config == "s3://bucket/night.yaml"
    assert dag.get_task("write_report").report_source == {"config": "s3://bucket/night.yaml", "problem": ""}


@pytest.mark.parametrize("schedule", ["0 2 * * *", "@daily", "30 22 * * 1-5"])
def test_a_cron_text_has_data_intervals(make: Callable[..., Any], schedule: str) -> None:
    from airflow.sdk import CronDataIntervalTimetable

    dag = make("night.yaml", schedule=schedule, timezone="Europe/Oslo")
    assert isinstance(dag.timetable, CronDataIntervalTimetable)
    assert str(dag.timetable.timezone) == "Europe/Oslo"


def test_other_schedules_are_as_airflow_takes_them(make: Callable[..., Any]) -> None:
    from airflow.sdk import Asset, CronTriggerTimetable
    from airflow.sdk.definitions.timetables.assets import AssetTriggeredTimetable
    from airflow.sdk.definitions.timetables.simple import NullTimetable, OnceTimetable

    own = CronTriggerTimetable("0 2 * * *", timezone="UTC")
    assert make("night.yaml", schedule=own).timetable is own
    assert isinstance(make("night.yaml", schedule=None).timetable, NullTimetable)
    assert isinstance(make("night.yaml", schedule="@once").timetable, OnceTimetable)
    assert isinstance(make("night.yaml", schedule=[Asset("logs")]).timetable, AssetTriggeredTimetable)


def test_the_trigger_timetable_of_airflow_makes_runs_about_a_day_that_is_over() -> None:
    """The data interval of its runs is the moment at which they start."""
    from airflow.sdk import CronTriggerTimetable
    from airflow.serialization.encoders import coerce_to_core_timetable
    from airflow.timetables.base import TimeRestriction
    from starskip.airflow.night_request import resolve_run_date

    timetable = coerce_to_core_timetable(CronTriggerTimetable("0 2 * * *", timezone="UTC"))
    restriction = TimeRestriction(datetime(2026, 11, 21, 2, tzinfo=UTC), None, True)
    info = timetable.next_dagrun_info(last_automated_data_interval=None, restriction=restriction)
    assert info.data_interval.start == info.data_interval.end == info.run_after
    assert resolve_run_date(None, info.data_interval.start, info.data_interval.end, info.run_after) == date(
        2026, 11, 20
    )


def test_a_run_without_a_data_interval_is_about_the_day_before_it() -> None:
    from starskip.airflow.night_request import resolve_run_date

    assert resolve_run_date(None, None, None, datetime(2026, 11, 21, 2, tzinfo=UTC)) == date(2026, 11, 20)


def test_arguments_of_a_dag_pass_through_and_those_of_tasks_lie_over_ours(make: Callable[..., Any]) -> None:
    def call(context: Any) -> None: ...

    dag = make(
        "night.yaml",
        dag_id="night_eu",
        start_date=datetime(2026, 5, 1, tzinfo=UTC),
        catchup=True,
        max_active_runs=2,
        on_failure_callback=call,
        doc_md="Ours",
        tags=["eu"],
        default_args={"owner": "lake", "retry_delay": timedelta(minutes=5)},
        spark_conn_id="spark_eu",
        store_conn_id="store_eu",
    )
    assert (dag.dag_id, dag.catchup, dag.max_active_runs, dag.doc_md) == ("night_eu", True, 2, "Ours")
    assert dag.on_failure_callback is call
    assert dag.tags == {"starskip", "nightly", "eu"}
    job = dag.get_task("score_votes")
    assert (job.owner, job.retries, job.retry_delay) == ("lake", 1, timedelta(minutes=5))
    assert (job.conn_id, job.connections.store) == ("spark_eu", "store_eu")
    assert dag.get_task("check_score_votes").op_args[2].store == "store_eu"
    assert dag.get_task("finish_night").retries == 0


def test_airflow_s_modules_stay_out_of_what_a_plugin_or_a_night_imports() -> None:
    program = "import sys, starskip.airflow, starskip.airflow.night_request; print('airflow' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert ran.stdout == "False\n", ran.stderr
