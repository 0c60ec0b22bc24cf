"""``tune --output``: the whole table config as it should be, and star-trees of it as indexes in force."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Call = Callable[..., Result]
Write = Callable[..., Path]

ROOT = Path(__file__).parents[2] / "include" / "sample"
LOG = ROOT / "logs" / "broker-2026-11-18.log.gz"
TREE = {
    "dimensionsSplitOrder": ["l_shipmode", "l_linestatus"],
    "functionColumnPairs": ["COUNT__*", "PERCENTILETDIGEST__l_extendedprice"],
    "maxLeafRecords": 100,
}
LINEITEM: dict[str, Any] = {
    "tableName": "lineitem_OFFLINE",
    "tableType": "OFFLINE",
    "segmentsConfig": {"replication": "1"},
    "newInLaterPinot": {"a": [1, 2.5, None]},
    "tableIndexConfig": {
        "bloomFilterColumns": ["l_orderkey"],
        "rangeIndexColumns": ["l_quantity"],
        "starTreeIndexConfigs": [TREE],
        "streamConfigs": {"stream.kafka.password": "hunter2"},
    },
    "metadata": {"customConfigs": {}},
}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def to(document: Any, name: str = "t.json") -> Path:
        (tmp_path / name).write_text(json.dumps(document, indent=4))
        return tmp_path / name

    return to


@pytest.fixture
def tuned(call: Call, deep_store: Path) -> Callable[..., Result]:
    return lambda *more: call("tune", "--log", LOG, "--segments", deep_store, "--format", "json", *more)


def test_the_key_of_the_kind_changes_and_all_else_stays(
    tuned: Callable[..., Result], write: Write, tmp_path: Path
) -> None:
    out = tmp_path / "new.json"
    more = ("--tables", "lineitem", "--index", "inverted", "--table-config", write(LINEITEM))
    result = tuned(*more, "--output", out)
    assert result.exit_code == 0, result.stderr
    advised = json.loads(result.stdout)["tables"]["lineitem"]["inverted_index_columns"]
    assert advised
    proposed = json.loads(out.read_text())
    index_config = LINEITEM["tableIndexConfig"] | {"invertedIndexColumns": advised}
    assert json.dumps(proposed) == json.dumps(LINEITEM | {"tableIndexConfig": index_config})


def test_a_star_tree_of_the_config_takes_the_votes_of_what_it_answers(
    tuned: Callable[..., Result], write: Write
) -> None:
    def advice(document: Any) -> Any:
        more = ("--tables", "lineitem", "--index", "inverted", "--unit", "entries")
        more = (*more, "--table-config", write(document))
        return json.loads(tuned(*more).stdout)["tables"]["lineitem"]

    bare = {"tableName": "lineitem"}
    without, beside = advice(bare), advice(bare | {"tableIndexConfig": {"starTreeIndexConfigs": [TREE]}})
    assert "l_shipmode" in without["inverted_index_columns"]
    assert "l_shipmode" not in beside["inverted_index_columns"]
    assert beside["predicted_saving_ratio"] < without["predicted_saving_ratio"], "of the same entries"


def test_the_sort_order_has_its_own_key(tuned: Callable[..., Result], write: Write, tmp_path: Path) -> None:
    out, config = tmp_path / "new.json", write(LINEITEM)
    result = tuned("--tables", "lineitem", "--index", "sorted", "--table-config", config, "--output", out)
    order = json.loads(result.stdout)["tables"]["lineitem"]["sorted_column"]
    index_config = LINEITEM["tableIndexConfig"] | {"sortedColumn": [order]}
    assert json.loads(out.read_text()) == LINEITEM | {"tableIndexConfig": index_config}


def test_a_config_of_another_table_is_written_as_it_was(
    tuned: Callable[..., Result], write: Write, tmp_path: Path
) -> None:
    out, config = tmp_path / "new.json", write({"tableName": "other", "x": 1})
    result = tuned("--tables", "lineitem", "--index", "inverted", "--table-config", config, "--output", out)
    assert "no advice for table other" in result.stderr
    assert json.loads(out.read_text()) == {"tableName": "other", "x": 1}


def test_a_config_of_no_table_of_the_log_is_told(tuned: Callable[..., Result], write: Write) -> None:
    result = tuned("--index", "inverted", "--table-config", write(LINEITEM | {"tableName": "lineitme"}))
    assert result.exit_code == 0
    assert "no advice for lineitme: no query in the log of such a table" in result.stderr


def test_the_config_may_be_written_over(tuned: Callable[..., Result], write: Write) -> None:
    config = write(LINEITEM)
    config.chmod(0o600)
    more = ("--tables", "lineitem", "--index", "inverted", "--table-config", config, "--output", config)
    assert tuned(*more).exit_code == 0
    assert json.loads(config.read_text())["tableIndexConfig"]["invertedIndexColumns"]
    assert config.stat().st_mode & 0o777 == 0o600, "it holds a password"
    assert [each.name for each in config.parent.iterdir()] == [config.name]


@pytest.mark.parametrize(("out", "code"), [("no/such/folder/x.json", 3), ("no/such/", 3)])
def test_what_cannot_be_written_is_told_at_once(
    out: str, code: int, tuned: Callable[..., Result], write: Write, tmp_path: Path
) -> None:
    result = tuned("--index", "inverted", "--table-config", write(LINEITEM), "-o", f"{tmp_path}/{out}")
    assert result.exit_code == code
    assert "--output" in result.stderr.splitlines()[-1]


def test_configs_are_written_into_a_folder_under_their_names(
    tuned: Callable[..., Result], write: Write, tmp_path: Path
) -> None:
    config, folder = write(LINEITEM), f"{tmp_path}/advised/"
    more = ("--tables", "lineitem", "--index", "inverted", "--table-config", config, "--config-out", folder)
    assert tuned(*more).exit_code == 0
    written = json.loads((Path(folder) / config.name).read_text())
    assert written["tableIndexConfig"]["invertedIndexColumns"]


def test_it_is_of_one_config(tuned: Callable[..., Result], tmp_path: Path) -> None:
    result = tuned("--index", "inverted", "--output", tmp_path / "x.json")
    assert result.exit_code == 2
    assert "--table-config" in result.stderr


def test_all_chosen_star_trees_are_written_beside_those_in_force(
    call: Call, write: Write, deep_store: Path, tmp_path: Path
) -> None:
    out, config = tmp_path / "new.json", ROOT / "config" / "lineitem_table.json"
    night_log = ROOT / "logs" / "broker-2026-11-20.log.gz"
    more = ("--segments", deep_store, "--tables", "lineitem", "--index", "all", "--table-config", config)
    result = call("tune", "--log", night_log, *more, "--output", out, "--format", "json")
    assert result.exit_code == 0, result.stderr
    chosen = json.loads(result.stdout)["tables"]["lineitem"]["indexes"]
    trees = [
        each["config"]["tableIndexConfig"]["starTreeIndexConfigs"][0]
        for each in chosen
        if each["family"] == "star_tree"
    ]
    assert len(trees) >= 2
    held = json.loads(config.read_text())["tableIndexConfig"].get("starTreeIndexConfigs") or []
    assert json.loads(out.read_text())["tableIndexConfig"]["starTreeIndexConfigs"] == [*held, *trees]


def test_what_is_odd_in_the_given_config_is_told(
    tuned: Callable[..., Result], write: Write, tmp_path: Path
) -> None:
    of_tier = {"name": "l_suppkey", "encodingType": "DICTIONARY", "tierOverwrites": {"hot": {"indexes": {}}}}
    index_config = {"sortedColumn": ["gone"], "starTreeIndexSpec": {"maxLeafRecords": 10}}
    given = write({"tableName": "lineitem", "fieldConfigList": [of_tier], "tableIndexConfig": index_config})
    more = ("--tables", "lineitem", "--index", "inverted", "--table-config", given)
    result = tuned(*more, "--output", tmp_path / "new.json")
    assert result.exit_code == 0, result.stderr
    warning = "starskip: warning: table lineitem: "
    assert f"{warning}Pinot 0.11 refuses the given config: gone is no column of the schema" in result.stderr
    assert f"{warning}tier hot has indexes of its own, which the advice leaves as they are" in result.stderr
    assert f"{warning}starTreeIndexSpec is of old releases, and counts as no star-tree" in result.stderr
    written = json.loads((tmp_path / "new.json").read_text())
    assert written["fieldConfigList"] == [of_tier]
    assert written["tableIndexConfig"].items() >= index_config.items()


def test_an_index_that_the_config_must_not_have_is_refused(
    tuned: Callable[..., Result], write: Write, tmp_path: Path
) -> None:
    given = write({"tableName": "lineitem", "tableIndexConfig": {"noDictionaryColumns": ["l_suppkey"]}})
    more = ("--tables", "lineitem", "--index", "inverted", "--table-config", given)
    result = tuned(*more, "--output", tmp_path / "new.json")
    assert result.exit_code == 0, result.stderr
    advice = json.loads(result.stdout)["tables"]["lineitem"]
    assert "l_suppkey" not in advice["inverted_index_columns"]
    (refusal,) = [each for each in advice["refused"] if each["columns"] == ["l_suppkey"]]
    assert refusal["reason"] == "breaks_config_rule"
    assert "an inverted index needs (rule inverted_no_dictionary)" in refusal["detail"]
    written = json.loads((tmp_path / "new.json").read_text())["tableIndexConfig"]
    assert "l_suppkey" not in written["invertedIndexColumns"]
