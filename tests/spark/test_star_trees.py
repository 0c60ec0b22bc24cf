"""A Spark user's answers: by a tree where one fits, by Spark's own tasks where none does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from starskip.errors import StaleTree, StarskipError, UnsupportedQuery
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("default")]

CONFIG = {
    "dimensionsSplitOrder": ["country", "day"],
    "functionColumnPairs": [
        "COUNT__*",
        "SUM__price",
        "AVG__price",
        "DISTINCTCOUNTHLL__item",
        "PERCENTILEEST__item",
    ],
    "maxLeafRecords": 1,
}
ROWS = pa.table(
    {
        "country": ["se", "no", None, "se", "", "no"] * 50,
        "day": pa.array([19_000 + i % 40 for i in range(300)], pa.int32()).cast(pa.date32()),
        "price": pa.array([i * 100 for i in range(300)], pa.int32()).cast(pa.decimal128(12, 2)),
        "item": list(range(300)),
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two files of a table, and their tree beside them."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "sales").mkdir()
    pq.write_table(ROWS.slice(0, 200), folder / "sales" / "a.parquet")
    pq.write_table(ROWS.slice(200), folder / "sales" / "b.parquet")
    build(folder)
    return folder


def build(
    folder: Path,
    config: dict[str, Any] = CONFIG,
    *,
    is_named: bool = False,
    source: Path | None = None,
) -> None:
    def run_tasks(_: str, items: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
        return [function(item) for item in items]

    publish_trees(
        run_tasks,
        ArtefactStore(storage_for(str(folder / "trees"))),
        TreeOrder(
            "sales", str(source or folder / "sales"), (StarTreeConfig.from_document(config),), {}, is_named
        ),
        now=datetime.now(UTC),
        created_by="test",
    )


@pytest.fixture
def trees(spark: Any, folder: Path) -> Any:
    from starskip.spark.star_trees import StarTrees

    return StarTrees(spark, str(folder / "trees"))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT country, SUM(price), COUNT(*), AVG(price) FROM sales GROUP BY country",
        "SELECT SUM(price) AS total FROM sales WHERE country = 'se' AND day >= '2022-01-20'",
        "SELECT date_trunc('month', day) AS m, COUNT(*) FROM sales WHERE country IS NULL GROUP BY 1",
        "SELECT country, COUNT(*) AS n FROM sales GROUP BY 1 HAVING COUNT(*) > 60 ORDER BY n, 1 LIMIT 1",
    ],
)
def test_a_tree_answers_as_spark_does(trees: Any, spark: Any, folder: Path, query: str) -> None:
    answer = trees.sql(query).collect()
    assert trees.last_answer.star_tree and trees.last_answer.documents_read > 0
    spark.read.parquet(str(folder / "sales")).createOrReplaceTempView("sales")
    expected = spark.sql(query).collect()
    assert sorted(map(comparable, answer)) == sorted(map(comparable, expected))


def comparable(row: Any) -> list[str]:
    """An average of decimals is a double by a tree, and dates of date_trunc are timestamps in Spark."""
    return [f"{value:.6f}" if isinstance(value, Decimal | float) else str(value)[:10] for value in row]


def test_what_no_tree_answers_runs_on_spark_and_the_reason_is_told(trees: Any) -> None:
    rows = trees.sql("SELECT MAX(item), percentile_approx(item, 0.5) FROM sales WHERE item > 9").collect()
    assert [tuple(row) for row in rows] == [(299, 154)]
    assert not trees.last_answer.star_tree
    assert "item" in trees.last_answer.reason


def test_an_answer_of_too_many_documents_is_left_to_sparks_tasks(trees: Any) -> None:
    query = "SELECT day, SUM(price) FROM sales GROUP BY day"
    few = trees.sql(query, most_documents=1)
    assert "documents" in trees.last_answer.reason
    assert not trees.last_answer.star_tree
    by_tree = trees.sql(query)
    assert trees.last_answer.star_tree
    assert sorted(map(tuple, few.collect())) == sorted(map(tuple, by_tree.collect()))


def test_pinots_functions_are_answered_by_both(trees: Any) -> None:
    by_tree = trees.sql("SELECT DISTINCTCOUNTHLL(item) FROM sales", "pinot").collect()
    assert trees.last_answer.star_tree
    by_rows = trees.sql("SELECT DISTINCTCOUNTHLL(item) FROM sales WHERE item >= 0", "pinot").collect()
    assert not trees.last_answer.star_tree
    assert by_rows[0][0] == 300
    assert by_tree[0][0] == pytest.approx(300, rel=0.04)


def test_a_query_that_cannot_be_answered_is_one_line(trees: Any) -> None:
    for query in ("SELECT nope FROM sales", "SELECT COUNT(*) FROM a JOIN b", "DROP TABLE sales"):
        with pytest.raises(UnsupportedQuery) as caught:
            trees.sql(query)
        assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_a_delta_table_is_read_by_its_log_where_no_tree_answers(spark: Any, tmp_path: Path) -> None:
    from starskip.spark.star_trees import StarTrees

    table = str(tmp_path / "sales")
    write_deltalake(table, ROWS.slice(0, 9))
    options = {"partition_by": ["country", "day"], "schema_mode": "overwrite", "mode": "overwrite"}
    write_deltalake(table, ROWS.slice(0, 20), **options)
    late = ROWS.slice(20, 40).append_column("late", pa.array(["l"] * 40))
    write_deltalake(table, late, mode="append", schema_mode="merge")
    build(tmp_path)
    trees = StarTrees(spark, str(tmp_path / "trees"))
    now = ROWS.slice(0, 60).to_pylist()
    days = sum(row["country"] == "se" and row["day"] >= date(2022, 1, 20) for row in now)
    query = "SELECT COUNT(*), COUNT(late), COUNT(country), SUM(item) FROM sales"
    (found,) = trees.sql(query).collect()
    countries = sum(row["country"] is not None for row in DeltaTable(table).to_pyarrow_table().to_pylist())
    assert tuple(found) == (60, 40, countries, sum(range(60))) and not trees.last_answer.star_tree
    query = "SELECT COUNT(*) FROM sales WHERE country = 'se' AND day >= '2022-01-20' AND item >= 0"
    assert trees.sql(query).collect()[0][0] == days and not trees.last_answer.star_tree


@pytest.mark.slow
@pytest.mark.table_formats
def test_an_iceberg_table_is_read_by_ids_where_no_tree_answers(
    spark: Any, warehouse: Path, tmp_path: Path
) -> None:
    from starskip.spark.star_trees import StarTrees

    spark.sql("CREATE TABLE ice.trees.sales (k INT, item INT, p STRING) USING iceberg PARTITIONED BY (p)")
    spark.sql("INSERT INTO ice.trees.sales VALUES (1, 10, 'x'), (2, 20, 'y')")
    spark.sql("ALTER TABLE ice.trees.sales RENAME COLUMN k TO old")
    spark.sql("ALTER TABLE ice.trees.sales RENAME COLUMN item TO k")
    spark.sql("ALTER TABLE ice.trees.sales RENAME COLUMN old TO item")
    spark.sql("ALTER TABLE ice.trees.sales ALTER COLUMN item TYPE BIGINT")
    spark.sql("INSERT INTO ice.trees.sales VALUES (5000000000, 30, 'x')")
    config = {"dimensionsSplitOrder": ["p"], "functionColumnPairs": ["SUM__k"]}
    build(tmp_path, config, source=warehouse / "trees" / "sales")
    trees = StarTrees(spark, str(tmp_path / "trees"))
    assert trees.sql("SELECT SUM(k) FROM sales").collect()[0][0] == 60 and trees.last_answer.star_tree
    found = trees.sql("SELECT SUM(k), SUM(item), MAX(p) FROM sales WHERE item < 3").collect()
    assert tuple(found[0]) == (30, 3, "y") and not trees.last_answer.star_tree
    assert trees.sql("SELECT SUM(item) FROM sales WHERE p = 'x'").collect()[0][0] == 5_000_000_001


def test_trees_of_a_changed_table_never_answer(spark: Any, tmp_path: Path) -> None:
    from starskip.spark.star_trees import StarTrees

    (tmp_path / "sales").mkdir()
    pq.write_table(ROWS, tmp_path / "sales" / "a.parquet")
    build(tmp_path)
    pq.write_table(ROWS.slice(1), tmp_path / "sales" / "a.parquet")
    with pytest.raises(StaleTree, match=r"a\.parquet"):
        StarTrees(spark, str(tmp_path / "trees")).sql("SELECT COUNT(*) FROM sales")


def test_trees_with_a_name_answer_to_it_alone(spark: Any, tmp_path: Path) -> None:
    from starskip.spark.star_trees import StarTrees

    (tmp_path / "sales").mkdir()
    pq.write_table(ROWS, tmp_path / "sales" / "a.parquet")
    build(tmp_path, is_named=True)
    trees = StarTrees(spark, str(tmp_path / "trees"))
    for query in ("SELECT COUNT(*) FROM {}", "SELECT COUNT(*) FROM {} WHERE item >= 0"):
        assert trees.sql(query.format("`lake`.`SALES`")).collect()[0][0] == 300
        with pytest.raises(UnsupportedQuery, match="asks airline, and these star-trees are of sales"):
            trees.sql(query.format("airline"))


def test_nan_has_the_same_rank_by_a_tree_and_on_spark(spark: Any, tmp_path: Path) -> None:
    from starskip.spark.star_trees import StarTrees

    (tmp_path / "sales").mkdir()
    prices = pa.array([1.0, 2.0, float("nan"), None, float("-inf")])
    rows = pa.table({"country": ["se"] * 5, "price": prices, "n": list(range(5))})
    pq.write_table(rows, tmp_path / "sales" / "a.parquet")
    pairs = ["PERCENTILEEST__price", "MAX__price", "MIN__price"]
    build(tmp_path, {"dimensionsSplitOrder": ["country"], "functionColumnPairs": pairs})
    trees = StarTrees(spark, str(tmp_path / "trees"))
    asked = ", ".join(f"percentile_approx(price, {p})" for p in (0, 0.25, 0.5, 0.75, 1))
    query = f"SELECT {asked}, MAX(price), MIN(price) FROM sales"
    by_tree = trees.sql(query).collect()[0]
    assert trees.last_answer.star_tree
    by_spark = trees.sql(f"{query} WHERE n >= 0").collect()[0]
    assert not trees.last_answer.star_tree
    assert repr(tuple(by_tree)) == repr(tuple(by_spark))


def test_a_folder_without_trees_says_what_to_do(spark: Any, tmp_path: Path) -> None:
    from starskip.spark.star_trees import StarTrees

    with pytest.raises(StarskipError, match="build one"):
        StarTrees(spark, str(tmp_path))
