"""What intersecting two secondary indexes wins over the better one: AsterixDB's experiments rebuilt.

Synthetic tweets of about 800 bytes: ``create_at`` rises with the rows, ``user.create_at`` does not. Each
query has a range of minutes, one of months and an unindexed ``place``, and returns whole tweets. Prints, for
the ranges of the source's tables 1 to 3, the time of the scan, of each index alone, of both and of the
planner's choice, in one process that is warm, and how many times faster than the better single index the last
two are.

Part 2 (``intersection_choice.py``): how near the chosen plan is to the best measured one. Part 3
(``intersection_peers.py``): one conjunction in DuckDB, PostgreSQL and Spark, too.

    make bench-intersection
    make bench-intersection ARGS="--part 1 --rows 100000 --row-group-rows 500 --data tweets"
    make bench-intersection ARGS="--part 2 --rows 200000 --queries 500 --seed 2"
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from intersection_choice import print_choice
from intersection_peers import print_peers
from starskip.indexes.secondary import IndexedTable, open_table
from starskip.indexes.secondary.lifecycle import create_indexes, describe_indexes

MINUTES, MONTHS = "btree:create_at", "btree:user.create_at"
INDEXES = (MINUTES, MONTHS)
TABLES: tuple[tuple[str, Sequence[tuple[int, int]]], ...] = (
    ("table 1: months fixed, minutes grow", [(2, last) for last in (9, 19, 29, 39, 49, 59)]),
    ("table 2: minutes fixed, months grow", [(last, 9) for last in (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)]),
    (
        "table 3: both grow",
        [(2, 9), (3, 19), (4, 19), (5, 29), (6, 29), (7, 39), (8, 49), (9, 49), (10, 59)],
    ),
)
"""Pairs of the last month, from January 2010 on, and the last minute, from 17:00 on."""
_ROWS_A_FILE = 250_000
_SECONDS = 3_600
_MONTHS_IN_ALL = 72
_MESSAGE_BYTES = 700
_TIMES = 5


def write_tweets(folder: Path, rows: int, row_group_rows: int) -> None:
    """Write tweets of one hour, in the order of their time."""
    random = np.random.default_rng(2015)
    start = np.datetime64("2015-11-23T17:00:00", "us")
    for number, first in enumerate(range(0, rows, _ROWS_A_FILE)):
        count = min(_ROWS_A_FILE, rows - first)
        at = (np.arange(first, first + count) * (_SECONDS * 1_000_000 / rows)).astype("timedelta64[us]")
        joined = np.datetime64("2010-01-01") + random.integers(0, _MONTHS_IN_ALL * 30, count)
        letters = random.integers(97, 123, (count, _MESSAGE_BYTES), np.uint8)
        offsets = np.arange(count + 1, dtype=np.int32) * _MESSAGE_BYTES
        misc = pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(letters.tobytes()))
        user = pa.StructArray.from_arrays(
            [pa.array(random.integers(0, 1 << 40, count)), pa.array(joined)], ["id", "create_at"]
        )
        place = np.array(["United States", "Canada", "Brazil", "Japan"])[random.integers(0, 4, count)]
        tweets = pa.table(
            {
                "id": np.arange(first, first + count),
                "create_at": start + at,
                "user": user,
                "place": place,
                "misc": misc,
            }
        )
        path = folder / f"{number:03}.parquet"
        pq.write_table(tweets, path, row_group_size=row_group_rows)
        os.utime(path, (1_700_000_000, 1_700_000_000))


def condition(last_month: int, last_minute: int) -> str:
    """Return the source's WHERE for its ranges."""
    return (
        f"user.create_at >= '2010-01-01' AND user.create_at < '2010-{last_month:02}-28' "
        f"AND create_at >= '2015-11-23 17:00:00' AND create_at < '2015-11-23 17:{last_minute:02}:03' "
        "AND place = 'United States'"
    )


def best_ms(table: IndexedTable, where: str, path: Sequence[str]) -> tuple[float, int, Sequence[str]]:
    """Return the mean of the last runs, as the source measures, the rows, and the path that was taken."""
    times = []
    for _ in range(2 * _TIMES):
        began = perf_counter()
        answer = table.answer(where, path=path)
        times.append((perf_counter() - began) * 1000)
    return float(np.mean(times[_TIMES:])), answer.count, answer.stats["path"]


def print_tables(table: IndexedTable) -> None:
    """Print each row of the tables."""
    for title, ranges in TABLES:
        print(f"\n{title}")
        print(
            "    rows  months minutes     scan   minutes    months      both    chosen  both×  chosen×  path"
        )
        for last_month, last_minute in ranges:
            where = condition(last_month, last_minute)
            scan, rows, _ = best_ms(table, where, ["scan"])
            minutes, *_ = best_ms(table, where, [MINUTES])
            months, *_ = best_ms(table, where, [MONTHS])
            both, *_ = best_ms(table, where, INDEXES)
            chosen, _, path = best_ms(table, where, [])
            single = min(minutes, months)
            print(
                f"{rows:8,} 01–{last_month:02}  00–{last_minute:02} {scan:10.1f} {minutes:9.1f} {months:9.1f}"
                f" {both:9.1f} {chosen:9.1f} {single / both:6.2f} {single / chosen:8.2f}  {' ∩ '.join(path)}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", type=int, choices=(1, 2, 3), default=1)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--row-group-rows", type=int, default=1_000)
    parser.add_argument("--queries", type=int, default=100, help="of part 2")
    parser.add_argument("--seed", type=int, default=1, help="of part 2")
    parser.add_argument("--data", type=Path, help="keeps the tweets, or finds them there")
    arguments = parser.parse_args()
    with TemporaryDirectory() as made:
        folder = arguments.data or Path(made)
        if arguments.part == 2:
            print_choice(folder, arguments.rows, arguments.row_group_rows, arguments.queries, arguments.seed)
            return
        if arguments.part == 3:
            print_peers(folder, arguments.rows, arguments.row_group_rows)
            return
        if not list(folder.glob("*.parquet")):
            folder.mkdir(parents=True, exist_ok=True)
            write_tweets(folder, arguments.rows, arguments.row_group_rows)
        began = perf_counter()
        create_indexes(str(folder), INDEXES)
        described = describe_indexes(str(folder))
        print(f"{described['rows']:,} tweets, {described['files_bytes'] / 1e6:,.0f} MB, in row groups")
        print(f"indexed in {perf_counter() - began:.1f} s: {described['metadata_bytes'] / 1e6:,.1f} MB")
        print_tables(open_table(str(folder)))


if __name__ == "__main__":
    main()
