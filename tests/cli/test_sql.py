"""``starskip sql``: to the letter of interfaces.md."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import Result
from seed_example import CONFIG, ROWS
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

Call = Callable[..., Result]

ONE_COLUMN = {"dimensionsSplitOrder": ["a"], "functionColumnPairs": ["COUNT__*"]}


def built(call: Call, folder: Path, source: Path, config: dict[str, Any]) -> Path:
    (folder / "config.json").write_text(json.dumps(config))
    tree = folder / "tree"
    result = call(
        "star-tree", "build", "--input", source, "--config", folder / "config.json", "--output", tree
    )
    assert result.exit_code == 0, result.stderr
    return tree


@pytest.fixture(scope="module")
def seed(call: Call, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("seed")
    (folder / "seed.csv").write_text(ROWS)
    return built(call, folder, folder / "seed.csv", CONFIG)


@pytest.fixture(scope="module")
def kinds(call: Call, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kinds")
    table = {
        "name": pa.array(["a", "b\x1b[31m", None, "d"]),
        "day": pa.array([date(2024, 1, 1), date(2024, 1, 2), None, date(2024, 2, 1)]),
        "at": pa.array([datetime(2024, 1, 1, 12, tzinfo=UTC)] * 4, pa.timestamp("us", "UTC")),
        "price": pa.array([Decimal("1.50"), Decimal("0.00"), None, Decimal("-3.25")], pa.decimal128(15, 2)),
        "score": pa.array([math.nan, math.inf, None, -0.5]),
        "open": pa.array([True, False, None, True]),
        "raw": pa.array([b"\x00\xff", b"", None, b"z"]),
    }
    pq.write_table(pa.table(table), folder / "kinds.parquet")
    pairs = "SUM__price MAX__score MIN__at MAX__raw DISTINCTCOUNTHLL__name COUNT__*"
    config = {"dimensionsSplitOrder": ["name", "day", "open"], "functionColumnPairs": pairs.split()}
    return built(call, folder, folder / "kinds.parquet", config)


def test_json_holds_exactly_the_keys_of_an_answer(call: Call, seed: Path) -> None:
    result = call("sql", "--star-tree", seed, "SELECT SUM(Impressions) FROM Anything", "--format", "json")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert json.loads(result.stdout) == {
        "columns": ["sum(Impressions)"],
        "rows": [[2200]],
        "star_tree": True,
        "reason": None,
        "documents_read": 1,
        "documents_total": 27,
    }


def test_json_of_what_no_tree_answers(call: Call, seed: Path) -> None:
    result = call(
        "sql",
        "--star-tree",
        seed,
        "--format",
        "json",
        "SELECT Country, COUNT(*) AS n FROM t GROUP BY Country ORDER BY n, Country",
    )
    found = json.loads(result.stdout)
    assert found["rows"] == [["CA", 2], ["MX", 2], ["USA", 3]]
    assert (found["star_tree"], found["documents_read"], found["documents_total"]) == (False, 7, 7)
    assert "COUNT(*) is not pre-aggregated" in found["reason"]


def test_json_of_every_type(call: Call, kinds: Path) -> None:
    query = (
        "SELECT day, open, date_trunc('month', day) AS m, SUM(price) AS p, MAX(score) AS s, MIN(at) AS t, "
        "MAX(raw) AS r, COUNT(*) AS n FROM t GROUP BY day, open, m ORDER BY day"
    )
    result = call("sql", "--star-tree", kinds, "--format", "json", query)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    at = "2024-01-01 12:00:00+00:00"
    assert found["rows"] == [
        ["2024-01-01", True, "2024-01-01 00:00:00", "1.50", "NaN", at, "00ff", 1],
        ["2024-01-02", False, "2024-01-01 00:00:00", "0.00", "Infinity", at, "", 1],
        ["2024-02-01", True, "2024-02-01 00:00:00", "-3.25", -0.5, at, "7a", 1],
        [None, None, None, None, None, at, None, 1],
    ]
    assert "approximations" not in found


def test_json_says_how_far_approximate_columns_may_be_off(call: Call, kinds: Path) -> None:
    result = call(
        "sql", "--star-tree", kinds, "--format", "json", "SELECT DISTINCTCOUNTHLL(name) AS names FROM t"
    )
    found = json.loads(result.stdout)
    assert found["rows"] == [[3]]
    (bound,) = found["approximations"]
    assert bound["column"] == "names"
    assert 0 < bound["ratio"] < 0.1
    assert bound["confidence"] == 0.997
    assert "HyperLogLog" in bound["bound"]


def test_text_is_a_table_on_stdout_and_the_rest_on_stderr(call: Call, seed: Path) -> None:
    result = call("sql", "--star-tree", seed, "SELECT Browser, SUM(Impressions) AS s FROM t GROUP BY Browser")
    assert result.stdout == "Browser     s\nChrome   1000\nFirefox   800\nSafari    400\n"
    assert result.stderr == "sql: 3 of 27 documents of the star-tree read\n"


def test_text_of_no_rows_and_of_control_characters(call: Call, kinds: Path) -> None:
    result = call("sql", "--star-tree", kinds, "SELECT name FROM t WHERE name = 'nobody' GROUP BY name")
    assert result.stdout == "name\n"
    result = call("sql", "--star-tree", kinds, "SELECT name, COUNT(*) FROM t GROUP BY name ORDER BY name")
    assert "\x1b" not in result.stdout
    assert result.stdout.splitlines()[-1].startswith("null")


def test_csv_tells_null_from_an_empty_text(call: Call, kinds: Path) -> None:
    result = call(
        "sql",
        "--star-tree",
        kinds,
        "--format",
        "csv",
        "SELECT open, MAX(raw) AS r FROM t GROUP BY open ORDER BY open",
    )
    assert result.stdout == "open,r\nfalse,\ntrue,7a\n\\N,\\N\n"


def test_the_dialect_is_chosen(call: Call, seed: Path) -> None:
    query = "SELECT approx_percentile(Impressions, 0.5), count(*) FROM `t`"
    result = call("sql", "--star-tree", seed, "--dialect", "spark", "--format", "json", query)
    assert json.loads(result.stdout)["columns"] == ["approx_percentile(Impressions, 0.5)", "count(1)"]
    assert json.loads(result.stdout)["rows"] == [[300, 7]]


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT SUM(clicks) FROM t", "clicks"),
        ("SELECT SUM(Impressions) FROM t WHERE Country = 3", "Country"),
        ("SELEC 1", "not one SELECT"),
        ("SELECT SUM(Impressions FROM t", "parsed"),
        ("SELECT * FROM a, b", "2 tables"),
    ],
)
def test_a_wrong_query_is_one_line_and_exit_code_3(call: Call, seed: Path, query: str, told: str) -> None:
    result = call("sql", "--star-tree", seed, query)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr.count("\n") == 1 and result.stderr.startswith("starskip: ")
    assert told in result.stderr


def test_of_several_tables_from_names_one(call: Call, tmp_path: Path) -> None:
    store = ArtefactStore(storage_for(str(tmp_path / "store")))
    for table, rows in (("orders", 3), ("lines", 5)):
        source = tmp_path / f"{table}.parquet"
        pq.write_table(pa.table({"a": [1] * rows}), source)
        order = TreeOrder(table, str(source), (StarTreeConfig.from_document(ONE_COLUMN),), {})
        publish_trees(
            lambda _, items, function: [function(item) for item in items],
            store,
            order,
            now=datetime.now(UTC),
            created_by="test",
        )
    for table, rows in (("orders", 3), ("lines", 5)):
        result = call(
            "sql", "--star-tree", tmp_path / "store", "--format", "csv", f"SELECT COUNT(*) n FROM {table}"
        )
        assert result.stdout == f"n\n{rows}\n"
    result = call("sql", "--star-tree", tmp_path / "store", "SELECT COUNT(*) FROM other")
    assert result.exit_code == 3
    assert "other" in result.stderr and "lines, orders" in result.stderr


@pytest.mark.parametrize("place", ["nowhere", "empty", "file"])
def test_a_place_without_a_tree_is_named(call: Call, tmp_path: Path, place: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    result = call("sql", "--star-tree", tmp_path / place, "SELECT COUNT(*) FROM t")
    assert result.exit_code == 3
    assert place in result.stderr and result.stderr.count("\n") == 1


def test_wrong_arguments_are_exit_code_2(call: Call, seed: Path) -> None:
    assert call("sql", "SELECT 1").exit_code == 2
    assert call("sql", "--star-tree", seed).exit_code == 2
    assert call("sql", "--star-tree", seed, "--dialect", "oracle", "SELECT 1").exit_code == 2


@pytest.mark.parametrize("query", ["SELECT SUM(Impressions) FROM t", "SELECT COUNT(*) FROM t"])
@pytest.mark.parametrize("change", ["changed", "gone"])
def test_a_changed_or_removed_source_is_an_error(call: Call, tmp_path: Path, query: str, change: str) -> None:
    source = tmp_path / "seed.csv"
    source.write_text(ROWS)
    tree = built(call, tmp_path, source, CONFIG)
    if change == "gone":
        source.unlink()
    else:
        source.write_text(ROWS.replace("400", "401"))
    result = call("sql", "--star-tree", tree, query)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "seed.csv" in result.stderr and result.stderr.count("\n") == 1


def test_help_has_examples(call: Call) -> None:
    result = call("sql", "--help")
    assert "Examples:" in result.stdout and "--dialect spark" in result.stdout
