"""Time and memory of a log from file to votes on Spark, as its records grow.

Writes logs of 10 thousand, 100 thousand and 1 million records: the sample's queries with other literals
and more shapes, as one plain file each. For each size the stages collect_segment_metadata,
parse_query_logs and score_votes run in one session (local[2], driver 1 GiB, results of at most 16 MiB).
The peer, in the same session: Spark's own text reader and regexp_extract on the same file, which only
cuts out table, entries and query and sums the entries by table, without parsing any SQL.

Then logs of 1,000 to 1 million distinct shapes (many_shapes.py): ``starskip tune``, in one process, with the
same peer on the same file.

    python benchmarks/tuner.py [--records 10000,100000,1000000] [--shapes 1000,10000,100000,1000000]
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import psutil
from many_shapes import ManyShapes
from pyspark.sql import SparkSession, functions
from starskip.advisor.run.night import Night
from starskip.night.collect_segment_metadata import collect_segment_metadata
from starskip.night.parse_query_logs import parse_query_logs
from starskip.night.score_votes import score_votes
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split
from starskip.settings import Settings
from starskip.spark.spark_engine import SparkEngine
from starskip.sql.normalize_sql import SLOT, normalize_sql
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.files.log_files import log_files
from starskip.storage.storage_for import storage_for

SAMPLE = Path(__file__).parent.parent / "include" / "sample"
LINE = (
    "2026/11/18 {clock}.{ms:03d} INFO [BaseBrokerRequestHandler] [jersey-server-managed-async-executor-3] "
    "requestId={id},table={table},timeMs={latency},docs={docs}/{total},entries={entries}/{post},"
    "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
    "4/4/{matched}/0/0/0/0,consumingFreshnessTimeMs=0,servers=1/1,groupLimitReached=false,brokerReduceTimeMs=0,"
    "exceptions=0,serverStats=(Server=SubmitDelayMs,ResponseDelayMs,ResponseSize,DeserializationTimeMs,"
    "RequestSentDelayMs);192.0.2.2_O=1,1,275,0,1,offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,"
    "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,clientIp=unknown,query={query}\n"
)


def seen_queries() -> tuple[list[dict[str, Any]], dict[tuple[str, int], list[tuple[str, ...]]]]:
    """Return the sample's query records and, for each skeleton and slot, the literals seen there."""
    records: list[dict[str, Any]] = []
    pool: dict[tuple[str, int], list[tuple[str, ...]]] = {}
    for split in log_splits(log_files([str(SAMPLE / "logs")]), 1 << 30):
        for batch in parse_split(split):
            for row in batch.to_pylist():
                if row["kind"] == "query" and not row["exceptions"]:
                    row["cut"] = normalize_sql(row["query_text"])
                    records.append(row)
                    for slot, values in enumerate(row["cut"].literals):
                        pool.setdefault((row["cut"].skeleton, slot), []).append(values)
    return records, pool


def varied(skeleton: str, variant: int) -> str:
    """Return one of five forms of a skeleton, each a shape of its own."""
    if variant == 0:
        return skeleton
    if variant < 4:
        return re.sub(r"(?i)\bFROM\b", f", COUNT(*) AS n{variant} FROM", skeleton, count=1)
    return re.sub(r"(?i)^SELECT\b", "SELECT MAX(1),", skeleton, count=1)


def write_log(path: Path, count: int, seed: int) -> int:
    """Write ``count`` records and return how many shapes they have."""
    draw = random.Random(seed)
    records, pool = seen_queries()
    shapes = set()
    with path.open("w", encoding="utf-8") as log:
        for number in range(count):
            row = draw.choice(records)
            skeleton = row["cut"].skeleton
            variant = draw.randrange(5)
            shapes.add((skeleton, variant))
            literals = [draw.choice(pool[skeleton, slot]) for slot in range(len(row["cut"].literals))]
            pieces = varied(skeleton, variant).split(SLOT)
            texts = [", ".join(map(sql_text, other_values(values, draw))) for values in literals]
            query = "".join(piece + text for piece, text in zip(pieces, [*texts, ""], strict=True))
            second = number * 86_399 // count
            log.write(
                LINE.format(
                    clock=f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}",
                    ms=number % 1000,
                    id=number,
                    table=row["table"],
                    latency=row["latency_ms"],
                    docs=row["rows_scanned"],
                    total=row["rows_total"],
                    entries=row["entries_scanned_in_filter"],
                    post=row["entries_scanned_post_filter"],
                    matched=row["segments_matched"],
                    query=query,
                )
            )
    return len(shapes)


def write_shapes(path: Path, count: int, seed: int) -> int:
    """Write a log of ``count`` distinct shapes and return its records."""
    records = 0
    with path.open("w", encoding="utf-8") as log:
        for query in ManyShapes(SAMPLE / "segments", seed).queries(count):
            second = records * 86_399 // (2 * count)
            log.write(
                LINE.format(
                    clock=f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}",
                    ms=records % 1000,
                    id=records,
                    table=query.table,
                    latency=1 + query.entries // 50_000,
                    docs=query.entries // 20,
                    total=query.rows_total,
                    entries=query.entries,
                    post=query.entries // 20,
                    matched=4,
                    query=query.text,
                )
            )
            records += 1
    return records


def tuned(path: Path) -> tuple[float, float, float]:
    """Run ``starskip tune`` on a log; return its seconds, its processor seconds, its peak memory in MiB."""
    command = [sys.executable, "-c", "from starskip.cli.main import main; main()", "tune", "--log", str(path)]
    start = time.perf_counter()
    # Nothing is read from it: a pipe that nobody empties would stop it.
    process = subprocess.Popen(
        [*command, "--segments", str(SAMPLE / "segments"), "--index", "all"], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"starskip tune ended with {os.waitstatus_to_exitcode(status)}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def many_shapes(session: SparkSession, folder: Path, sizes: list[int]) -> None:
    for number, size in enumerate(sizes):
        log = folder / f"shapes-{size}.log"
        records = write_shapes(log, size, seed=number)
        timed(lambda log=log: peer(session, log))
        peer_s = timed(lambda log=log: peer(session, log))
        seconds, processor_s, peak_mib = tuned(log)
        print(
            f"{size:>9,} shapes, {records:,} records, {log.stat().st_size / 1e6:.0f} MB: "
            f"tune {seconds:.1f} s ({processor_s:.1f} s of processor), peak memory {peak_mib:.0f} MiB; "
            f"peer {peer_s:.1f} s, ratio {seconds / peer_s:.1f}",
            flush=True,
        )
        log.unlink()


def other_values(values: tuple[str, ...], draw: random.Random) -> tuple[str, ...]:
    """Shift whole numbers a little, so that most literals are new."""
    return tuple(str(max(int(v) + draw.randrange(-9, 10), 1)) if v.isdigit() else v for v in values)


def sql_text(literal: str) -> str:
    return "'" + literal[1:].replace("'", "''") + "'" if literal.startswith("'") else literal


class PeakMemory:
    """The largest resident size of this process and its children, by kind, sampled while inside."""

    def __enter__(self) -> PeakMemory:
        self.peak: Counter[str] = Counter()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        me = psutil.Process()
        while not self._done.wait(0.25):
            for process in [me, *me.children(recursive=True)]:
                try:
                    kind = "driver Python" if process == me else process.name()
                    self.peak[kind] = max(self.peak[kind], process.memory_info().rss)
                except psutil.Error:
                    continue


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peer(session: SparkSession, path: Path) -> None:
    text = session.read.text(str(path))
    cut = text.select(
        functions.regexp_extract("value", r"table=([^,]+)", 1).alias("table"),
        functions.regexp_extract("value", r"entries=(\d+)/", 1).cast("long").alias("entries"),
        functions.regexp_extract("value", r"query=(.*)$", 1).alias("query"),
    )
    cut.groupBy("table").agg(functions.sum("entries"), functions.sum(functions.length("query"))).collect()


def tasks_by_stage(event_log: Path) -> list[int]:
    """Return the number of tasks of each Spark stage that ran, from the event log."""
    counts: Counter[int] = Counter()
    for file in event_log.rglob("*"):
        if file.is_file() and not file.name.startswith("."):
            for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
                if '"Event":"SparkListenerTaskEnd"' in line:
                    counts[json.loads(line)["Stage ID"]] += 1
    return [counts[stage] for stage in sorted(counts)]


def session_for(event_log: Path) -> SparkSession:
    # Without it Spark starts the first python3 of the PATH, which need not be this one.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("benchmark tuner")
    settings = {
        "spark.driver.memory": "1g",
        "spark.driver.maxResultSize": "16m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": event_log.as_uri(),
        "spark.eventLog.compress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--records", default="10000,100000,1000000")
    parser.add_argument("--shapes", default="1000,10000,100000,1000000")
    arguments = parser.parse_args()
    sizes = [int(text) for text in arguments.records.split(",") if text]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        event_log = folder / "events"
        event_log.mkdir()
        start = time.perf_counter()
        session = session_for(event_log)
        print(f"session started in {time.perf_counter() - start:.1f} s; cores {os.cpu_count()}", flush=True)
        engine = SparkEngine(session)
        rows = []
        for number, size in enumerate(sizes):
            log = folder / f"broker-{size}.log"
            shapes = write_log(log, size, seed=number)
            night = Night(
                run_date=date(2026, 11, 18),
                store=ArtefactStore(storage_for(str(folder / f"night-{size}"))),
                settings=Settings(),
                started_at=datetime.now(UTC),
                run_id="benchmark",
                log_paths=[str(log)],
                segments_root=str(SAMPLE / "segments"),
            )
            # The first use of a session pays for starting Python workers; no size should pay for the others.
            timed(lambda log=log: peer(session, log))
            with PeakMemory() as memory:
                facts_s = timed(lambda night=night: collect_segment_metadata(engine, night))
                parse_s = timed(lambda night=night: parse_query_logs(engine, night))
                votes_s = timed(lambda night=night: score_votes(engine, night))
            peer_s = timed(lambda log=log: peer(session, log))
            rows.append((size, facts_s + parse_s + votes_s))
            print(
                f"{size:>9,} records, {log.stat().st_size / 1e6:.0f} MB, {shapes} shapes: "
                f"facts {facts_s:.1f} s, "
                f"parse {parse_s:.1f} s, votes {votes_s:.1f} s, together {rows[-1][1]:.1f} s "
                f"({rows[-1][1] / size * 1e6:.0f} µs a record); "
                f"peer {peer_s:.1f} s, ratio {rows[-1][1] / peer_s:.1f}",
                flush=True,
            )
            print(
                "          peak memory: "
                + ", ".join(f"{k} {v / 2**20:.0f} MiB" for k, v in memory.peak.items())
            )
            log.unlink()
        many_shapes(session, folder, [int(text) for text in arguments.shapes.split(",") if text])
        session.stop()
        print("tasks of each Spark stage:", tasks_by_stage(event_log))


if __name__ == "__main__":
    main()
