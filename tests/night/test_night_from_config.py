"""A night out of its configuration: its keys, and who wins."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.night import Night
from starskip.errors import ConfigError
from starskip.lake.lake_table import LakeTable
from starskip.night.configuration.night_from_config import NightArguments, night_from_config, spark_settings
from starskip.predicates.column_types import named_type
from starskip.skipping.registry import load_modules
from starskip.user_modules import module_files

CONFIG = """
store: {artefacts: store, readable_by: group}
sources:
  log_paths: [logs, "s3://night/logs"]
  spark_event_logs: events
  segments_root: segments
  table_configs: [t.json]
  lake_tables: {sales: {path: lake/sales, format: CSV, options: {header: true}, logged_as: "file:/sales"}}
skipping: {metadata_root: skipping, modules: [my_types]}
spark: {conf: {spark.driver.memory: 4g}}
tables: [sales]
settings: {advice: {max_indexes: 3}, log: {time_zone: Asia/Tokyo}, star_tree: {max_star_trees: 1}}
"""


def night_of(
    folder: Path,
    text: str,
    environment: Mapping[str, str] | None = None,
    families: Sequence[str] = (),
    tables: Sequence[str] = (),
    **settings: Any,
) -> Night:
    (folder / "night.yaml").write_text(text)
    started_at = datetime(2026, 11, 21, 2, tzinfo=UTC)
    arguments = NightArguments(
        date(2026, 11, 20), "test", started_at, tables=tables, settings=settings, families=families
    )
    return night_from_config(folder / "night.yaml", arguments, environment or {})


def test_casts_of_a_lake_table_are_all_types_that_it_can_be_read_as(tmp_path: Path) -> None:
    casts = {"day": "string", "price": "decimal(12,2)", "user": "int32"}
    sources = f"{{segments_root: b, lake_tables: {{sales: {{path: lake/sales, casts: {casts}}}}}}}"
    night = night_of(tmp_path, f"store: {{artefacts: a}}\nsources: {sources}\n")
    assert night.lake_tables == {"sales": LakeTable(str(tmp_path / "lake" / "sales"), casts)}
    assert [str(named_type(name)) for name in casts.values()] == ["string", "decimal128(12, 2)", "int32"]


def test_each_key_of_the_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"tableName": "sales_OFFLINE"}')
    night = night_of(tmp_path, CONFIG)
    assert spark_settings(tmp_path / "night.yaml") == {"spark.driver.memory": "4g"}
    assert night.log_paths == [str(tmp_path / "logs"), "s3://night/logs"]
    assert night.lake_tables["sales"].file_format == "csv"
    assert night.skipping_root == str(tmp_path / "skipping")
    assert night.settings.advice.max_indexes == 3


def test_errors_name_keys_as_the_file_does(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"night\.yaml: sources\.log_paths must be a list of texts"):
        night_of(tmp_path, "store: {artefacts: a}\nsources: {log_paths: 3}\n")
    with pytest.raises(ConfigError, match=r"night\.yaml: store\.artefacts is missing: give a path"):
        night_of(tmp_path, "sources:\nstore:\n")


@pytest.mark.parametrize("written", ["0.11", "1.10", "'1.10'", "1.5.1"])
def test_a_version_of_pinot_is_the_text_that_the_file_has(tmp_path: Path, written: str) -> None:
    settings = f"settings: {{scoring: {{pinot_version: {written}}}}}"
    sources = "store: {artefacts: a}\nsources: {log_paths: [l], segments_root: s}"
    night = night_of(tmp_path, f"{sources}\n{settings}\n")
    assert night.settings.scoring.pinot_version == written.strip("'")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "store: {artefacts: a}\nstore: {artefacts: b}\n",
            "key store is given twice, in lines 1 and 2: leave",
        ),
        (
            "store: {artefacts: a}\nsettings:\n  advice:\n    max_indexes: 3\n    max_indexes: 4\n",
            "key max_indexes is given twice, in lines 4 and 5: leave one out",
        ),
    ],
)
def test_a_key_that_is_given_twice(text: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as refused:
        night_of(tmp_path, text)
    assert str(refused.value).startswith(f"{tmp_path / 'night.yaml'}: ")
    assert said in str(refused.value)


def test_a_key_over_one_of_a_merged_mapping_is_no_repetition(tmp_path: Path) -> None:
    text = (
        "store: {artefacts: a}\nsources: {segments_root: s}\n"
        "settings:\n  advice: &a {max_indexes: 3}\n  gates: {}\n"
        "tables: []\nspark: {conf: {<<: {spark.a: 1}, spark.a: 2}}\n"
    )
    assert night_of(tmp_path, text).settings.advice.max_indexes == 3


def test_wrong_weights_are_refused_with_where_they_come_from(tmp_path: Path) -> None:
    text = "store: {artefacts: a}\nsources: {segments_root: s}\n"
    wrong = "workload.query_weights is no JSON"
    of_file = "settings: {workload: {query_weights: 'x'}}\n"
    with pytest.raises(ConfigError, match=rf"night\.yaml: {wrong}"):
        night_of(tmp_path, text + of_file)
    with pytest.raises(ConfigError, match=f"environment: {wrong}"):
        night_of(tmp_path, text, {"STARSKIP_WORKLOAD__QUERY_WEIGHTS": "x"})
    with pytest.raises(ConfigError, match=f"arguments: {wrong}"):
        night_of(tmp_path, text, **{"workload.query_weights": "x"})


def test_file_then_environment_then_arguments_and_the_later_one_wins(tmp_path: Path) -> None:
    text = "store: {artefacts: a}\nsources: {segments_root: s}\nsettings: {advice: {max_indexes: 3}}\n"
    environment = {"STARSKIP_ADVICE__MAX_INDEXES": "4", "STARSKIP_CONFIG": "other.yaml"}
    assert night_of(tmp_path, text).settings.advice.max_indexes == 3
    assert night_of(tmp_path, text, environment).settings.advice.max_indexes == 4
    night = night_of(tmp_path, text, environment, **{"advice.max_indexes": "5"})
    assert night.settings.advice.max_indexes == 5


@pytest.mark.parametrize(
    ("written", "modules"),
    [
        ("my_module", ["my_module"]),
        ("one, two,", ["one", "two"]),
        ("[one, 'two,three']", ["one", "two", "three"]),
    ],
)
def test_modules_of_index_families_of_the_users_own_are_handed_on(
    tmp_path: Path, written: str, modules: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in modules:
        (tmp_path / f"{name}.py").write_text("FAMILIES = ()")
        monkeypatch.delitem(sys.modules, name, raising=False)
    text = f"store: {{artefacts: a}}\nsources: {{segments_root: s}}\nfamilies: {written}\n"
    assert night_of(tmp_path, text).family_modules == modules


def test_modules_are_found_beside_the_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "nightly"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("beside_a", "beside_b", "beside_types"):
        (folder / f"{name}.py").write_text("FAMILIES = ()")
        monkeypatch.delitem(sys.modules, name, raising=False)
    text = (
        "store: {artefacts: a}\nsources: {segments_root: s}\n"
        "families: beside_a\nskipping: {modules: beside_types}\n"
    )
    night = night_of(folder, text, families=("beside_b", "beside_a"))
    assert night.family_modules == ["beside_a", "beside_b"]
    load_modules(night.skipping_modules)
    files = module_files([*night.family_modules, *night.skipping_modules, "json", "__main__", "not_there"])
    assert files == tuple(str(folder / f"beside_{each}.py") for each in ("a", "b", "types"))


def test_a_type_behind_a_name_is_kept_for_halves_of_hybrid_tables_alone(tmp_path: Path) -> None:
    for folder in ("orders", "clicks_OFFLINE", "visits_OFFLINE", "visits_REALTIME"):
        (tmp_path / "segments" / folder).mkdir(parents=True)
    (tmp_path / "t.json").write_text('{"OFFLINE": {"tableName": "t"}, "REALTIME": {"tableName": "t"}}')
    asked = ["orders_OFFLINE", "clicks_OFFLINE", "visits_OFFLINE", "t_REALTIME", "lake_OFFLINE"]
    sources = "{segments_root: segments, table_configs: [t.json], lake_tables: {lake_OFFLINE: {path: lake}}}"
    text = f"store: {{artefacts: a}}\nsources: {sources}\ntables: {asked}\n"
    night = night_of(tmp_path, text)
    assert night.tables == {"orders", "clicks", "visits_OFFLINE", "t_REALTIME", "lake_OFFLINE"}
    assert not night.is_of_some
    assert night_of(tmp_path, text, tables=asked[:1]).is_of_some


def test_a_hybrid_table_is_asked_for_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text('{"OFFLINE": {"tableName": "t"}, "REALTIME": {"tableName": "t"}}')
    sources = "{log_paths: [l], segments_root: b, table_configs: [t.json]}"
    night = night_of(tmp_path, f"store: {{artefacts: a}}\nsources: {sources}\ntables: [t, u]\n")
    assert night.tables == {"t_OFFLINE", "t_REALTIME", "u"}
    assert not night.is_of_some


@pytest.mark.parametrize(
    ("configured", "asked", "is_of_some"),
    [
        ("[]", (), False),
        ("[t, u]", (), False),
        ("[]", ("t",), True),
        ("[t, u]", ("t",), True),
        ("[t, u]", ("u", "t"), False),
        ("[t]", ("t", "u"), False),
        ("[t]", ("u",), True),
        ("t, u", ("u", "t"), False),
        ("t, u", ("t",), True),
    ],
)
def test_a_run_of_all_configured_tables_is_a_run_of_the_night(
    tmp_path: Path, configured: str, asked: Sequence[str], *, is_of_some: bool
) -> None:
    text = f"store: {{artefacts: a}}\nsources: {{segments_root: b}}\ntables: {configured}\n"
    assert night_of(tmp_path, text, tables=asked).is_of_some == is_of_some
