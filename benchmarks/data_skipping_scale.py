"""Cost of planning with data skipping as tables grow: 1,000, 100,000 and 1,000,000 files.

The listings are made up, since no such table is at hand: the files are not there, Spark plans over their
names, sizes and times, and never reads. The metadata is real, written by Starskip's own refresh (min/max of
ten columns). Printed for each size, in milliseconds the least of some warm runs, plain Spark and ours in
turn: planning in all (from the text of a query to the splits of its scan), the rule alone (by Spark's own
count) where no index applies and where one does; a condition of ten clauses over the metadata, warm and with
reading the columns; a refresh after 100 files changed, and what it wrote; memory. The aims stand beside.

    python benchmarks/data_skipping_scale.py [--files 1000,100000,1000000] [--runs 5]
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from skipping.made_up_table import MadeUpTable, Numbers, planned
from starskip.file_metadata.column_cache import ColumnCache
from starskip.file_metadata.open_metadata import open_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.predicates.expression import Call, Column, Literal
from starskip.skipping.build_clause import build_clause
from starskip.skipping.clause import Clause
from starskip.spark import skipping

COLUMNS = tuple(f"c{number}" for number in range(10))
VALUES = 1_000_000_000
ROWS = 100_000
FILE_BYTES = 100_000_000
CHANGED = 100
RULE_AIM_MS = 5
PLANNING_AIM_MS = 50
WARM_AIM_MS = 15
COLD_AIM_MS = 250


def main() -> None:
    """Measure each size and print a table of it."""
    arguments = _arguments()
    sys.stdout.reconfigure(line_buffering=True)
    with tempfile.TemporaryDirectory(prefix="starskip-") as made:
        spark = _session(made)
        for number, text in enumerate(arguments.files.split(",")):
            _print_size(spark, int(text), Path(made) / f"t{number}", arguments.runs)
        spark.stop()


def _print_size(spark: SparkSession, files: int, folder: Path, runs: int) -> None:
    root, metadata_root = folder / "table", str(folder / "metadata")
    root.mkdir(parents=True)
    table = MadeUpTable(
        str(root),
        [""] * files,
        np.full(files, FILE_BYTES, np.int64),
        ", ".join(f"{column} BIGINT" for column in (*COLUMNS, "unindexed", "value")),
        ROWS,
        _bounds(files),
    )
    print(f"\n{files:,} files (a made-up listing; real metadata: min/max of {len(COLUMNS)} columns)")
    relation, listed_ms = _timed(lambda: table.relation(spark))
    table.view(spark, relation, "made_up")
    _, created_ms = _timed(
        lambda: table.refresh(relation, metadata_root, [f"minmax:{column}" for column in COLUMNS])
    )
    stored = _stored_bytes(table.location(metadata_root))
    print(
        f"  metadata written in {created_ms / 1000:.1f} s, {stored / 1e6:.1f} MB; "
        f"listing made in {listed_ms / 1000:.1f} s"
    )
    before = _resident_bytes()
    _print_planning(spark, files, metadata_root, runs)
    grown = _resident_bytes() - before
    _print_clauses(table.location(metadata_root), files, runs)
    _print_refresh(table, relation, metadata_root)
    _print_memory(spark, table.location(metadata_root), grown / files)


def _bounds(files: int) -> Callable[[str, Numbers], tuple[pa.Array, pa.Array]]:
    """``c0`` is sorted and its ranges lie side by side; ranges of the others lie anywhere, 1 % wide."""

    def bounds(column: str, numbers: Numbers) -> tuple[pa.Array, pa.Array]:
        if column == "c0":
            width = VALUES // files
            return pa.array(numbers * width), pa.array(numbers * width + width - 1)
        random = np.random.default_rng(int(column[1:]))
        scattered = random.integers(0, VALUES, files)[numbers]
        return pa.array(scattered), pa.array(scattered + VALUES // 100)

    return bounds


def _print_planning(spark: SparkSession, files: int, metadata_root: str, runs: int) -> None:
    width = VALUES // files
    queries = {
        "no metadata for the table": "SELECT value FROM made_up WHERE c0 = 5",
        "no index of the column": "SELECT value FROM made_up WHERE unindexed = 5",
        "1 file is left": f"SELECT value FROM made_up WHERE c0 = {files // 2 * width + width // 2}",
        "1 % are left": f"SELECT value FROM made_up WHERE c0 < {VALUES // 100}",
        "half are left": f"SELECT value FROM made_up WHERE c0 < {VALUES // 2}",
        "ten clauses, 3 % are left": "SELECT value FROM made_up WHERE "
        + " AND ".join(f"{column} < {VALUES * 7 // 10}" for column in COLUMNS),
    }
    print(
        f"  {'planning, ms':<28} {'files left':>10} {'plain':>8} {'ours':>8} {'ours-plain':>10} {'(aim)':>6} "
        f"{'the rule':>9} {'(aim)':>6} {'first':>8}"
    )
    for name, sql in queries.items():
        plain, ours, rule = [], [], []
        root = f"{metadata_root}-none" if name.startswith("no metadata") else metadata_root
        for run in range(1 + runs):
            skipping.disable(spark)
            if run:
                _plan(spark, sql)
            _collect_garbage(spark)
            plain.append(_plan(spark, sql)[1])
            skipping.enable(spark, metadata_root=root)
            if run:
                # enable() forgets which tables have metadata; a session that goes on knows.
                _plan(spark, sql)
            _collect_garbage(spark)
            query, milliseconds = _plan(spark, sql)
            ours.append(milliseconds)
            rule.append(_rule_ms(query))
        left = planned(query)[0]
        skipping.disable(spark)
        plain_ms, ours_ms = min(plain[1:]), min(ours[1:])
        aim = f"<={RULE_AIM_MS}" if name.startswith("no ") else ""
        print(
            f"  {name:<28} {left:>10,} {plain_ms:>8.0f} {ours_ms:>8.0f} {ours_ms - plain_ms:>10.0f} "
            f"{f'<={PLANNING_AIM_MS}':>6} {min(rule[1:]):>9.1f} {aim:>6} {ours[0]:>8.0f}"
        )


def _plan(spark: SparkSession, sql: str) -> tuple[Any, float]:
    """Return the query and the time from its text to the splits of its scan."""
    start = time.perf_counter()
    query = spark.sql(sql)
    query._jdf.queryExecution().toRdd().getNumPartitions()
    return query, (time.perf_counter() - start) * 1000


def _collect_garbage(spark: SparkSession) -> None:
    """A plan of a million files leaves hundreds of MB behind, which is not to count to the next one."""
    gc.collect()
    jvm: Any = spark.sparkContext._jvm
    jvm.System.gc()


def _rule_ms(query: Any) -> float:
    """Return how long Spark says that our rule took."""
    rules = query._jdf.queryExecution().tracker().rules()
    names = rules.keys().toSeq()
    own = [
        name
        for name in (str(names.apply(at)) for at in range(names.size()))
        if name.startswith("org.apache.spark.sql.catalyst.rules.Rule_")
    ]
    return sum(rules.apply(name).totalTimeNs() for name in own) / 1e6


def _print_clauses(location: str, files: int, runs: int) -> None:
    predicates = [
        Call("LessThan", (Column((column,), "bigint"), Literal(pa.scalar(VALUES * 7 // 10))))
        for column in COLUMNS
    ]

    def fresh() -> tuple[TableMetadata, Clause]:
        opened = open_metadata(location)
        assert opened is not None
        metadata = TableMetadata(
            opened.store, opened.version, opened.state, opened.indexes, ColumnCache(1 << 30)
        )
        clause = build_clause(metadata.indexes, predicates)
        assert clause is not None
        return metadata, clause

    def reading() -> None:
        metadata, clause = fresh()
        metadata.may_match(clause)

    cold = [_timed(reading)[1] for _ in range(1 + runs)]
    metadata, clause = fresh()
    warm = [_timed(lambda: metadata.may_match(clause))[1] for _ in range(2 + runs)]
    left = int(np.count_nonzero(metadata.may_match(clause)))
    print(
        f"  ten clauses over {files:,} rows of metadata: {min(warm[2:]):.1f} ms warm "
        f"(aim at 1M: {WARM_AIM_MS}), {min(cold[1:]):.0f} ms with opening and reading the columns "
        f"(aim at 1M: {COLD_AIM_MS}); {left:,} files left"
    )


def _print_refresh(table: MadeUpTable, relation: Any, metadata_root: str) -> None:
    location = table.location(metadata_root)
    before = _stored_bytes(location)
    _change(table)
    refreshed, listing_ms, own_ms = table.timed_refresh(relation, metadata_root)
    written = _stored_bytes(location) - before
    _change(table)
    _, _, again_ms = table.timed_refresh(relation, metadata_root)
    _, _, nothing_ms = table.timed_refresh(relation, metadata_root)
    print(
        f"  refresh after {refreshed.collected_files} files changed: {own_ms:.0f} ms, the next one "
        f"{again_ms:.0f} ms, of nothing {nothing_ms:.0f} ms; {written / 1e3:,.0f} kB written "
        f"(aim: no more with more files).\n"
        f"    Comparing the listing with the metadata is in it, the making of this made-up listing, "
        f"{listing_ms:.0f} ms, is not"
    )


def _change(table: MadeUpTable) -> None:
    table.modified_ms[:: len(table.sizes) // CHANGED] += 1000


def _print_memory(spark: SparkSession, location: str, grown_bytes: float) -> None:
    metadata = open_metadata(location)
    assert metadata is not None
    held = metadata.paths.nbytes + metadata.sizes.nbytes + metadata.modified_ms.nbytes
    columns = sum(
        metadata.column(f"minmax:{column}", name).nbytes
        for column in COLUMNS
        for name in ("min", "max", "values")
    )
    jvm: Any = spark.sparkContext._jvm
    runtime = jvm.java.lang.Runtime.getRuntime()
    jvm.System.gc()
    heap = runtime.totalMemory() - runtime.freeMemory()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(
        f"  memory: planning made this process grow by {grown_bytes:,.0f} bytes a file; metadata's files "
        f"{held / 1e6:.1f} MB, its columns {columns / 1e6:.1f} MB;\n    this process at most "
        f"{peak / 1e6:,.0f} MB so far, Spark's heap {heap / 1e6:,.0f} MB (its listing is most of it)"
    )


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def _stored_bytes(location: str) -> int:
    return sum(file.stat().st_size for file in Path(location).rglob("*") if file.is_file())


def _timed(function: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    found = function()
    return found, (time.perf_counter() - start) * 1000


def _session(folder: str) -> SparkSession:
    session: SparkSession = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "6g")
        .config("spark.driver.maxResultSize", "16m")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.sql.warehouse.dir", f"{folder}/warehouse")
        .getOrCreate()
    )
    return session


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", default="1000,100000,1000000", help="numbers of files, comma separated")
    parser.add_argument("--runs", type=int, default=5, help="how often each is timed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
