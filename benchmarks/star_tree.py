"""Cost and gain of star-trees of TPC-H lineitem, against DuckDB and Spark on the same Parquet files.

Generates lineitem (tpchgen-cli; 6 million rows a unit of the scale factor). Builds named trees, and those
that Starskip recommends for the queries below (as if each were asked equally often, at most 12 % of the
data's bytes), on Spark (local[2], driver 4 GiB, results of at most 16 MiB); prints build time and size as a
share of the Parquet data. Then each query is answered in one process, warm (median of several runs), by the
recommended trees, and where these do not by a named one: milliseconds, documents read, and the ratios to
DuckDB and Spark in the same run. Every answer is compared with DuckDB's. With several factors: how documents
read grow.

    python benchmarks/star_tree.py [--factors 1] [--data DIR] [--runs 5] [--without-spark] [--only advised]
    python benchmarks/star_tree.py --factors 0.1,1,8        # the size of the star-tree post: 48 million rows
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession
from recommended_trees import answerable_shapes, recommended_trees, sample_for
from starskip.advisor.families.star_tree.recommend.asked_shape import AskedShape
from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.advisor.selection.chosen_answers import AnswerTerms
from starskip.advisor.selection.recommendation import Budget
from starskip.execution.engine_tasks import EngineTasks
from starskip.settings import Settings
from starskip.spark.spark_engine import SparkEngine
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.answer_sql import Answer, answer_sql
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for
from tpch import generate_tpch

SUMS = ["COUNT__*", "SUM__l_quantity", "SUM__l_extendedprice", "AVG__l_discount"]
TREES: dict[str, dict[str, Any]] = {
    "shipping": {
        "dimensionsSplitOrder": ["l_shipdate", "l_returnflag", "l_linestatus", "l_shipmode"],
        "functionColumnPairs": SUMS,
        "maxLeafRecords": 10_000,
    },
    "suppliers": {
        "dimensionsSplitOrder": ["l_suppkey", "l_returnflag", "l_shipmode"],
        "functionColumnPairs": [*SUMS, "MAX__l_shipdate"],
        "maxLeafRecords": 1,
    },
    "sketches": {
        "dimensionsSplitOrder": ["l_shipmode", "l_shipinstruct", "l_returnflag"],
        "functionColumnPairs": ["COUNT__*", "DISTINCTCOUNTHLL__l_suppkey", "PERCENTILEEST__l_extendedprice"],
        "maxLeafRecords": 1,
    },
}
"""Dates, a key with many values, and functions that are dear to compute of rows."""
QUERIES = (
    "SELECT COUNT(*), SUM(l_extendedprice) FROM lineitem",
    "SELECT l_returnflag, l_linestatus, SUM(l_quantity), AVG(l_discount), COUNT(*) FROM lineitem "
    "WHERE l_shipdate <= '1998-09-02' GROUP BY l_returnflag, l_linestatus",
    "SELECT SUM(l_extendedprice) FROM lineitem WHERE l_shipdate BETWEEN '1994-01-01' AND '1994-12-31' "
    "AND l_shipmode IN ('AIR', 'RAIL')",
    "SELECT l_shipmode, COUNT(*) FROM lineitem WHERE l_returnflag = 'R' GROUP BY l_shipmode",
    "SELECT date_trunc('month', l_shipdate) AS m, SUM(l_quantity) FROM lineitem GROUP BY "
    "date_trunc('month', l_shipdate) ORDER BY m",
    "SELECT SUM(l_quantity), MAX(l_shipdate) FROM lineitem WHERE l_suppkey = 77",
    "SELECT l_suppkey, SUM(l_extendedprice) AS s FROM lineitem WHERE l_shipmode = 'TRUCK' GROUP BY l_suppkey "
    "ORDER BY s DESC LIMIT 10",
    "SELECT l_suppkey, COUNT(*) FROM lineitem WHERE l_suppkey BETWEEN 100 AND 200 AND l_returnflag <> 'N' "
    "GROUP BY l_suppkey",
)
APPROXIMATE = (
    ("SELECT DISTINCTCOUNTHLL(l_suppkey) FROM lineitem", "SELECT COUNT(DISTINCT l_suppkey) FROM lineitem"),
    (
        "SELECT l_shipmode, PERCENTILEEST(l_extendedprice, 95) FROM lineitem GROUP BY l_shipmode",
        "SELECT l_shipmode, quantile_disc(l_extendedprice, 0.95) FROM lineitem GROUP BY l_shipmode",
    ),
)
"""Queries on the tree, and their exact forms for DuckDB; errors are printed."""
ROWS_PER_FACTOR = 6_001_215
ADVISED = "advised"
SPACE_RATIO = 0.12
"""Share of the data's bytes for all trees: that in "Star-tree index: Powering fast aggregations"."""
MOST_TREES = 3


def main() -> None:
    """Generate, build, ask; print a table a factor, then how documents read grow."""
    arguments = _arguments()
    factors = [float(text) for text in arguments.factors.split(",")]
    read: dict[float, list[int]] = {}
    session = _session()
    try:
        with tempfile.TemporaryDirectory() as scratch:
            for factor in factors:
                data = _generated(Path(arguments.data or scratch), factor)
                trees = _built(session, data, Path(scratch) / f"trees-{factor:g}", arguments.only)
                spark = None if arguments.without_spark else session
                read[factor] = _asked(trees, data, factor, arguments.runs, spark)
    finally:
        session.stop()
    if len(factors) > 1:
        print("\ndocuments read, by factor: " + ", ".join(f"{factor:g}" for factor in factors))
        for number, query in enumerate(QUERIES):
            print(f"  {' '.join(f'{read[factor][number]:>9,}' for factor in factors)}  {query[:90]}")


def _built(session: SparkSession, data: Path, folder: Path, only: str | None) -> dict[str, TreeSet]:
    data_bytes = sum(file.stat().st_size for file in data.iterdir())
    print(f"\n{data.parent.name}: {data_bytes / 1e6:,.0f} MB of Parquet")
    print(f"{'trees':<10} {'build s':>8} {'documents':>12} {'nodes':>9} {'MB':>7} {'share':>7} {'tasks':>6}")
    found = {}
    for name in (*TREES, ADVISED):
        if only and name != only:
            continue
        start = time.perf_counter()
        configs = (
            _advised(session, data, data_bytes)
            if name == ADVISED
            else (StarTreeConfig.from_document(TREES[name]),)
        )
        advising = time.perf_counter() - start
        session.sparkContext.setJobGroup(name, name)
        store = ArtefactStore(storage_for(str(folder / name)))
        start = time.perf_counter()
        published = publish_trees(
            _with_progress(EngineTasks(SparkEngine(session)).run_tasks),
            store,
            TreeOrder("lineitem", str(data), configs, {}),
            now=datetime.now(UTC),
            created_by="benchmark",
        )
        seconds = time.perf_counter() - start
        trees = open_trees(store)
        size = sum(file.size_bytes for file in published.part.files)
        nodes = sum(len(tree.nodes) for tree in trees.trees)
        print(
            f"{name:<10} {seconds:8.1f} {trees.documents_total:12,} {nodes:9,} {size / 1e6:7.1f} "
            f"{size / data_bytes:7.2%} {_most_tasks(session, name):6}"
        )
        if name == ADVISED:
            print(f"  chosen in {advising:.1f} s:")
            for tree in trees.trees:
                skipped = ", ".join(tree.config.skip_star_node_creation_for_dimensions) or "none"
                print(
                    f"  {' > '.join(tree.config.dimensions_split_order)}; "
                    f"T = {tree.config.max_leaf_records}; "
                    f"no star for: {skipped}; {tree.documents_total:,} documents; "
                    + ", ".join(pair.name for pair in tree.config.function_column_pairs)
                )
        found[name] = trees
    return found


def _advised(session: SparkSession, data: Path, data_bytes: int) -> tuple[StarTreeConfig, ...]:
    """Return what is recommended for the queries, each asked equally often."""
    source = source_table(str(data))
    types = {field.name: field.type for field in source.schema}
    rows = sum(sum(file.row_group_rows or ()) for file in source.files)
    texts = [*QUERIES, *(query for query, _ in APPROXIMATE)]
    asked = [AskedShape(text, 100.0, 100.0 * rows, ((text, 100.0),)) for text in texts]
    shapes = answerable_shapes(asked, types, "lineitem")
    settings = Settings()
    total = sum(each.entries_scanned for each in asked)
    room = round(SPACE_RATIO * data_bytes)
    budget = Budget(MOST_TREES, settings.advice.min_gain_ratio, 0.0, storage_bytes=room)
    limits = AnswerTerms(
        total,
        settings.advice.min_gain_ratio,
        MOST_TREES,
        settings.of(StarTreeSettings).tree_gain_size_ratio * data_bytes,
    )
    sample = sample_for(SparkEngine(session), "lineitem", source, shapes)
    return recommended_trees(sample, shapes, budget, limits)


def _most_tasks(session: SparkSession, group: str) -> int:
    tracker = session.sparkContext.statusTracker()
    return max(
        stage.numTasks
        for job in tracker.getJobIdsForGroup(group)
        if (info := tracker.getJobInfo(job))
        for stage_id in info.stageIds
        if (stage := tracker.getStageInfo(stage_id))
    )


def _asked(
    trees: dict[str, TreeSet], data: Path, factor: float, runs: int, spark: SparkSession | None
) -> list[int]:
    engine = duckdb.connect()
    engine.execute("SET threads = 2")
    engine.execute(f"CREATE VIEW lineitem AS SELECT * FROM read_parquet('{data}/*.parquet')")
    if spark is not None:
        spark.read.parquet(str(data)).createOrReplaceTempView("lineitem")
    print(
        f"{'ours ms':>8} {'DuckDB':>8} {'ratio':>7} {'Spark':>8} {'ratio':>7} {'read':>9} {'of rows':>9}"
        "  query"
    )
    read = []
    for query in QUERIES:
        chosen = _fitting(trees, query)
        if chosen is None:
            print(f"{'no tree fits':>60}  {query}")
            read.append(0)
            continue
        mark = "" if chosen[1] is trees.get(ADVISED) else "(named tree) "
        answer, ours = chosen[0], _milliseconds(runs, answer_sql, chosen[1], query)
        _require_equal(answer, engine.execute(query).fetchall(), query)
        peer = _milliseconds(runs, _fetched, engine, query)
        text = ""
        if spark is not None:
            spark_ms = _milliseconds(max(runs // 2, 1), _collected, spark, query)
            text = f"{spark_ms:8.1f} {spark_ms / ours:6.0f}x"
        share = answer.documents_read / (ROWS_PER_FACTOR * factor)
        print(
            f"{ours:8.2f} {peer:8.1f} {peer / ours:6.0f}x {text:>16} {answer.documents_read:9,} "
            f"{share:9.4%}  "
            f"{mark}{query[:100]}"
        )
        read.append(answer.documents_read)
    for query, exact in APPROXIMATE:
        chosen = _fitting(trees, query)
        if chosen is None:
            continue
        ours = _milliseconds(runs, answer_sql, chosen[1], query)
        peer = _milliseconds(runs, _fetched, engine, exact)
        errors = _errors(chosen[0], engine.execute(exact).fetchall())
        print(
            f"{ours:8.2f} {peer:8.1f} {peer / ours:6.0f}x {'':>16} {chosen[0].documents_read:9,} "
            f"{'':>9}  {query}: off by at most {max(errors):.2%} of the value; stated: "
            f"{chosen[0].approximations[0].bound}"
        )
    return read


def _fitting(trees: dict[str, TreeSet], query: str) -> tuple[Answer, TreeSet] | None:
    """Return the answer of the recommended trees, or of the named tree that reads the least."""
    if ADVISED in trees and (answer := answer_sql(trees[ADVISED], query)).star_tree:
        return answer, trees[ADVISED]
    answers = [(answer_sql(each, query), each) for each in trees.values() if _fits(each, query)]
    return min(answers, key=lambda pair: pair[0].documents_read, default=None)


def _fits(trees: TreeSet, query: str) -> bool:
    columns = set(trees.trees[0].config.columns)
    return (
        all(word.strip("(),'") in columns for word in _columns(query)) and answer_sql(trees, query).star_tree
    )


def _columns(query: str) -> list[str]:
    words = query.replace("(", " ").replace(")", " ").replace(",", " ").split()
    return [word for word in words if word.startswith("l_")]


def _require_equal(answer: Answer, expected: list[tuple[Any, ...]], query: str) -> None:
    rows = [tuple(row.values()) for row in answer.table.to_pylist()]

    def comparable(found: Sequence[Sequence[Any]]) -> list[Any]:
        return sorted(
            [
                tuple(
                    round(float(v), 6) if isinstance(v, float | Decimal | int) else str(v)[:10] for v in row
                )
                for row in found
            ],
            key=str,
        )

    if comparable(rows) != comparable(expected):
        sys.exit(f"not DuckDB's answer: {query}\n{comparable(rows)[:3]}\n{comparable(expected)[:3]}")


def _errors(answer: Answer, exact: list[tuple[Any, ...]]) -> list[float]:
    keyed = {row[:-1]: float(row[-1]) for row in exact}
    rows = [tuple(row.values()) for row in answer.table.to_pylist()]
    return [abs(float(row[-1]) - keyed[row[:-1]]) / keyed[row[:-1]] for row in rows]


def _fetched(engine: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return engine.execute(query).fetchall()


def _collected(spark: SparkSession, query: str) -> list[Any]:
    return spark.sql(query).collect()


def _milliseconds(runs: int, function: Callable[..., Any], *arguments: Any) -> float:
    function(*arguments)
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        function(*arguments)
        seconds.append(time.perf_counter() - start)
    return 1000 * statistics.median(seconds)


def _generated(folder: Path, factor: float) -> Path:
    target = folder / f"s{factor:g}"
    if not (target / "lineitem").exists():
        generate_tpch(target, factor, "lineitem", parts=max(1, round(factor)))
    return target / "lineitem"


def _with_progress(run_tasks: Any) -> Any:
    def told(label: str, items: Sequence[Any], function: Any) -> list[Any]:
        if sys.stderr.isatty():
            print(f"  {label}: {len(items)} tasks", file=sys.stderr)
        return list(run_tasks(label, items, function))

    return told


def _session() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    session: SparkSession = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "4g")
        .config("spark.driver.maxResultSize", "16m")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    return session


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--factors", default="1", help="TPC-H scale factors, comma separated")
    parser.add_argument("--data", help="where generated files are kept; a temporary folder if left out")
    parser.add_argument("--runs", type=int, default=5, help="how often each answer is timed")
    parser.add_argument("--only", choices=(*TREES, ADVISED), help="only these trees")
    parser.add_argument("--without-spark", action="store_true", help="leave Spark's own answers out")
    return parser.parse_args()


if __name__ == "__main__":
    main()
