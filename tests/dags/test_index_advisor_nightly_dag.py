"""The nightly DAG without running it: order, retries, params, arguments of the jobs."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starskip.night.configuration.night_from_config import night_from_config

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

SAMPLE = Path(__file__).parents[2] / "include" / "config" / "night.yaml"


def test_tasks_are_the_stages_in_order_each_with_its_gate_behind_it_and_groups_go_on_alone(
    nightly: Any,
) -> None:
    from starskip.advisor.run.stages import GROUPED, SHARED

    shared, grouped = (
        [name for stage in stages for name in (stage, f"check_{stage}")] for stages in (SHARED, GROUPED)
    )
    order = [*shared, "group_tables", *grouped, "finish_night"]
    assert sorted(task.task_id for task in nightly.tasks) == sorted(order)
    for task_id, before in zip(order[1:], order, strict=False):
        # A task of a group also waits for the list of groups.
        assert nightly.get_task(task_id).upstream_task_ids - {"group_tables"} == {before} - {"group_tables"}
    mapped = [task.task_id for task in nightly.tasks if task.get_closest_mapped_task_group() is not None]
    assert mapped == grouped
    assert {nightly.get_task(name).max_active_tis_per_dagrun for name in grouped} == {4}


def test_every_stage_submits_the_one_file_of_the_package(dag_bag: Any) -> None:
    import starskip
    from starskip.airflow.submitters.spark_job import SparkJob

    job = SparkJob("votes", (), "token")
    assert job.local_file == str(Path(starskip.__file__).parent / "night" / "job" / "run_stage.py")
    assert Path(job.local_file).is_file()


def test_stages_and_gates_are_tried_twice_and_the_last_task_runs_whatever_came_before(nightly: Any) -> None:
    retries = {task.task_id: task.retries for task in nightly.tasks}
    assert retries.pop("finish_night") == 0
    assert set(retries.values()) == {1}
    assert nightly.get_task("finish_night").trigger_rule == "all_done"


def test_a_gate_skips_by_rule_so_that_the_last_task_still_runs(nightly: Any) -> None:
    gates = [task for task in nightly.tasks if task.task_id.startswith("check_")]
    assert len(gates) == 10
    assert not any(task.ignore_downstream_trigger_rules for task in gates)


def test_a_scheduled_run_is_about_the_day_that_its_interval_starts_in(nightly: Any) -> None:
    from airflow.serialization.encoders import coerce_to_core_timetable
    from airflow.timetables.base import TimeRestriction
    from starskip.airflow.night_request import resolve_run_date

    timetable = coerce_to_core_timetable(nightly.timetable)
    restriction = TimeRestriction(datetime(2026, 11, 20, 2, tzinfo=UTC), None, True)
    info = timetable.next_dagrun_info(last_automated_data_interval=None, restriction=restriction)
    assert info.run_after == datetime(2026, 11, 21, 2, tzinfo=UTC)
    assert resolve_run_date(None, info.data_interval.start, info.data_interval.end, info.run_after) == date(
        2026, 11, 20
    )


@pytest.mark.parametrize("last_ran_days_ago", [None, 10, 1])
def test_days_that_were_missed_are_not_caught_up_but_the_last_one(
    nightly: Any, last_ran_days_ago: int | None
) -> None:
    from airflow.serialization.encoders import coerce_to_core_timetable
    from airflow.timetables.base import DataInterval, TimeRestriction

    now = datetime.now(UTC)
    last = None
    if last_ran_days_ago is not None:
        end = now.replace(hour=2, minute=0, second=0, microsecond=0) - timedelta(days=last_ran_days_ago)
        last = DataInterval(end - timedelta(days=1), end)
    timetable = coerce_to_core_timetable(nightly.timetable)
    restriction = TimeRestriction(nightly.start_date, None, nightly.catchup)
    info = timetable.next_dagrun_info(last_automated_data_interval=last, restriction=restriction)
    assert now - timedelta(days=1) < info.run_after <= now + timedelta(days=1)
    assert info.data_interval.end == info.run_after
    assert nightly.max_active_runs == 1


def test_params_are_stored_once_and_not_with_each_task(nightly: Any) -> None:
    from airflow.serialization.serialized_objects import DagSerialization

    stored = json.dumps(DagSerialization.to_dict(nightly))
    assert "advice.max_indexes" in nightly.params
    assert stored.count('"advice.max_indexes"') == 1


def test_without_params_everything_is_as_configured(nightly: Any) -> None:
    assert checked(nightly) == {**dict.fromkeys(nightly.params), "publish": "auto"}


@pytest.mark.parametrize(
    "given",
    [
        {"run_date": "2026-11-20"},
        {"tables": ["lineitem", "airline-Stats_2", "db.orders"]},
        {"scoring.strategy": "parser", "advice.max_indexes": 64, "advice.min_gain_ratio": 0},
    ],
)
def test_params_that_make_sense_are_taken(nightly: Any, given: dict[str, Any]) -> None:
    assert given.items() <= checked(nightly, **given).items()


@pytest.mark.parametrize(
    "given",
    [
        {"run_date": "20th of November"},
        {"run_date": "2026-13-01"},
        {"tables": ["--conf=spark.submit.pyFiles=evil.py"]},
        {"tables": ["a,b"]},
        {"tables": ["../climbs"]},
        {"tables": ["x; rm -rf ."]},
        {"tables": ["x" * 201]},
        {"publish": "perhaps"},
        {"advice.max_indexes": 0},
        {"advice.max_indexes": 2.5},
    ],
)
def test_params_that_make_no_sense_are_refused_before_anything_starts(
    nightly: Any, given: dict[str, Any]
) -> None:
    from airflow.sdk.exceptions import ParamValidationError

    with pytest.raises(ParamValidationError, match=f"param {next(iter(given))}"):
        checked(nightly, **given)


def test_jobs_get_their_arguments_as_a_list_each_value_joined_to_its_option(nightly: Any) -> None:
    request = requested(nightly, tables=["lineitem", "orders"])
    assert request.job_arguments() == [
        f"--config={SAMPLE}",
        "--run-date=2026-11-20",
        "--run-id=manual; rm -rf .",
        "--tables=lineitem,orders",
        "--changed=",
    ]
    other = requested(nightly, **{"advice.max_indexes": 3, "advice.unit": "ms"})
    assert other.job_arguments()[-3:] == [
        "--given=advice.max_indexes,advice.unit,building.build_indexes",
        "--changed=advice.max_indexes,advice.unit",
        "--experiment",
    ]


@pytest.mark.parametrize(
    ("given", "is_experiment"),
    [
        ({}, False),
        ({"tables": ["lineitem"], "run_date": "2026-11-01"}, False),
        ({"advice.max_indexes": 8}, False),
        ({"advice.max_indexes": 3}, True),
        ({"advice.max_indexes": 3, "publish": "yes"}, False),
        ({"publish": "no"}, True),
    ],
)
def test_a_run_is_an_experiment_if_its_settings_are_not_the_configured_ones_or_it_is_asked_for(
    nightly: Any, given: dict[str, Any], is_experiment: bool
) -> None:
    request = requested(nightly, **given)
    night = request.night(datetime(2026, 11, 21, tzinfo=UTC))
    assert night.is_experiment == is_experiment
    assert night.settings.building.build_indexes != is_experiment
    assert night.changed == ({"advice.max_indexes": "3"} if given.get("advice.max_indexes") == 3 else {})


def test_another_word_for_publishing_is_refused(nightly: Any) -> None:
    from starskip.airflow.night_request import night_request
    from starskip.errors import ConfigError

    context = context_of(nightly)
    context["params"] = {**context["params"], "publish": "maybe"}
    with pytest.raises(ConfigError, match="publish 'maybe' is not known: use auto, yes, no"):
        night_request(context, str(SAMPLE))


def test_a_backfill_builds_nothing_whatever_its_params_say(nightly: Any) -> None:
    from starskip.airflow.night_request import night_request

    context = context_of(nightly, **{"building.build_indexes": True})
    assert night_request(context, str(SAMPLE)).job_environment() == {
        "STARSKIP_BUILDING__BUILD_INDEXES": "True"
    }
    context["dag_run"].run_type = "backfill"
    request = night_request(context, str(SAMPLE))
    assert request.job_environment() == {"STARSKIP_BUILDING__BUILD_INDEXES": "false"}
    night = request.night(datetime(2026, 11, 21, tzinfo=UTC))
    assert not (night.settings.building.build_indexes or night.is_experiment)


def test_settings_travel_where_only_the_job_reads_them(nightly: Any) -> None:
    query = "SELECT * FROM patients WHERE name = 'Miller'"
    request = requested(
        nightly,
        **{"workload.query_weights": {query: 10}, "advice.min_gain_ratio": 0, "scoring.strategy": "parser"},
    )
    assert not any("Miller" in argument for argument in request.job_arguments())
    environment = request.job_environment()
    assert environment == {
        "STARSKIP_WORKLOAD__QUERY_WEIGHTS": json.dumps({query: 10}),
        "STARSKIP_ADVICE__MIN_GAIN_RATIO": "0",
        "STARSKIP_SCORING__STRATEGY": "parser",
        "STARSKIP_BUILDING__BUILD_INDEXES": "false",
    }


CONNECTION = '{"conn_type": "aws", "login": "the key", "password": "the SECRET"}'


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Callable[[], str | None]:
    """The secret key in this process, which has none; the connection has one."""
    monkeypatch.setenv("AIRFLOW_CONN_STARSKIP_STORE", CONNECTION)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "")  # so that it is as it was after the test
    return lambda: os.environ.get("AWS_SECRET_ACCESS_KEY")


def test_tasks_take_the_keys_of_the_store(
    nightly: Any, configured_job: Any, keys: Callable[[], str | None]
) -> None:
    from airflow.sdk.exceptions import AirflowFailException

    for task_id in ("check_parse_query_logs", "finish_night"):
        os.environ["AWS_SECRET_ACCESS_KEY"] = ""
        gate = configured_job("no-such-file.yaml", task_id)
        asked = context_of(nightly)
        with pytest.raises(AirflowFailException, match=r"no-such-file\.yaml"):
            gate.python_callable(*gate.op_args, **gate.op_kwargs, **asked)
        assert keys() == "the SECRET"
    os.environ["AWS_SECRET_ACCESS_KEY"] = ""
    with pytest.raises(AirflowFailException, match="param 'no_such' is not known"):
        nightly.task_dict["parse_query_logs"].execute({**context_of(nightly), "dag_run": run_of(no_such=1)})
    assert keys() == "the SECRET"


def test_who_only_asks_what_a_run_is_about_gets_no_keys(nightly: Any, keys: Callable[[], str | None]) -> None:
    """The API server asks it for its pages, and would keep them."""
    from starskip.airflow.report_pages.asked_night import night_of_run
    from starskip.airflow.report_pages.nightly_dags import NightlyDag

    requested(nightly)
    for dag in (NightlyDag("d", str(SAMPLE), "/a/store"), NightlyDag("d", str(SAMPLE))):
        night_of_run(dag, run_of(run_date="2026-11-20"))
    assert keys() == ""


def test_jobs_and_gates_are_about_the_same_night(nightly: Any, tmp_path: Path) -> None:
    from starskip.night.stage_with_receipt import _night_arguments, _parser
    from starskip.reports.write_report import write_report

    request = requested(
        nightly,
        tables=["lineitem"],
        **{"advice.max_indexes": 3, "workload.query_weights": {"lineitem": 2}},
    )
    read = _parser(write_report).parse_args(request.job_arguments())
    parsed = _night_arguments(read, datetime(2026, 11, 21, tzinfo=UTC))
    night = request.night(datetime(2026, 11, 21, tzinfo=UTC))
    of_job = night_from_config(request.config, parsed, request.job_environment())
    settings = of_job.settings
    assert of_job.store == night.store
    assert of_job.changed == night.changed == {"advice.max_indexes": "3", "workload.query_weights": "given"}
    assert parsed.run_date == night.run_date == date(2026, 11, 20)
    assert parsed.run_id == night.run_id
    assert frozenset(parsed.tables) == night.tables
    assert settings == night.settings
    assert settings.advice.max_indexes == 3


@pytest.mark.parametrize(
    ("master", "is_one_process", "is_here"),
    [
        ("local", True, True),
        ("local[2]", True, True),
        ("local[*]", True, True),
        ("localhost", False, True),
        ("spark://localhost", False, True),
        ("127.0.0.1", False, True),
        ("spark://127.0.0.1:7077", False, True),
        ("spark://cluster", False, False),
        ("cluster", False, False),
        ("yarn", False, False),
        ("", False, False),
    ],
)
def test_a_job_is_told_what_its_master_asks_for(
    nightly: Any, master: str, is_one_process: bool, is_here: bool
) -> None:
    from starskip.airflow.submitters.spark import conf_of_master

    conf = conf_of_master(master)
    assert ("spark.driver.extraJavaOptions" in conf) == is_one_process
    assert ("spark.driver.host" in conf) == is_here
    assert ("spark.yarn.maxAppAttempts" in conf) == (master == "yarn")


def checked(nightly: Any, **given: Any) -> dict[str, Any]:
    params = copy.deepcopy(nightly.params)
    params.update(given)
    return dict(params.validate())


def run_of(**given: Any) -> SimpleNamespace:
    return SimpleNamespace(
        data_interval_start=datetime(2026, 11, 20, 2, tzinfo=UTC),
        data_interval_end=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_after=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_type="manual",
        run_id="manual; rm -rf .",
        conf=given,
    )


def context_of(nightly: Any, **given: Any) -> dict[str, Any]:
    told = SimpleNamespace(task_id="a task", xcom_push=lambda **_: None)
    params = checked(nightly, **given)
    return {"dag_run": run_of(**given), "params": params, "ti": told}


def requested(nightly: Any, **given: Any) -> Any:
    from starskip.airflow.night_request import night_request

    return night_request(context_of(nightly, **given), str(SAMPLE))
