"""Print what each stage and gate of a night costs over a made-up cluster, and of the night after.

The cluster is written by a program (cluster/): small segments as Pinot tars them, broker logs with as many
shapes and tables as a real cluster has. Stages run one after the other as Airflow runs them. Columns:

- seconds, and those of processors, which other work on the machine lengthens less;
- the greatest memory of the JVM, of the driver's Python, and of one Python worker;
- the bytes that executors sent to the driver: all, and those of one Spark stage, which Spark's limit bounds;
- files and bytes that came into the store.

With ``--workers`` jobs run on a standalone cluster of so many workers of one core each, and a line below each
stage says which share of its tasks' time each executor had.

The second night has 1 % new segments and a log of its own.

    make bench-cluster ARGS="--tables 200 --segments 100000"
    make bench-cluster ARGS="--tables 200 --segments 20000 --records 1000000 --sizes 10,50,200 --keep DIR"
    make bench-cluster ARGS="--tables 20 --segments 2000 --records 200000 --workers 2"
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent / "cluster"))

from made_up_cluster import add_second_night, nights, remove_second_night, write_cluster
from made_up_tables import ClusterSize
from night_stages import StageRun, night_stages
from standalone import SparkMaster, spark_master
from starskip.advisor.run.stages import STAGE_NAMES

_HEAD = ("stage or gate", "s", "busy s", "JVM MiB", "driver", "worker", "results", "at once", "files", "MB")
_FORM = "{:34} {:>7} {:>7} {:>8} {:>7} {:>7} {:>10} {:>10} {:>7} {:>8}"
_MIB = 1 << 20


def main() -> None:
    """Write a cluster of each size, run both nights on it, and print what they took."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=200)
    parser.add_argument("--segments", type=int, default=100_000, help="segments of all tables")
    parser.add_argument("--records", type=int, default=10_000_000, help="log records of a night")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", default="", help="numbers of tables, others in proportion: 10,50,200")
    parser.add_argument("--keep", type=Path, help="folder that keeps the clusters for the next time")
    parser.add_argument("--until", choices=STAGE_NAMES, default=STAGE_NAMES[-1], help="the last stage to run")
    parser.add_argument("--workers", type=int, default=0, help="workers of a Spark standalone cluster")
    parser.add_argument("--json", type=Path, help="file for all figures")
    given = parser.parse_args()
    sizes = [int(text) for text in given.sizes.split(",") if text] or [given.tables]
    measured = []
    with (
        nullcontext(given.keep) if given.keep else tempfile.TemporaryDirectory() as root,
        tempfile.TemporaryDirectory() as logs,
        spark_master(given.workers, Path(logs)) as master,
    ):
        for tables in sizes:
            share = tables / given.tables
            size = ClusterSize(
                tables, round(given.segments * share), round(given.records * share), given.seed
            )
            found = _measured(Path(root).resolve(), size, given.until, master)
            measured.append({"size": asdict(size), "nights": found})
            if given.json:
                given.json.write_text(json.dumps(measured, indent=2), encoding="utf-8")
    _print_growth(measured)


def _measured(root: Path, size: ClusterSize, last: str, master: SparkMaster) -> list[list[dict[str, Any]]]:
    """Return the figures of both nights; the second is left out if the first failed."""
    folder = root / size.name
    began = time.perf_counter()
    is_new = write_cluster(folder, size)
    written = f"written in {time.perf_counter() - began:.0f} s" if is_new else "kept from before"
    told = f"{size.tables:,} tables, {size.segments:,} segments, {size.records:,} records"
    print(f"\n{told}: {written}", flush=True)
    shutil.rmtree(folder / "artefacts", ignore_errors=True)
    found: list[list[dict[str, Any]]] = []
    for place, day in enumerate(nights()):
        if place:
            add_second_night(folder)
        print(f"\nnight of {day}\n{_FORM.format(*_HEAD)}", flush=True)
        runs = []
        for run in night_stages(folder, day, last, master):
            runs.append(run)
            _print_run(run)
        found.append([asdict(run) for run in runs])
        both = [sum(run.seconds for run in runs), sum(run.processor_seconds for run in runs)]
        print(_FORM.format("all", *(f"{seconds:.1f}" for seconds in both), *[""] * 7), flush=True)
        if runs[-1].failed:
            break
    else:
        _print_ratios(found)
    remove_second_night(folder)
    return found


def _print_run(run: StageRun) -> None:
    peaks = [f"{peak / _MIB:.0f}" for peak in run.peak_bytes.values()]
    results = [f"{size / _MIB:.2f}" for size in (run.result_bytes, run.largest_result_bytes)]
    seconds = [f"{each:.1f}" for each in (run.seconds, run.processor_seconds)]
    stored = (f"{run.new_files:,}", f"{run.new_bytes / 1e6:.1f}")
    print(_FORM.format(run.name, *seconds, *peaks, *results, *stored))
    if run.counts:
        print("    " + ", ".join(f"{name} {count:,}" for name, count in run.counts.items()))
    if len(run.executor_seconds) > 1:
        taken = sum(run.executor_seconds.values()) or 1.0
        shares = (f"{name} {each / taken:.0%}" for name, each in sorted(run.executor_seconds.items()))
        print(f"    {taken:,.1f} s of tasks: executor {', executor '.join(shares)}")
    for note in run.notes:
        print(f"    {note[:300]}")
    sys.stdout.flush()


def _print_ratios(found: Sequence[Sequence[dict[str, Any]]]) -> None:
    """Print the seconds of processors of both nights, and the second's share."""
    print(f"\n{'busy seconds of a night':34} {'first':>8} {'second':>8} {'ratio':>7}")
    of_both = [[run["processor_seconds"] for run in runs] for runs in found]
    names = [run["name"] for run in found[0]]
    for name, first, second in (*zip(names, *of_both, strict=True), ("all", *map(sum, of_both))):
        print(f"{name:34} {first:8.1f} {second:8.1f} {second / first:7.2f}")


def _print_growth(measured: Sequence[dict[str, Any]]) -> None:
    """Print the first night of each size side by side."""
    head = ("tables", "s", "a table", "busy s", "a table", "JVM MiB", "driver", "worker", "at once")
    print("\n" + " ".join(f"{name:>8}" for name in head))
    for each in measured:
        first, tables = each["nights"][0], each["size"]["tables"]
        cells: list[float] = [tables]
        for key in ("seconds", "processor_seconds"):
            total = sum(run[key] for run in first)
            cells += [total, total / tables]
        cells += [max(run["peak_bytes"][role] for run in first) / _MIB for role in first[0]["peak_bytes"]]
        cells.append(max(run["largest_result_bytes"] for run in first) / _MIB)
        failed = f"   failed: {first[-1]['name']}" if first[-1]["failed"] else ""
        print(f"{cells[0]:8,} " + " ".join(f"{cell:8.1f}" for cell in cells[1:]) + failed)


if __name__ == "__main__":
    main()
