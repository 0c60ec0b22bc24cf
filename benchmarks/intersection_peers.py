"""One conjunction of a time range, a box and a piece of text, on the same rows in several systems.

Ours without Spark and warm, DuckDB over the same Parquet files, PostgreSQL with a bitmap AND of a b-tree, two
more for the box and a trigram index, and Spark: plain, with skipping indexes, and with secondary ones too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from shutil import which
from time import perf_counter

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from starskip.indexes.secondary import open_table
from starskip.indexes.secondary.lifecycle import create_indexes, describe_indexes

_WORDS = 4_000
_ROWS_A_FILE = 250_000
_TIMES = 20
_SPARK_TIMES = 5
INDEXES = ("btree:ts", "rtree:lat,lng", "ngram:message")


def write_events(folder: Path, rows: int, row_group_rows: int) -> None:
    """Write events of 30 days in the order of their time, at random places, with six random words each."""
    random = np.random.default_rng(20261123)
    words = np.array(
        ["".join(map(chr, random.integers(97, 123, random.integers(4, 9)))) for _ in range(_WORDS)]
    )
    folder.mkdir(parents=True, exist_ok=True)
    start = np.datetime64("2026-10-24", "us")
    for number, first in enumerate(range(0, rows, _ROWS_A_FILE)):
        count = min(_ROWS_A_FILE, rows - first)
        seconds = np.arange(first, first + count) * (30 * 86_400 / rows)
        picked = words[random.integers(0, _WORDS, (count, 6))]
        table = pa.table(
            {
                "id": np.arange(first, first + count),
                "ts": start + (seconds * 1e6).astype("timedelta64[us]"),
                "lat": random.uniform(-60, 60, count),
                "lng": random.uniform(-180, 180, count),
                "message": [" ".join(row) for row in picked.tolist()],
            }
        )
        path = folder / f"{number:03}.parquet"
        pq.write_table(table, path, row_group_size=row_group_rows, write_page_index=True)
        os.utime(path, (1_700_000_000, 1_700_000_000))


def question(folder: Path) -> str:
    """Return a WHERE that some hundred rows satisfy, for a word of the first row."""
    word = pq.read_table(folder / "000.parquet", columns=["message"])["message"][0].as_py().split()[0]
    return (
        "ts >= TIMESTAMP '2026-10-28 00:00:00' AND ts < TIMESTAMP '2026-11-12 00:00:00'"
        " AND lat >= 0 AND lat <= 40 AND lng >= 0 AND lng <= 120"
        f" AND message LIKE '%{word}%'"
    )


def median_ms(ask: Callable[[], int], times: int) -> tuple[float, int]:
    """Return the median time after a first run, and the rows."""
    rows = ask()
    taken = []
    for _ in range(times):
        began = perf_counter()
        ask()
        taken.append((perf_counter() - began) * 1000)
    return float(np.median(taken)), rows


def told(name: str, ms: float, rows: int, rest: str = "") -> None:
    """Print a line."""
    print(f"{name:<36}{ms:>10.1f} ms{rows:>8,} rows  {rest}", flush=True)


def print_peers(folder: Path, rows: int, row_group_rows: int) -> None:
    """Build, ask and print."""
    write_events(folder, rows, row_group_rows)
    where = question(folder)
    print(f"{rows:,} rows, row groups of {row_group_rows:,}: {where}")
    _ours(folder, where)
    _duckdb(folder, where)
    if which("initdb") or list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        _postgres(folder, where)
    else:
        print("PostgreSQL: not here")
    _spark(folder, where)


def _ours(folder: Path, where: str) -> None:
    began = perf_counter()
    create_indexes(str(folder), INDEXES)
    built = perf_counter() - began
    sizes = describe_indexes(str(folder))
    table = open_table(str(folder))
    answer = table.answer(where, ["id"])
    ms, found = median_ms(lambda: table.answer(where, ["id"]).count, _TIMES)
    stats = answer.stats
    read = stats["bytes_read"] / stats["bytes_total"]
    groups = f"{stats['row_groups_read']} of {stats['row_groups_total']} row groups"
    size, data = sizes["metadata_bytes"] / 1e6, sizes["files_bytes"] / 1e6
    rest = (
        f"{read:.2%} of the bytes, {groups}; indexes {size:,.0f} MB beside {data:,.0f} MB, in {built:.0f} s"
    )
    told("Starskip, warm, without Spark", ms, found, f"{' ∩ '.join(stats['path'])}; {rest}")


def _duckdb(folder: Path, where: str) -> None:
    database = duckdb.connect()
    sql = f"SELECT id FROM read_parquet('{folder}/*.parquet') WHERE {where}"
    told("DuckDB, the same Parquet", *median_ms(lambda: len(database.sql(sql).fetchall()), _TIMES))


def _postgres(folder: Path, where: str) -> None:
    import psycopg2

    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    programs = found[-1].parent if found else Path(str(which("initdb"))).parent
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        data = Path(place, "data")
        run = {"check": True, "capture_output": True, "cwd": place}
        subprocess.run([*user, programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres"], **run)
        options = f"-k {place} -c listen_addresses='' -c shared_buffers=2GB -c fsync=off -c jit=off"
        start = [*user, programs / "pg_ctl", "-D", data, "-w", "-l", Path(place, "log"), "-o", options]
        subprocess.run([*start, "start"], **run)
        try:
            session = psycopg2.connect(host=place, user="postgres", dbname="postgres")
            session.autocommit = True
            cursor = session.cursor()
            cursor.execute("CREATE EXTENSION pg_trgm")
            cursor.execute("CREATE TABLE e (id bigint, ts timestamp, lat float8, lng float8, message text)")
            rows = Path(place, "rows.csv")
            pa_csv.write_csv(pq.read_table(folder), rows)
            with rows.open() as file:
                cursor.copy_expert("COPY e FROM STDIN CSV HEADER", file)
            rows.unlink()
            began = perf_counter()
            for index in ("btree (ts)", "btree (lat)", "btree (lng)", "gin (message gin_trgm_ops)"):
                cursor.execute(f"CREATE INDEX ON e USING {index}")
            built = perf_counter() - began
            cursor.execute("ANALYZE e")
            cursor.execute("SELECT pg_indexes_size('e'), pg_relation_size('e')")
            indexes, size = cursor.fetchone()

            def ask() -> int:
                cursor.execute(f"SELECT id FROM e WHERE {where}")
                return len(cursor.fetchall())

            ms, count = median_ms(ask, _TIMES)
            rest = f"indexes {indexes / 1e6:,.0f} MB beside {size / 1e6:,.0f} MB, in {built:.0f} s"
            told("PostgreSQL, bitmap AND", ms, count, rest)
            session.close()
        finally:
            subprocess.run([*user, programs / "pg_ctl", "-D", data, "-m", "fast", "stop"], **run)


def _spark(folder: Path, where: str) -> None:
    from pyspark.sql import SparkSession
    from starskip.spark import skipping

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "1g")
        .config("spark.driver.maxResultSize", "16m")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    of_spark = where.replace("TIMESTAMP '", "TIMESTAMP_NTZ '")

    def ask() -> int:
        return len(spark.read.parquet(str(folder)).where(of_spark).select("id").collect())

    told("Spark, plain", *median_ms(ask, _SPARK_TIMES))
    with tempfile.TemporaryDirectory() as root:
        skipping.create(spark, str(folder), ["minmax:ts", "minmax:lat", "minmax:lng"], metadata_root=root)
        skipping.enable(spark, root)
        ms, rows = median_ms(ask, _SPARK_TIMES)
        stats = skipping.last_query_stats(spark)[0]
        told("Spark, skipping indexes", ms, rows, f"{stats['files_read']} of {stats['files_total']} files")
        skipping.disable(spark)
    skipping.enable(spark)
    ms, rows = median_ms(ask, _SPARK_TIMES)
    stats = skipping.last_query_stats(spark)[0]
    told("Spark, secondary indexes", ms, rows, f"{stats['files_read']} of {stats['files_total']} files")
    spark.stop()
