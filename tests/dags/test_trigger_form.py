"""The trigger form as Airflow's server sees it: what it shows, and what it refuses before a run exists.

The API, the form, `dags trigger` and `backfill create` all merge what is asked into the serialized params
and validate them before they create a run.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from starskip.advisor.families.family_settings import family_defaults
from starskip.settings.overrides import with_overrides

pytestmark = [pytest.mark.dags, pytest.mark.filterwarnings("default")]

CHECKOUT = Path(__file__).parents[2]

TAKEN: dict[str, list[Any]] = {
    "run_date": ["2026-11-20"],
    "tables": [
        None,
        [],
        ["lineitem", "airline-Stats_2", "db.orders"],
        ["lineitem", ""],
        "lineitem",
        "db.orders, lineitem",
    ],
    "publish": ["auto", "yes", "no"],
    "scoring.strategy": ["leapfrog", "estimation", "parser", "frequency"],
    "scoring.selectivity_threshold": [1, 2.5],
    "workload.entries_scanned_threshold": [0, 1_000_000],
    "workload.num_queries_threshold": [0, 50],
    "scoring.untracked_inverted_index": [{"lineitem": ["l_orderkey"]}, {}],
    "workload.query_weights": [{"lineitem": 2, "SELECT count(*) FROM lineitem WHERE l_tax = 1": 0}, {}],
    "scoring.pinot_version": ["0.11", "1.2.0", "1.5.0-SNAPSHOT"],
    "advice.index_kinds": [["inverted"], ["inverted", "range", "star_tree"], []],
    "advice.max_indexes": [1, 64],
    "advice.unit": ["auto", "ms", "entries"],
    "advice.min_gain_ratio": [0, 0.05, 1, "5%", "0.5 %", "0.05", "1", "100%", ".5"],
    "advice.choice_time_s": [0.1, 20, 600],
    "advice.index_budget_bytes": [1, 50_000_000, "50 MB", "1.5GiB", "512k", "10,000", "1_000"],
    "advice.desirable_entries_scanned_in_filter": [1, 10_000],
    "advice.desirable_query_ratio": [0.5],
    "workload.look_back_nights": [1, 14],
    "workload.look_back_decay_ratio": [0, 1],
    "advice.switch_gain_ratio": [0, 0.02],
    "advice.max_drop_loss_ratio": [0, 0.01],
    "star_tree.max_star_trees": [1, 6],
    "star_tree.max_tree_size_ratio": [0.5, 1],
    "star_tree.tree_gain_size_ratio": [0, 0.05],
    "skipping.max_skipping_size_ratio": [0.05, 1],
    "secondary.max_secondary_size_ratio": [0, 0.3],
    "building.build_indexes": [True, False],
    "building.verified_instances": [1, 64],
    "scoring.exclusive_vote_ratio": [0.8],
    "scoring.sufficient_column_scans": [1, 0.5, 0],
    "scoring.incremental_column_scans": [0.05, 2],
    "latency.r2_threshold": [0.7],
    "gates.max_rejected_ratio": [0, 1],
    "gates.max_not_understood_ratio": [0.5, 1],
    "gates.max_without_counters_ratio": [1],
    "gates.max_unparsed_ratio": [0.25],
    "gates.max_damaged_ratio": [0.0],
    "reports.show_literals": [True, False],
}

FORM = (
    "run_date",
    "tables",
    "publish",
    "advice.max_indexes",
    "advice.index_budget_bytes",
    "advice.index_kinds",
    "advice.unit",
    "advice.min_gain_ratio",
    "workload.look_back_nights",
    "scoring.pinot_version",
    "building.build_indexes",
)

REFUSED: dict[str, list[Any]] = {
    "run_date": ["20th of November", "2026-13-01", 20261120],
    "tables": [
        "lineitem; orders",
        "--conf=x",
        " , ",
        [" lineitem"],
        ["--conf=spark.submit.pyFiles=evil.py"],
        ["a,b"],
        ["../climbs"],
        ["x" * 201],
        [1],
    ],
    "publish": ["maybe", None, True],
    "scoring.strategy": ["guess", ""],
    "scoring.selectivity_threshold": [-1, "all"],
    "workload.entries_scanned_threshold": [-1, 0.5],
    "workload.num_queries_threshold": [-1],
    "scoring.untracked_inverted_index": [{"lineitem": "l_orderkey"}, {"a": [1]}],
    "workload.query_weights": [2, {"lineitem": "twice"}, {"lineitem": -1}, ["lineitem"]],
    "scoring.pinot_version": ["latest", "1", "0.11; drop"],
    "advice.index_kinds": [["bitmap"], "inverted", ["inverted", "inverted"]],
    "advice.max_indexes": [0, -8, 2.5, "8", 65],
    "advice.unit": ["seconds", "", 1],
    "advice.min_gain_ratio": [-0.1, 1.1, "101%", "5", "-1%", "5 apples", "%"],
    "advice.choice_time_s": [0, "soon"],
    "advice.index_budget_bytes": [0, "0", "50 miles", "-1 MB", "MB"],
    "advice.desirable_entries_scanned_in_filter": [0],
    "advice.desirable_query_ratio": [2],
    "workload.look_back_nights": [0, 32],
    "workload.look_back_decay_ratio": [-0.5, 1.5],
    "advice.switch_gain_ratio": [2],
    "advice.max_drop_loss_ratio": ["little"],
    "star_tree.max_star_trees": [0, 7],
    "star_tree.max_tree_size_ratio": [2],
    "star_tree.tree_gain_size_ratio": [-1],
    "skipping.max_skipping_size_ratio": [-0.1, 2],
    "secondary.max_secondary_size_ratio": [-0.1, 2],
    "building.build_indexes": ["perhaps", 1],
    "building.verified_instances": [0, 1_001],
    "scoring.exclusive_vote_ratio": [80],
    "scoring.sufficient_column_scans": [-1],
    "scoring.incremental_column_scans": ["few"],
    "latency.r2_threshold": ["high"],
    "gates.max_rejected_ratio": [5],
    "gates.max_not_understood_ratio": [-0.1, 2],
    "gates.max_without_counters_ratio": ["all"],
    "gates.max_unparsed_ratio": [-1],
    "gates.max_damaged_ratio": [1.1],
    "reports.show_literals": ["perhaps", 2],
}


@pytest.fixture(scope="module")
def served(nightly: Any) -> Any:
    """The DAG as the server has it: out of its serialized form."""
    from airflow.serialization.serialized_objects import DagSerialization

    return DagSerialization.from_dict(DagSerialization.to_dict(nightly))


def test_the_form_has_what_people_set_and_a_run_takes_every_setting_that_has_a_title(served: Any) -> None:
    titled = {each.place for each, _ in family_defaults().items() if each.facts.title}
    assert tuple(served.params) == FORM
    assert set(FORM) < set(TAKEN) == set(REFUSED) == {"run_date", "tables", "publish", *titled}


def test_settings_of_every_run_are_refused_by_name(served: Any) -> None:
    from starskip.errors import ConfigError

    # How exact the model is, what the log is, what is kept: that belongs into the configuration.
    for name in ("log.time_zone", "scoring.window_rows_per_table", "retention.nights", "max_indexes"):
        params = served.params.deep_merge({name: 3}).validate()
        with pytest.raises(
            ConfigError, match=f"param '{name}' is not known: use run_date, tables, publish, or"
        ):
            requested(params, {name: 3})


def test_no_field_corrects_a_number_in_silence(served: Any) -> None:
    """Airflow's page puts the nearest of the first two in place of a number that is beyond.

    What the others refuse it calls a bad request: what is typed gets to the first task, which says why not.
    """
    for name in served.params:
        schema = served.params.get_param(name).schema
        assert not {"minimum", "maximum", "allOf", "pattern"} & schema.keys()
        assert "enum" in schema or "examples" in schema or schema.get("format") == "date"


def test_a_field_of_text_takes_what_is_typed_and_no_table_is_put_in_its_place(served: Any) -> None:
    """A list to choose several from would put the first name that holds what was typed."""
    assert served.params.get_param("tables").schema["type"][:2] == ["null", "string"]


def test_the_values_in_force_are_shown(served: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from starskip.airflow.configured_form import configured_form, early_config

    config = tmp_path / "night.yaml"
    config.write_text("settings: {advice: {max_indexes: 5, index_budget_bytes: 32 MiB}}\n")
    monkeypatch.setenv("STARSKIP_BUILDING__BUILD_INDEXES", "false")
    form = configured_form(early_config(str(config)))
    assert form["advice.max_indexes"].schema["values_display"]["null"] == "as configured: 5"
    assert form["building.build_indexes"].schema["values_display"]["null"] == "as configured: false"
    assert form["advice.index_budget_bytes"].description.endswith(" Configured: 32 MiB.")


def test_the_tables_to_choose_from_are_those_of_the_configuration(served: Any, tmp_path: Path) -> None:
    from starskip.airflow.configured_form import known_tables
    from starskip.night.configuration.config_document import config_document

    assert served.params.get_param("tables").schema["examples"] == ["airlineStats", "lineitem"]
    config = tmp_path / "night.yaml"
    (tmp_path / "segments" / "orders").mkdir(parents=True)
    (tmp_path / "segments" / "no table's name").mkdir()
    found = {
        "sources: {segments_root: segments, lake_tables: {events: {path: e}}}": ["events", "orders"],
        "sources: {lake_tables: {events: {path: e}}}": ["events"],
        "sources: {segments_root: segments}\ntables: [nation, customer]": ["customer", "nation"],
        "sources: {segments_root: 's3://night/segments', lake_tables: {events: {path: e}}}": [],
        "sources: {segments_root: nowhere}": [],
    }
    for text, tables in found.items():
        config.write_text(text + "\n")
        assert known_tables(config_document(str(config))) == tables


@pytest.mark.parametrize("text", ["[", "tables: 3", "no_such_key: 1", None])
def test_a_configuration_that_cannot_be_read_leaves_a_form_to_type_tables_in(
    served: Any, text: str | None, tmp_path: Path
) -> None:
    from starskip.airflow.configured_form import configured_form, early_config

    if text is not None:
        (tmp_path / "night.yaml").write_text(text)
    form = configured_form(early_config(str(tmp_path / "night.yaml")))
    assert list(form) == list(served.params)
    assert "examples" not in form["tables"].schema


@pytest.mark.parametrize("name", FORM)
def test_a_person_finds_a_title_a_help_text_and_the_configured_value_as_default(
    served: Any, name: str
) -> None:
    param = served.params.get_param(name)
    assert 3 < len(param.schema["title"]) < 60
    assert param.description.endswith(".")
    assert 20 < len(param.description) < 160
    assert param.value == ("auto" if name == "publish" else None)
    # The form does not let a field be emptied again whose type leaves null out.
    assert ("null" in param.schema["type"]) == (name != "publish")


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in TAKEN for value in TAKEN[name]])
def test_what_makes_sense_is_taken_by_airflow_and_by_the_stages(served: Any, name: str, value: Any) -> None:
    params = served.params.deep_merge({"publish": "yes", name: value}).validate()
    assert params[name] == value
    request = requested(params, {name: value})
    night = request.night(datetime(2026, 11, 21, tzinfo=UTC))
    assert night.date_text == "2026-11-20"
    if name in request.settings:
        asked = laid_over(request.settings)
        assert asked == laid_over({name: of_setting(value)})
    elif "." in name:
        assert value in ([], {})


def laid_over(values: Any) -> Any:
    return with_overrides(family_defaults(), values, origin="form")


def of_setting(value: Any) -> Any:
    return ",".join(value) if isinstance(value, list) else value


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in REFUSED for value in REFUSED[name]])
def test_what_makes_no_sense_is_refused_by_name_by_airflow_or_by_the_first_task(
    served: Any, name: str, value: Any
) -> None:
    from airflow.exceptions import ParamValidationError
    from starskip.errors import ConfigError

    # Airflow 3.2 raises a ValueError.
    with pytest.raises((ParamValidationError, ValueError, ConfigError)) as refused:
        params = served.params.deep_merge({name: value}).validate()
        requested(params, {name: value})
    first_line = str(refused.value).splitlines()[0]
    assert first_line.removeprefix("Invalid input for param ").removeprefix("arguments: ").startswith(name)
    assert len(first_line) < 500


def test_empty_lines_of_the_form_name_no_table_and_blank_names_alone_do_not_mean_all(served: Any) -> None:
    from starskip.errors import ConfigError

    params = served.params.deep_merge({"tables": ["", "lineitem", ""]}).validate()
    assert requested(params, {"tables": ["", "lineitem", ""]}).tables == ("lineitem",)
    typed = {"tables": " orders,lineitem  orders,"}
    assert requested(served.params.deep_merge(typed).validate(), typed).tables == ("orders", "lineitem")
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

    asked = {"workload.query_weights": {"x" * 99_000: 1, "y" * 2_000: 2}}
    params = served.params.deep_merge(asked).validate()
    with pytest.raises(ConfigError, match=r"query_weights has 101,0.. characters of at most 100,000"):
        requested(params, asked)


def test_a_misspelt_param_is_refused_by_the_first_task_since_airflow_would_take_it(served: Any) -> None:
    from starskip.errors import ConfigError

    params = served.params.deep_merge({"tabels": ["lineitem"]}).validate()
    assert params["tables"] is None
    with pytest.raises(ConfigError, match="param 'tabels' is not known: use run_date, tables, publish, or a"):
        requested(params, {"tabels": ["lineitem"]})


def test_other_defaults_of_the_dag_file_are_its_configuration(served: Any) -> None:
    asked = {"advice.max_indexes": 4}
    params = served.params.deep_merge(asked).validate()
    assert requested(params, asked).changed == ("advice.max_indexes",)
    of_dag = requested(params, {})
    assert not of_dag.changed and of_dag.settings == {"advice.max_indexes": "4"}


def test_a_run_by_the_api_without_a_logical_date_is_about_the_day_before(served: Any) -> None:
    params = served.params.deep_merge({"tables": ["lineitem"]}).validate()
    assert requested(params, {"tables": ["lineitem"]}, interval=None).run_date.isoformat() == "2026-11-20"


def requested(
    params: Any,
    conf: Any,
    interval: Any = datetime(2026, 11, 21, 2, tzinfo=UTC),
    run_type: str = "manual",
) -> Any:
    from starskip.airflow.night_request import night_request

    run = SimpleNamespace(
        data_interval_start=interval and interval - timedelta(days=1),
        data_interval_end=interval,
        run_after=datetime(2026, 11, 21, 2, tzinfo=UTC),
        run_type=run_type,
        run_id="manual",
        conf=conf,
    )
    return night_request({"dag_run": run, "params": params}, str(CHECKOUT / "include/config/night.yaml"))
