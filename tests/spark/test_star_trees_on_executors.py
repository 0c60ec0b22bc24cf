"""Star-trees built on executors are those built in one process; sketches are Spark's own too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.spark.spark_engine import SparkEngine
from starskip.star_tree.build.publish_trees import Outcome, publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.measure import Measure, MeasureKind
from starskip.star_tree.measures.initial_measure import initial_measure, stored_measure
from starskip.star_tree.measures.sketch_answers import distinct_counts, error_bound
from starskip.star_tree.serving.star_tree import StarTree
from starskip.star_tree.serving.tree_set import open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = [pytest.mark.slow, pytest.mark.spark]

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
CONFIG = StarTreeConfig.from_document(
    {
        "dimensionsSplitOrder": ["a", "b", "c", "d"],
        "functionColumnPairs": ["SUM__m", "COUNT__*", "MIN__s", "MAX__m", "DISTINCTCOUNTHLL__s"],
        "maxLeafRecords": 3,
        "skipStarNodeCreationForDimensions": ["c"],
    }
)


def write_rows(path: Path, seed: int, count: int = 8_000) -> None:
    """Write rows of which 60 % have one value of the first dimension."""
    chance = np.random.default_rng(seed)
    skewed = np.where(chance.random(count) < 0.6, 7, chance.integers(0, 30, count))
    table = pa.table(
        {
            "a": pa.array(skewed, mask=chance.random(count) < 0.02),
            "b": np.array(list("zyxwv"))[chance.integers(0, 5, count)],
            "c": chance.integers(0, 6, count),
            "d": chance.integers(0, 50, count),
            "m": chance.integers(-(2**61), 2**61, count),
            "s": np.array(["é", "b", "", "x"])[chance.integers(0, 4, count)],
        }
    )
    path.parent.mkdir(exist_ok=True)
    pq.write_table(table, path, row_group_size=1_500)


def content(tree: StarTree) -> list[Any]:
    """Return all documents and nodes as lists; of sketches what they answer."""
    numbers = np.arange(tree.documents_total)
    found: list[Any] = [tree.documents.codes(numbers, name).tolist() for name in "abcd"]
    for measure in tree.config.measures:
        array = tree.documents.measure(numbers, measure)
        assert array is not None
        results = array.results()
        found.append((distinct_counts(results) if measure.kind.is_sketch else results).to_pylist())
    nodes = tree.nodes
    return [*found, nodes.code.tolist(), nodes.aggregated.tolist(), nodes.first_child.tolist()]


def test_a_tree_built_on_executors_is_the_one_built_in_one_process(
    spark: SparkSession, tmp_path: Path
) -> None:
    assert spark.conf.get("spark.driver.maxResultSize") == "16m"
    source = tmp_path / "table"
    for number in range(3):
        write_rows(source / f"{number}.parquet", number)
    order = TreeOrder("t", str(source), (CONFIG,), {})
    tasks: dict[str, int] = {}

    def watched(run: Callable[..., Any]) -> Callable[..., Any]:
        def call(label: str, items: Sequence[Any], function: Any) -> Any:
            group = f"{label} {len(tasks)}"
            spark.sparkContext.setJobGroup(group, label)
            results = run(label, items, function)
            tracker = spark.sparkContext.statusTracker()
            stages = [
                tracker.getStageInfo(stage)
                for job in tracker.getJobIdsForGroup(group)
                for stage in tracker.getJobInfo(job).stageIds
            ]
            tasks[group] = max((stage.numTasks for stage in stages if stage), default=0)
            return results

        return call

    found = []
    runs: tuple[tuple[str, Callable[..., Any]], ...] = (
        ("local", EngineTasks(LocalEngine()).run_tasks),
        ("spark", watched(EngineTasks(SparkEngine(spark)).run_tasks)),
    )
    cutting = {"rows_per_task": 3_000, "documents_per_task": 3_500}
    for name, run in runs:
        store = ArtefactStore(storage_for(str(tmp_path / name)))
        publish_trees(run, store, order, now=NOW, created_by="test", **cutting)  # type: ignore[arg-type]
        found.append(content(open_trees(store).trees[0]))
        write_rows(source / "3.parquet", 3, 5_000)
        grown = publish_trees(run, store, order, now=NOW, created_by="test", **cutting)  # type: ignore[arg-type]
        assert grown.outcome is Outcome.REFRESHED
        found.append(content(open_trees(store).trees[0]))
        (source / "3.parquet").unlink()
    assert found[0] == found[2]
    assert found[1] == found[3]
    print(f"tasks: {tasks}")
    # Each of the labels of the first build ran as several tasks, not one after the other.
    for label in ("reading dimensions", "sorting dimensions", "aggregating rows", "merging", "building"):
        assert max(count for group, count in tasks.items() if group.startswith(label)) >= 4


def sketched(kind: MeasureKind, values: pa.Array, groups: int = 1) -> Any:
    """Return merged sketches, one a group of as many values."""
    array = initial_measure(Measure.of(kind, "x"), values, len(values))
    return array.merged(np.arange(groups) * (len(values) // groups))


def in_spark(spark: SparkSession, sketches: pa.Array) -> Any:
    rows = [(bytearray(each),) for each in sketches.to_pylist()]
    return spark.createDataFrame(rows, "sketch binary")


@pytest.mark.parametrize(
    "values",
    [pa.array(np.arange(20_000) % 9_000), pa.array([f"user-{n % 900}" for n in range(20_000)])],
    ids=["integers", "texts"],
)
def test_spark_reads_and_merges_our_distinct_sketches_and_we_read_sparks(
    spark: SparkSession, values: pa.Array
) -> None:
    groups = sketched(MeasureKind.HLL, values, 8).results()
    frame = in_spark(spark, groups)
    estimates = [row[0] for row in frame.selectExpr("hll_sketch_estimate(sketch)").collect()]
    assert sorted(estimates) == sorted(distinct_counts(groups).to_pylist())
    # A union in Spark is our union.
    ours = distinct_counts(sketched(MeasureKind.HLL, values).results())[0].as_py()
    bound = error_bound(MeasureKind.HLL).ratio
    (theirs,) = frame.selectExpr("hll_sketch_estimate(hll_union_agg(sketch))").first()  # type: ignore[misc]
    true = len(values.unique())
    assert abs(theirs - true) <= bound * true and abs(theirs - ours) <= 0.01 * true
    # Spark's own sketch of the same values holds the same hashes: together they count no value twice.
    raw = spark.createDataFrame([(value,) for value in values.to_pylist()[:9_000]], ["value"])
    (of_spark,) = raw.selectExpr("hll_sketch_agg(value, 12)").first()  # type: ignore[misc]
    measure = Measure.of(MeasureKind.HLL, "x")
    read = stored_measure(measure, pa.array([bytes(of_spark)], pa.binary()), values.type)
    assert distinct_counts(read.results())[0].as_py() == pytest.approx(
        len(values.slice(0, 9_000).unique()), rel=bound
    )
    together = read.appended([stored_measure(measure, groups, values.type)]).merged(np.array([0]))
    assert distinct_counts(together.results())[0].as_py() == pytest.approx(ours, rel=0.01)


def test_spark_reads_and_merges_our_quantile_sketches(spark: SparkSession) -> None:
    values = np.random.default_rng(1).lognormal(0, 2, 20_000)
    groups = sketched(MeasureKind.KLL, pa.array(values), 8).results()
    frame = in_spark(spark, groups)
    counts = [row[0] for row in frame.selectExpr("kll_sketch_get_n_double(sketch)").collect()]
    assert counts == [2_500] * 8
    (median,) = frame.selectExpr(  # type: ignore[misc]
        "kll_sketch_get_quantile_double(kll_merge_agg_double(sketch), 0.5D)"
    ).first()
    rank = np.searchsorted(np.sort(values), median) / len(values)
    assert abs(rank - 0.5) <= 2 * error_bound(MeasureKind.KLL).ratio


def test_sketches_of_spark_are_merged_with_ours(spark: SparkSession) -> None:
    raw = spark.range(10_000).selectExpr("cast(id as double) as value")
    (of_spark,) = raw.selectExpr("kll_sketch_agg_double(value, 200)").first()  # type: ignore[misc]
    ours = sketched(MeasureKind.KLL, pa.array(np.arange(10_000.0, 20_000.0)))
    read = stored_measure(
        Measure.of(MeasureKind.KLL, "x"), pa.array([bytes(of_spark)], pa.binary()), pa.float64()
    )
    merged = read.appended([ours]).merged(np.array([0])).results()
    (median,) = (
        in_spark(spark, merged)
        .selectExpr(  # type: ignore[misc]
            "kll_sketch_get_quantile_double(sketch, 0.5D)"
        )
        .first()
    )
    assert abs(median - 10_000) <= 20_000 * 2 * error_bound(MeasureKind.KLL).ratio
