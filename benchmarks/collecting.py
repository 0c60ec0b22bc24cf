"""Peak memory of collecting indexes of one file with very many distinct values, on Spark.

Each case is a process of its own: it writes one Parquet file of ROWS distinct numbers in random order, each
with a text of its own, collects the indexes with local[2] and a driver of 1 GiB, which is the executor, too,
and prints the peaks of resident memory of the JVM and of the greatest of Spark's Python workers, as Linux
counts them (VmHWM), with the bytes of the metadata. Then it asks for a value that is there and one that is
not.

    python benchmarks/collecting.py [--rows 1000000 10000000] [--indexes bloom:id hybrid:id valuelist:id]
    python benchmarks/collecting.py --rows 100000000 --indexes bloom:id      # some 20 minutes
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROWS_AT_ONCE = 1_000_000
DRIVER_MEMORY = "1g"


def main() -> None:
    """Print one line for each number of rows, or measure one case, as it was started."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--indexes", nargs="+", default=["bloom:id", "hybrid:id", "valuelist:id"])
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        measure(arguments.rows[0], arguments.indexes)
        return
    print(
        f"{'distinct':>12} {'seconds':>8} {'JVM MiB':>8} {'worker MiB':>11} {'metadata MiB':>13}  files read"
    )
    for rows in arguments.rows:
        command = [sys.executable, __file__, "--one", "--rows", str(rows), "--indexes", *arguments.indexes]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
        print(
            f"{rows:12,} {found['seconds']:8.0f} {found['jvm_mib']:8.0f} {found['worker_mib']:11.0f} "
            f"{found['metadata_mib']:13.1f}  {found['read']}"
        )


def measure(rows: int, indexes: list[str]) -> None:
    """Print what one case takes, as JSON."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession
    from starskip.spark import skipping

    with tempfile.TemporaryDirectory(prefix="starskip-") as made:
        # One file in a folder; it is old enough to be trusted.
        table = Path(made) / "t"
        write(table / "part-0.parquet", rows)
        spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.memory", DRIVER_MEMORY)
            .config("spark.ui.enabled", "false")
            .config("spark.driver.maxResultSize", "16m")
            .config("spark.local.dir", made)
            .getOrCreate()
        )
        spark.sparkContext.setLogLevel("ERROR")
        peaks = Peaks()
        started = time.perf_counter()
        skipping.create(spark, str(table), indexes)
        seconds = time.perf_counter() - started
        peaks.stop()
        described = skipping.describe(spark, str(table))
        skipping.enable(spark)
        read = [
            len(spark.read.parquet(str(table)).where(f"id = {value}").inputFiles()) for value in (0, rows + 1)
        ]
        size = sum(each["size_bytes"] for each in described["indexes"])
        found = {
            "seconds": seconds,
            "jvm_mib": peaks.jvm_kib / 1024,
            "worker_mib": peaks.worker_kib / 1024,
            "metadata_mib": size / 2**20,
            "read": f"{read[0]} of 1 for a value that is there, {read[1]} for one that is not",
        }
        spark.stop()
    print(json.dumps(found))


def write(file: Path, rows: int) -> None:
    """Write distinct numbers from 0, in an order that is no order, with texts."""
    file.parent.mkdir(parents=True)
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    # A multiplication by a number without a common divisor visits each remainder once.
    factor = next(each for each in range(2_654_435_761, 2_654_435_861) if np.gcd(each, rows) == 1)
    with pq.ParquetWriter(file, schema) as out:
        for start in range(0, rows, ROWS_AT_ONCE):
            numbers = (np.arange(start, min(start + ROWS_AT_ONCE, rows)) * (factor % rows)) % rows
            names = pa.array(numbers).cast(pa.string())
            out.write_table(pa.table([pa.array(numbers), names], schema=schema))
    os.utime(file, (1_767_225_600, 1_767_225_600))


class Peaks:
    """Watches the resident memory of this process's children until it is stopped."""

    def __init__(self) -> None:
        """Start watching."""
        self.jvm_kib = self.worker_kib = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stopped.wait(0.05):
            for pid, name, peak_kib in _descendants(os.getpid()):
                if name == "java":
                    self.jvm_kib = max(self.jvm_kib, peak_kib)
                elif pid != os.getpid():
                    self.worker_kib = max(self.worker_kib, peak_kib)


def _descendants(root: int) -> list[tuple[int, str, int]]:
    facts: dict[int, dict[str, str]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                lines = (folder / "status").read_text().splitlines()
            except OSError:  # it has ended
                continue
            facts[int(folder.name)] = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    found, waiting = [], [root]
    while waiting:
        parent = waiting.pop()
        for pid, of in facts.items():
            if of.get("PPid") == str(parent):
                waiting.append(pid)
                found.append((pid, of["Name"], int(of.get("VmHWM", "0 kB").split()[0])))
    return found


if __name__ == "__main__":
    main()
