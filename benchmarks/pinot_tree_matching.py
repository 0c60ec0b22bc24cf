"""Compare the rules of Pinot's star-tree matcher with a real Apache Pinot 0.11.0: answers and reads.

Fetches Pinot with Maven (once), starts it, loads four tables of one and of three segments with one and two
star-trees, and asks each a hundred queries from a seed (filters nested to depth three, functions that trees
keep and others, groups by columns and expressions, FILTER, HAVING, ORDER BY, LIMIT) with useStarTree on and
off. It prints what was predicted against what Pinot counted, and the worst mistakes; the exit code is 1 if
fewer than 99 % are right.

A tree was used where EXPLAIN PLAN names it, or where a counter differs from that without trees.

    python benchmarks/pinot_tree_matching.py [--seed 1] [--queries 100] [--pinot-dir DIR] [--truth FOLDER]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pinot.benchmark_run import benchmark_folder
from pinot.running_pinot import CACHE, RunningPinot, pinot_jars
from pinot.tree_matching.compared import Compared, print_compared
from pinot.tree_matching.measured import Measured, measured
from pinot.tree_matching.predicted import TablePrediction
from pinot.tree_matching.queries import QueryMaker
from pinot.tree_matching.tables import METRICS, TABLES, Table, rows_of, write_csv

PINOT_VERSION = "0.11.0"
LEAST_RIGHT = 0.99


def main() -> None:
    """Load, ask, predict, print; exit code 1 if too few are right."""
    arguments = _arguments()
    start = time.monotonic()
    compared: list[Compared] = []
    with benchmark_folder() as folder:
        jars = pinot_jars(arguments.pinot_dir)
        print("starting Pinot", file=sys.stderr)
        with RunningPinot(jars, folder / "pinot", arguments.heap) as pinot:
            for table in TABLES:
                compared += _of_table(table, pinot, folder, arguments)
    right = print_compared(compared, arguments.worst)
    print(f"{time.monotonic() - start:.0f} s in all, seed {arguments.seed}.")
    if right < LEAST_RIGHT:
        sys.exit(1)


def _of_table(
    table: Table, pinot: RunningPinot, folder: Path, arguments: argparse.Namespace
) -> list[Compared]:
    print(f"loading {table.name}", file=sys.stderr)
    segments = rows_of(table, arguments.seed)
    pinot.create_table(table.schema, table.table_config)
    for number, rows in enumerate(segments):
        file = folder / f"{table.name}-{number}.csv"
        write_csv(rows, file)
        pinot.ingest_csv(table.name, file)
    pinot.wait_for_rows(table.name, sum(table.segments))
    maker = QueryMaker(table, _literals(table, segments), arguments.seed)
    dimensions = [rows.select(list(table.dimensions)) for rows in segments]
    prediction = TablePrediction(
        dimensions,
        [tree.config for tree in table.trees],
        PINOT_VERSION,
        columns=segments[0].column_names,
        raw=table.raw,
        inverted=table.inverted,
    )
    found: list[Compared] = []
    asked: dict[str, Measured] = {}
    while len(asked) < arguments.queries:
        sql = maker.query()
        if sql not in asked:
            asked[sql] = measured(pinot, sql)
            found.append(Compared(table.name, sql, asked[sql], prediction.predicted(sql)))
    if arguments.truth is not None:
        _write_truth(Path(arguments.truth), table, dimensions, asked)
    return found


def _literals(table: Table, segments: list[pa.Table]) -> dict[str, list[str]]:
    found = {}
    for name, kind in table.dimensions.items():
        values = sorted({value for rows in segments for value in rows[name].to_pylist()})
        found[name] = [str(value) if kind == "INT" else f"'{value}'" for value in values]
    return found


def _write_truth(folder: Path, table: Table, dimensions: list[pa.Table], asked: dict[str, Measured]) -> None:
    """Write the rows' dimensions and what Pinot counted, for a test."""
    folder.mkdir(parents=True, exist_ok=True)
    kind = table.name.partition("_")[0]
    for number, rows in enumerate(dimensions):
        # Of other columns too it counts which values there are; tables of the same rows share them.
        needed = [name for name in rows.column_names if name not in table.raw]
        file = folder / f"{kind}_{number}.parquet"
        pq.write_table(rows.select(needed), file, compression="zstd", compression_level=19)
    document = {
        "table": table.name,
        "pinot_version": PINOT_VERSION,
        "columns": [*table.dimensions, *METRICS],
        "segments": [f"{kind}_{number}.parquet" for number in range(len(dimensions))],
        "raw": list(table.raw),
        "inverted": list(table.inverted),
        "trees": [tree.config.to_document() for tree in table.trees],
        "queries": [each.to_document(sql) for sql, each in asked.items()],
    }
    (folder / f"{table.name}.json").write_text(json.dumps(document, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=1, help="of rows and queries")
    parser.add_argument("--queries", type=int, default=100, help="of each of the four tables")
    parser.add_argument("--worst", type=int, default=20, help="mistakes that are printed at most")
    parser.add_argument("--pinot-dir", default=CACHE, help=f"where Pinot's jars are kept ({CACHE})")
    parser.add_argument("--heap", default="2g", help="Pinot's heap")
    parser.add_argument("--truth", help="a folder to write what was measured into, as tests read it")
    return parser.parse_args()


if __name__ == "__main__":
    main()
