"""Conjunctions of a time range, a box and a piece of text, on the same rows in several systems.

Ours without Spark and warm, DuckDB over the same Parquet files, PostgreSQL with a bitmap AND of three b-trees
and a trigram index, Lance on files of its own with b-trees and an n-gram index, and Spark: plain, with
skipping indexes, and with secondary ones too. Each system answers 20 questions of 1 to 1,000 rows once, and
its rows must be DuckDB's; then it answers them a few times, in turn, which is what is timed.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from time import perf_counter

import duckdb
import numpy as np
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
from intersection_events import Question, questions, write_events
from intersection_verdict import WrongRows, print_verdict
from starskip.secondary import open_table
from starskip.secondary.lifecycle import create_indexes, describe_indexes

INDEXES = ("btree:ts", "rtree:lat,lng", "ngram:message")
PEERS = ("postgres", "lance", "spark")
_LANCE = "14.0.2"
_CACHE = Path("~/.cache/starskip/intersection-peers")
_QUESTIONS = 20
_TIMES = 10
_DUCKDB_TIMES = 3
_SPARK_TIMES = 2
_AIM_MS, _AIM_SHARE = 50.0, 0.01
_POSTGRES = Path("/usr/lib/postgresql")
_NO_POSTGRES = (
    "PostgreSQL is not here (Debian, Ubuntu: apt-get install postgresql); --without postgres leaves it out"
)
Ask = Callable[[Question], Sequence[int]]


class NoPeer(Exception):
    """A peer is not here, or does not do what it is asked for."""


@dataclass(frozen=True, slots=True)
class Timed:
    """The cost of a system: ms of all questions, each asked some times, and a word on its indexes."""

    name: str
    ms: Sequence[float]
    rest: str = ""

    @property
    def p50(self) -> float:
        """The median."""
        return float(np.median(self.ms))


def check_peers(without: Sequence[str]) -> None:
    """Raise NoPeer if one that is not left out is absent; fetch Lance, once."""
    if "postgres" not in without and _postgres_programs() is None:
        raise NoPeer(_NO_POSTGRES)
    if "lance" not in without:
        _lance_python()


def print_peers(
    folder: Path, rows: int, row_group_rows: int, page_bytes: int, without: Sequence[str]
) -> None:
    """Build, ask and print; raises WrongRows if a system's rows are not DuckDB's."""
    place = folder / f"events-{rows}"
    shutil.rmtree(place, ignore_errors=True)
    write_events(place, rows, row_group_rows, page_bytes=page_bytes)
    asked = questions(place, _QUESTIONS)
    hits = [len(each.ids) for each in asked]
    print(f"{rows:,} rows, row groups of {row_group_rows:,}, pages of {page_bytes:,} bytes;", end=" ")
    print(f"{len(asked)} questions of", end=" ")
    print(f"{min(hits):,} to {max(hits):,} rows, such as {asked[0].where}")
    print(f"{'':<34}{'p50':>10}{'p95':>10}")
    ours, shares = _ours(place, asked)
    peers = [_duckdb(place, asked)]
    if "postgres" not in without:
        peers.append(_postgres(place, asked))
    if "lance" not in without:
        peers.append(_lance(place, asked))
    if "spark" not in without:
        peers.extend(_spark(place, asked))
    print(f"all rows are equal: those of DuckDB, {sum(hits):,} in {len(asked)} questions")
    for peer in peers:
        print(f"  Starskip's p50 is {peer.p50 / ours.p50:.2f} times as fast as that of {peer.name}")
    print_verdict(f"p50 {ours.p50:.1f} ms, warm", f"below {_AIM_MS:.0f} ms", is_reached=ours.p50 < _AIM_MS)
    found = f"{np.median(shares):.2%} of the bytes in the median, {max(shares):.2%} at most"
    print_verdict(found, f"less than {_AIM_SHARE:.0%} in all", is_reached=max(shares) < _AIM_SHARE)


def _told(found: Timed) -> Timed:
    p95 = float(np.quantile(found.ms, 0.95))
    print(f"{found.name:<34}{found.p50:>7.1f} ms{p95:>7.1f} ms  {found.rest}", flush=True)
    return found


def _same(name: str, question: Question, ids: Sequence[int]) -> None:
    if sorted(ids) != list(question.ids):
        raise WrongRows(f"{name} gives {len(ids)} rows, DuckDB {len(question.ids)}: {question.where}")


def _asked(name: str, ask: Ask, asked: Sequence[Question], times: int) -> list[float]:
    """Return how long a system takes for each question, after a first time whose rows are compared."""
    for question in asked:
        _same(name, question, ask(question))
    taken = []
    for _ in range(times):
        for question in asked:
            began = perf_counter()
            ask(question)
            taken.append((perf_counter() - began) * 1000)
    return taken


def _mb(size: float) -> str:
    return f"{size / 1e6:,.0f} MB"


def _ours(folder: Path, asked: Sequence[Question]) -> tuple[Timed, list[float]]:
    name = "Starskip, warm, without Spark"
    began = perf_counter()
    create_indexes(str(folder), INDEXES)
    built = perf_counter() - began
    sizes = describe_indexes(str(folder))
    table = open_table(str(folder))

    def ask(question: Question) -> Sequence[int]:
        ids: list[int] = table.query(question.where, ["id"])["id"].to_pylist()
        return ids

    taken = _asked(name, ask, asked, _TIMES)
    stats = [table.answer(question.where, ["id"]).stats for question in asked]
    shares = [each["bytes_read"] / each["bytes_total"] for each in stats]
    paths = sorted({" ∩ ".join(each["path"]) for each in stats})
    rest = (
        f"indexes {_mb(sizes['metadata_bytes'])} beside {_mb(sizes['files_bytes'])}, in {built:.0f} s;"
        f" {np.median(shares):.2%} of the bytes; {'; '.join(paths)}"
    )
    return _told(Timed(name, taken, rest)), shares


def _duckdb(folder: Path, asked: Sequence[Question]) -> Timed:
    name = "DuckDB, the same Parquet"
    database = duckdb.connect()

    def ask(question: Question) -> Sequence[int]:
        sql = f"SELECT id FROM read_parquet('{folder}/*.parquet') WHERE {question.where}"
        return [row[0] for row in database.sql(sql).fetchall()]

    return _told(Timed(name, _asked(name, ask, asked, _DUCKDB_TIMES)))


def _postgres_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, the newest ones that are installed."""
    found = sorted(_POSTGRES.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    initdb = found[-1] if found else which("initdb")
    return Path(initdb).parent if initdb else None


def _postgres(folder: Path, asked: Sequence[Question]) -> Timed:
    import psycopg2

    name = "PostgreSQL, bitmap AND"
    programs = _postgres_programs()
    if programs is None:
        raise NoPeer(_NO_POSTGRES)
    user = ["runuser", "-u", "postgres", "--"] if os.getuid() == 0 else []
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        data = Path(place, "data")

        def run(*command: object) -> None:
            told = subprocess.run(
                list(map(str, [*user, *command])), capture_output=True, text=True, cwd=place
            )
            if told.returncode:
                raise NoPeer(f"PostgreSQL: {told.stderr.strip()[-500:]}")

        run(programs / "initdb", "-D", data, "-A", "trust", "-U", "postgres")
        options = (
            f"-k {place} -c listen_addresses='' -c shared_buffers=2GB -c maintenance_work_mem=512MB"
            " -c fsync=off -c jit=off"
        )
        # Its messages go to a file: a server that outlives the command would hold the pipe open.
        run(programs / "pg_ctl", "-D", data, "-w", "-l", Path(place, "log"), "-o", options, "start")
        try:
            session = psycopg2.connect(host=place, user="postgres", dbname="postgres")
            session.autocommit = True
            cursor = session.cursor()
            cursor.execute("CREATE EXTENSION pg_trgm")
            cursor.execute("CREATE TABLE e (id bigint, ts timestamp, lat float8, lng float8, message text)")
            for file in sorted(folder.glob("*.parquet")):
                rows = Path(place, "rows.csv")
                pa_csv.write_csv(pq.read_table(file), rows)
                with rows.open() as opened:
                    cursor.copy_expert("COPY e FROM STDIN CSV HEADER", opened)
                rows.unlink()
            began = perf_counter()
            for index in ("btree (ts)", "btree (lat)", "btree (lng)", "gin (message gin_trgm_ops)"):
                cursor.execute(f"CREATE INDEX ON e USING {index}")
            built = perf_counter() - began
            cursor.execute("VACUUM ANALYZE e")
            cursor.execute("SELECT pg_indexes_size('e'), pg_relation_size('e')")
            indexes, size = cursor.fetchone()

            def ask(question: Question) -> Sequence[int]:
                cursor.execute(f"SELECT id FROM e WHERE {question.where}")
                return [row[0] for row in cursor.fetchall()]

            taken = _asked(name, ask, asked, _TIMES)
            cursor.execute(f"EXPLAIN SELECT id FROM e WHERE {asked[0].where}")
            is_and = any("BitmapAnd" in row[0] for row in cursor.fetchall())
            session.close()
        finally:
            run(programs / "pg_ctl", "-D", data, "-m", "fast", "stop")
    rest = f"indexes {_mb(indexes)} beside {_mb(size)}, in {built:.0f} s"
    return _told(Timed(name, taken, f"{rest}; its plan of the first {'ands' if is_and else 'does not and'}"))


def _lance_python() -> Path:
    """Return the interpreter of an environment that has Lance, made in the user's cache, once."""
    folder = _CACHE.expanduser() / f"lance-{_LANCE}"
    made = folder / "made"
    python = folder / "bin" / "python"
    if not made.exists():
        print(f"Fetching Lance {_LANCE} with uv, once: 450 MB in {folder}", file=sys.stderr)
        uv = str(Path(sys.executable).with_name("uv"))
        shutil.rmtree(folder, ignore_errors=True)
        for command in (
            [uv, "venv", "--quiet", "--python", sys.executable, str(folder)],
            [uv, "pip", "install", "--quiet", "--python", str(python), f"pylance=={_LANCE}"],
        ):
            try:
                told = subprocess.run(command, capture_output=True, text=True)
            except OSError as error:
                raise NoPeer(f"uv is not here: {error}; --without lance leaves Lance out") from error
            if told.returncode:
                raise NoPeer(
                    f"Lance cannot be fetched: {told.stderr.strip()[-500:]}; --without lance leaves it out"
                )
        made.touch()
    return python


def _lance(folder: Path, asked: Sequence[Question]) -> Timed:
    name = f"Lance {_LANCE}, its own files"
    with tempfile.TemporaryDirectory() as scratch:
        answer = Path(scratch, "answer.json")
        order = {
            "files": [str(path) for path in sorted(folder.glob("*.parquet"))],
            "place": str(Path(scratch, "events.lance")),
            "questions": [f"{each.rest} AND contains(message, '{each.word}')" for each in asked],
            "times": _TIMES,
            "answer": str(answer),
        }
        told = subprocess.run(
            [str(_lance_python()), str(Path(__file__).with_name("intersection_lance.py"))],
            input=json.dumps(order),
            text=True,
            stdout=subprocess.DEVNULL,
        )
        if told.returncode:
            raise NoPeer(f"Lance: the process ended with exit code {told.returncode}")
        found = json.loads(answer.read_text(encoding="utf-8"))
    for question, ids in zip(asked, found["ids"], strict=True):
        _same(name, question, ids)
    rest = (
        f"indexes {_mb(found['index_bytes'])} beside {_mb(found['data_bytes'])}, in {found['build_s']:.0f} s"
        f" after {found['write_s']:.0f} s; {'uses' if found['uses_indexes'] else 'does not use'} its indexes"
    )
    return _told(Timed(name, found["ms"], rest))


def _spark(folder: Path, asked: Sequence[Question]) -> list[Timed]:
    from intersection_spark import small_session
    from starskip.spark import skipping

    with small_session() as spark:

        def ask(question: Question) -> Sequence[int]:
            where = question.where.replace("TIMESTAMP '", "TIMESTAMP_NTZ '")
            return [row[0] for row in spark.read.parquet(str(folder)).where(where).select("id").collect()]

        def timed(name: str, *, is_plain: bool = False) -> Timed:
            taken = _asked(name, ask, asked, _SPARK_TIMES)
            if is_plain:
                return _told(Timed(name, taken))
            stats = skipping.last_query_stats(spark)[0]
            files = f"{stats['files_read']} of {stats['files_total']} files for the last question"
            return _told(Timed(name, taken, files))

        found = [timed("Spark, plain", is_plain=True)]
        with tempfile.TemporaryDirectory() as root:
            skipping.create(spark, str(folder), ["minmax:ts", "minmax:lat", "minmax:lng"], metadata_root=root)
            skipping.enable(spark, root)
            found.append(timed("Spark, skipping indexes"))
            skipping.disable(spark)
        skipping.enable(spark)
        found.append(timed("Spark, secondary indexes"))
        skipping.disable(spark)
    return found
