"""A table or a config that is gone stops that table, and the night of all others goes on."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.cost.kept_windows import WINDOWS
from starskip.advisor.run.gate_verdicts import stopping_verdicts
from starskip.advisor.run.stages import STAGE_NAMES
from starskip.errors import ConfigError, SourceError
from starskip.night.quality.check_stage import check_stage
from starskip.night.table_groups import forget_gone_tables, table_groups
from starskip.pinot import table_config
from starskip.pinot.table_config import read_table_configs, table_config_files
from starskip.storage.artefact_store import CURRENT

pytestmark = [pytest.mark.slow, pytest.mark.quality, pytest.mark.filterwarnings("default")]

CONFIGURED = frozenset({"lineitem", "airlineStats", "dropped"})
COLLECT = STAGE_NAMES[:1]
CONFIG = {"tableName": "lineitem_OFFLINE", "tableType": "OFFLINE"}


def test_a_configured_table_that_was_dropped_fails_alone(lab: Any) -> None:
    failed = lab.run_with_gates(lab.night(tables=CONFIGURED))
    assert "unknown table dropped: " in lab.warnings
    assert set(failed) == {"dropped"}
    reports = lab.night().store.snapshot("reports", "2026-11-20")
    assert set(reports.tables) == {"lineitem", "airlineStats"}


def test_a_configured_table_whose_folder_is_empty_fails_alone(lab: Any) -> None:
    (lab.segments / "dropped").mkdir()
    night = lab.run(lab.night(tables=CONFIGURED), COLLECT)
    verdicts = {verdict.table: verdict.passed for verdict in check_stage(night, *COLLECT)}
    assert verdicts == {"lineitem": True, "airlineStats": True, "dropped": False}


def test_a_folder_that_cannot_be_listed_keeps_what_an_earlier_run_has_published(
    lab: Any, forbid: Callable[[Path], None]
) -> None:
    night = lab.night()
    assert lab.run_with_gates(night) == {}
    forbid(lab.segments / "lineitem")
    for stage in STAGE_NAMES[:2]:
        check_stage(lab.run(night, [stage]), stage)
    assert set(stopping_verdicts(night)) == {"lineitem"}
    groups = table_groups(night)
    assert groups == [["airlineStats"]]
    forget_gone_tables(night, groups)
    for artefact, day in (("reports", night.date_text), (WINDOWS, CURRENT)):
        assert set(night.store.snapshot(artefact, day).tables) == {"airlineStats", "lineitem"}


@pytest.mark.parametrize("changes", [{"is_of_some": True}, {"tables": frozenset({"dropped", "gone"})}])
def test_a_table_that_was_asked_for_by_name_or_is_one_of_none_is_an_error(lab: Any, changes: Any) -> None:
    with pytest.raises(
        SourceError, match=r"unknown table dropped: .* has segments of airlineStats, lineitem"
    ):
        lab.run(lab.night(**{"tables": CONFIGURED, **changes}), COLLECT)


def test_configs_that_cannot_be_read_are_named_and_left_out(lab: Any, tmp_path: Path) -> None:
    contents = {"sound": json.dumps(CONFIG), "none": "{}", "answer": '{"code": 404}', "empty": ""}
    for name, content in contents.items():
        (tmp_path / f"{name}.json").write_text(content)
    paths = [str(tmp_path / f"{name}.json") for name in (*contents, "absent")]
    night = lab.run(lab.night(table_config_paths=paths), COLLECT)
    assert set(night.table_configs()) == {"lineitem"}
    assert all(name in lab.warnings for name in ("none.json", "answer.json", "empty.json", "absent.json"))
    with pytest.raises(ConfigError, match=r"none\.json: is no table configuration"):
        lab.run(lab.night(table_config_paths=paths[1:]), COLLECT)


def test_reports_stand_beside_a_wrong_config_and_schemas_are_none(lab: Any, tmp_path: Path) -> None:
    contents = {"a_wrong": "{}", "b_schema": '{"schemaName": "lineitem"}', "c_table": json.dumps(CONFIG)}
    for name, content in contents.items():
        (tmp_path / f"{name}.json").write_text(content)
    paths = [str(tmp_path / f"{name}.json") for name in contents]
    lab.run_with_gates(lab.night(table_config_paths=paths))
    assert [name in lab.warnings for name in contents] == [True, False, False]
    assert lab.report("lineitem")["change"]["current"]["tableName"] == "lineitem_OFFLINE"
    with pytest.raises(ConfigError, match=r"b_schema\.json: is no table configuration"):
        read_table_configs(paths[1:])


def test_a_stage_reads_each_config_once_however_many_tables_it_has(
    lab: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "t.json").write_text(json.dumps(CONFIG))
    read: list[str] = []
    sound = table_config.read_small_file
    monkeypatch.setattr(table_config, "read_small_file", lambda path: (read.append(path), sound(path))[1])
    night = lab.night(table_config_paths=[str(tmp_path / "t.json")]).read_once()
    assert [set(night.table_configs()) for _ in range(200)] == [{"lineitem"}] * 200
    assert len(read) == 1
    assert pickle.loads(pickle.dumps(night)).table_configs() == night.table_configs()
    assert len(read) == 2


def test_a_folder_and_a_glob_stand_for_their_json_files(tmp_path: Path) -> None:
    for name in ("a_table.json", "b_table.json", "c.json", "notes.md"):
        (tmp_path / name).write_text("{}")

    def names(path: str) -> list[str]:
        return [Path(file).name for file in table_config_files(path)]

    assert names(str(tmp_path)) == names(f"{tmp_path}/") == ["a_table.json", "b_table.json", "c.json"]
    assert names(f"{tmp_path}/*_table.json") == ["a_table.json", "b_table.json"]
    assert names(f"{tmp_path}/gone.json") == ["gone.json"]
    for path in (f"{tmp_path}/*.yaml", f"{tmp_path}/*.md"):
        with pytest.raises(ConfigError, match="no table configuration lies there"):
            table_config_files(path)


def test_a_stage_of_one_table_leaves_absent_tables_alone(lab: Any) -> None:
    night = lab.run(lab.night(tables=CONFIGURED), STAGE_NAMES[:4])
    assert {*night.store.snapshot("votes", night.date_text).tables} == {"lineitem", "airlineStats"}


def test_a_config_that_is_damaged_after_the_first_stage_is_an_error(lab: Any, tmp_path: Path) -> None:
    for name, content in {"sound": json.dumps(CONFIG), "none": "{}"}.items():
        (tmp_path / f"{name}.json").write_text(content)
    paths = [str(tmp_path / name) for name in ("sound.json", "none.json")]
    night = lab.run(lab.night(table_config_paths=paths), STAGE_NAMES[:2])
    assert set(night.table_configs()) == {"lineitem"}
    # Half of it is written: the stages of a night must all know the same indexes in force.
    (tmp_path / "sound.json").write_text('{"tableName": ')
    with pytest.raises(ConfigError, match=r"sound\.json: is no JSON table configuration"):
        night.table_configs()


def test_a_night_of_lake_tables_goes_on_without_a_table_that_was_dropped(lab: Any, tmp_path: Path) -> None:
    from starskip.lake.lake_table import LakeTable

    lake = {"events": LakeTable(str(tmp_path / "events"))}
    night = lab.night(tables=frozenset({"events", "dropped"}), lake_tables=lake)
    lab.run(night, STAGE_NAMES[:2])
    assert set(night.store.snapshot("queries", night.date_text).tables) == {"events"}
