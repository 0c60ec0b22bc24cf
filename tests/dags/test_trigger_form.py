"""The trigger form as Airflow's server sees it: what it shows, and what it refuses before a run exists.

The API, the form, `dags trigger` and `backfill create` all merge what is asked into the serialized params
and validate them before they create a run.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starskip.settings import Settings, with_overrides

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

CHECKOUT = Path(__file__).parents[2]

OF_EVERY_RUN = {
    "min_drop_queries",
    "max_drop_unparsed_ratio",
    "model_error_ratio",
    "post_filter_entry_weight",
    "instances_per_shape",
    "max_shapes_per_table",
    "window_rows_per_table",
    "max_sampled_segments",
    "sampled_files",
    "max_simulations_per_table",
    "log_split_bytes",
    "log_time_zone",
    "read_neighbouring_logs",
    "retention_nights",
    "vacuum_grace_hours",
}
"""Settings that belong into the configuration: how exact the model is, what the log is, what is kept."""

TAKEN: dict[str, list[Any]] = {
    "run_date": ["2026-11-20"],
    "tables": [None, [], ["lineitem", "airline-Stats_2", "db.orders"], ["lineitem", ""]],
    "strategy": ["leapfrog", "estimation", "parser", "frequency"],
    "selectivity_threshold": [1, 2.5],
    "entries_scanned_threshold": [0, 1_000_000],
    "num_queries_threshold": [0, 50],
    "untracked_inverted_index": [{"lineitem": ["l_orderkey"]}, {}],
    "query_weights": [{"lineitem": 2, "SELECT count(*) FROM lineitem WHERE l_tax = 1": 0}, {}],
    "pinot_version": ["0.11", "1.2.0", "1.5.0-SNAPSHOT"],
    "index_kinds": [["inverted"], ["inverted", "range", "sorted"], []],
    "max_indexes": [1, 64],
    "min_gain_ratio": [0, 0.05, 1],
    "index_budget_bytes": [1, 50_000_000],
    "desirable_entries_scanned_in_filter": [1, 10_000],
    "desirable_query_ratio": [0.5],
    "look_back_nights": [1, 14],
    "look_back_decay_ratio": [0, 1],
    "switch_gain_ratio": [0, 0.02],
    "max_drop_loss_ratio": [0, 0.01],
    "max_star_trees": [1, 6],
    "max_tree_size_ratio": [0.5, 1],
    "tree_gain_size_ratio": [0, 0.05],
    "max_skipping_size_ratio": [0.05, 1],
    "build_indexes": [True, False],
    "verified_instances": [1, 64],
    "exclusive_vote_ratio": [0.8],
    "sufficient_column_scans": [1, 0.5, 0],
    "incremental_column_scans": [0.05, 2],
    "latency_r2_threshold": [0.7],
    "max_rejected_ratio": [0, 1],
    "max_unparsed_ratio": [0.25],
    "max_damaged_ratio": [0.0],
    "show_literals": [True, False],
}

REFUSED: dict[str, list[Any]] = {
    "run_date": ["20th of November", "2026-13-01", 20261120],
    "tables": [
        "lineitem",
        [" lineitem"],
        ["--conf=spark.submit.pyFiles=evil.py"],
        ["a,b"],
        ["../climbs"],
        ["x" * 201],
        [1],
    ],
    "strategy": ["guess", ""],
    "selectivity_threshold": [-1, "all"],
    "entries_scanned_threshold": [-1, 0.5],
    "num_queries_threshold": [-1],
    "untracked_inverted_index": ['{"lineitem": ["l_orderkey"]}', {"lineitem": "l_orderkey"}, {"a": [1]}],
    "query_weights": [2, {"lineitem": "twice"}, {"lineitem": -1}, ["lineitem"]],
    "pinot_version": ["latest", "1", "0.11; drop"],
    "index_kinds": [["bitmap"], "inverted", ["inverted", "inverted"]],
    "max_indexes": [0, 65, 2.5, "8"],
    "min_gain_ratio": [-0.1, 1.1],
    "index_budget_bytes": [0, "50 MB"],
    "desirable_entries_scanned_in_filter": [0],
    "desirable_query_ratio": [2],
    "look_back_nights": [0, 401],
    "look_back_decay_ratio": [-0.5, 1.5],
    "switch_gain_ratio": [2],
    "max_drop_loss_ratio": ["little"],
    "max_star_trees": [0, 7],
    "max_tree_size_ratio": [2],
    "tree_gain_size_ratio": [-1],
    "max_skipping_size_ratio": [-0.1, 2],
    "build_indexes": ["perhaps", 1],
    "verified_instances": [0, 65],
    "exclusive_vote_ratio": [80],
    "sufficient_column_scans": [-1],
    "incremental_column_scans": ["few"],
    "latency_r2_threshold": ["high"],
    "max_rejected_ratio": [5],
    "max_unparsed_ratio": [-1],
    "max_damaged_ratio": [1.1],
    "show_literals": ["yes", 2],
}


@pytest.fixture(scope="module")
def served(nightly: Any) -> Any:
    """The DAG as the server has it: out of its serialized form."""
    from airflow.serialization.serialized_objects import DagSerialization

    return DagSerialization.from_dict(DagSerialization.to_dict(nightly))


def test_every_setting_is_in_the_form_or_belongs_to_every_run(served: Any) -> None:
    settings = {item.name for item in fields(Settings)}
    in_form = set(served.params) - {"run_date", "tables"}
    assert in_form | OF_EVERY_RUN == settings, "a new setting: put it into night_params or into OF_EVERY_RUN"
    assert not in_form & OF_EVERY_RUN
    assert set(TAKEN) == set(REFUSED) == set(served.params)


@pytest.mark.parametrize("name", TAKEN)
def test_a_person_finds_a_title_a_help_text_and_the_configured_value_as_default(
    served: Any, name: str
) -> None:
    param = served.params.get_param(name)
    assert 3 < len(param.schema["title"]) < 60
    assert param.description.endswith(".")
    assert 20 < len(param.description) < 160
    assert param.value is None
    # The form does not let a field be emptied again whose type leaves null out.
    assert "null" in param.schema["type"]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in TAKEN for value in TAKEN[name]])
def test_what_makes_sense_is_taken_by_airflow_and_by_the_stages(served: Any, name: str, value: Any) -> None:
    params = served.params.deep_merge({name: value}).validate()
    assert params[name] == value
    request = requested(params, {name: value})
    night = request.night(datetime(2026, 11, 21, tzinfo=UTC))
    assert night.date_text == "2026-11-20"
    if name in request.settings:
        asked = with_overrides(Settings(), request.settings, origin="form")
        assert asked == with_overrides(Settings(), {name: of_setting(value)}, origin="test")
    elif name not in ("run_date", "tables"):
        assert value in ([], {})


def of_setting(value: Any) -> Any:
    return ",".join(value) if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in REFUSED for value in REFUSED[name]])
def test_what_makes_no_sense_is_refused_by_name_before_there_is_a_run(
    served: Any, name: str, value: Any
) -> None:
    from airflow.exceptions import ParamValidationError

    with pytest.raises(ParamValidationError) as refused:
        served.params.deep_merge({name: value}).validate()
    first_line = str(refused.value).splitlines()[0]
    assert first_line.startswith(f"Invalid input for param {name}: ")
    assert len(first_line) < 400


def test_empty_lines_of_the_form_name_no_table_and_blank_names_alone_do_not_mean_all(served: Any) -> None:
    from starskip.errors import ConfigError

    params = served.params.deep_merge({"tables": ["", "lineitem", ""]}).validate()
    assert requested(params, {"tables": ["", "lineitem", ""]}).tables == ("lineitem",)
    params = served.params.deep_merge({"tables": [""]}).validate()
    with pytest.raises(ConfigError, match="tables holds blank names only: name a table, or leave it out"):
        requested(params, {"tables": [""]})


def test_one_night_for_all_days_of_a_backfill_is_refused(served: Any) -> None:
    from starskip.errors import ConfigError

    asked = {"run_date": "2026-11-18"}
    params = served.params.deep_merge(asked).validate()
    with pytest.raises(ConfigError, match="run_date is not for a backfill: each of its days would be the"):
        requested(params, asked, run_type="backfill")
    asked = {"tables": ["lineitem"]}
    params = served.params.deep_merge(asked).validate()
    assert requested(params, asked, run_type="backfill").run_date.isoformat() == "2026-11-20"


def test_an_object_that_is_too_long_for_a_command_line_is_refused_by_name(served: Any) -> None:
    from starskip.errors import ConfigError

    asked = {"query_weights": {"x" * 99_000: 1, "y" * 2_000: 2}}
    params = served.params.deep_merge(asked).validate()
    with pytest.raises(ConfigError, match=r"query_weights has 101,0.. characters of at most 100,000"):
        requested(params, asked)


def test_the_fields_stand_in_sections_with_night_and_tables_first(served: Any) -> None:
    sections = [served.params.get_param(name).schema.get("section") for name in served.params]
    assert sections[:2] == [None, None]
    assert None not in sections[2:]
    # The form shows a section where its first field stands: one that is split would be torn apart.
    assert sections == sorted(sections, key=sections.index)


def test_a_misspelt_param_is_refused_by_the_first_task_since_airflow_would_take_it(served: Any) -> None:
    from starskip.errors import ConfigError

    params = served.params.deep_merge({"tabels": ["lineitem"]}).validate()
    assert params["tables"] is None
    with pytest.raises(ConfigError, match="param 'tabels' is not known: use run_date, tables, entries_"):
        requested(params, {"tabels": ["lineitem"]})


def test_a_run_by_the_api_without_a_logical_date_is_about_the_day_before(served: Any) -> None:
    params = served.params.deep_merge({"tables": ["lineitem"]}).validate()
    assert requested(params, {"tables": ["lineitem"]}, interval=None).run_date.isoformat() == "2026-11-20"


def requested(
    params: Any,
    conf: Any,
    interval: Any = datetime(2026, 11, 20, 2, tzinfo=UTC),
    run_type: str = "manual",
) -> Any:
    from starskip.orchestration.night_request import night_request

    run = SimpleNamespace(
        data_interval_start=interval,
        run_after=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_type=run_type,
        run_id="manual",
        conf=conf,
    )
    return night_request({"dag_run": run, "params": params, "var": {"value": {}}}, CHECKOUT)
