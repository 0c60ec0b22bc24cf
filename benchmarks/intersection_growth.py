"""Measure the cost of building and refreshing secondary indexes on Spark as the table grows.

Spark has what the night gives it: two cores, a driver of 1 GiB, and 16 MiB for results. Each kind of index is
built with metadata of its own; then one file in a hundred is written anew and the index refreshed. A refresh
that finds nothing changed tells what of that is the same for all tables. Spark's event log says how many
tasks worked, what the longest one took, and how much came back to the driver.
"""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from intersection_events import write_events, write_file
from intersection_spark import small_session
from intersection_verdict import WrongRows, print_verdict
from starskip.execution.engine import Engine
from starskip.secondary.lifecycle import create_indexes, describe_indexes, refresh_indexes
from starskip.spark.spark_engine import SparkEngine

INDEXES = {"btree": "btree:ts", "rtree": "rtree:lat,lng", "ngram": "ngram:message"}
_FILES = 100
"""Files of the smallest table; greater ones have more, of as many rows."""
_FLAT = 1.1
_REFRESH_AIM = 0.02
_MB = 1e6


@dataclass(frozen=True, slots=True)
class Grown:
    """The cost of one kind of index at one size of table: seconds, and bytes after the build."""

    rows: int
    files: int
    build_s: float
    bytes: int
    unchanged_s: float
    refresh_s: float
    refreshed_files: int

    @property
    def us_a_row(self) -> float:
        """Microseconds to build, by row."""
        return self.build_s * 1e6 / self.rows

    @property
    def bytes_a_row(self) -> float:
        """Bytes of the index, by row."""
        return self.bytes / self.rows

    @property
    def changed_share(self) -> float:
        """The share of the files that changed."""
        return self.refreshed_files / self.files

    @property
    def refresh_share(self) -> float:
        """A refresh's time by the build's, both without what a refresh of nothing takes."""
        return max(self.refresh_s - self.unchanged_s, 0) / max(self.build_s - self.unchanged_s, 1e-9)


@dataclass(slots=True)
class Work:
    """The work of Spark for one task of ours: tasks by stage."""

    task_ms: list[int] = field(default_factory=list)
    most_tasks: int = 0
    most_result_bytes: int = 0


def print_growth(folder: Path, sizes: Sequence[int], row_group_rows: int) -> None:
    """Build, change and refresh tables of rising sizes, and print whether the costs by row stay flat."""
    log = folder / "spark-events"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir(parents=True)
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
    }
    found: dict[str, list[Grown]] = {kind: [] for kind in INDEXES}
    rows_a_file = max(min(sizes) // _FILES, 1)
    print(f"files of {rows_a_file:,} rows; one in {_FILES} is written anew before the refresh")
    with small_session(settings) as spark:
        engine = SparkEngine(spark)
        # Python's workers start here, and not in what is measured.
        spark.range(8, numPartitions=8).mapInArrow(lambda batches: batches, "id long").collect()
        for rows in sorted(sizes):
            place = folder / f"growth-{rows}"
            shutil.rmtree(place, ignore_errors=True)
            write_events(place, rows, row_group_rows, rows_a_file)
            spark_group = spark.sparkContext.setJobGroup
            for kind, grown in _grown(engine, place, rows, rows_a_file, row_group_rows, spark_group):
                found[kind].append(grown)
            shutil.rmtree(place)
    _print_grown(found)
    _print_work(_work(log), max(sizes))
    _print_verdicts(found)


def _grown(
    engine: Engine,
    place: Path,
    rows: int,
    rows_a_file: int,
    row_group_rows: int,
    name_work: Callable[[str, str], None],
) -> list[tuple[str, Grown]]:
    """Build each kind of index, change files, and refresh each kind."""
    roots = {kind: f"{place}-{kind}" for kind in INDEXES}
    built: dict[str, tuple[float, int, float]] = {}
    files = len(list(place.glob("*.parquet")))
    for kind, index in INDEXES.items():
        shutil.rmtree(roots[kind], ignore_errors=True)
        name_work(f"build {kind} {rows}", "")
        build_s, _ = _timed(partial(create_indexes, str(place), [index], root=roots[kind], engine=engine))
        size = sum(
            each["size_bytes"]
            for each in describe_indexes(str(place), root=roots[kind])["indexes"]
            if each["index"] == index
        )
        name_work(f"refresh {kind} {rows}, unchanged", "")
        unchanged_s, _ = _timed(partial(refresh_indexes, str(place), root=roots[kind], engine=engine))
        built[kind] = (build_s, size, unchanged_s)
        print(f"  {rows:,} rows: {index} built in {build_s:.1f} s", flush=True)
    changed = sorted(place.glob("*.parquet"))[_FILES // 2 :: _FILES]
    for path in changed:
        first = int(path.stem) * rows_a_file
        write_file(path, first, min(rows_a_file, rows - first), rows, row_group_rows, version=1)
    found = []
    for kind in INDEXES:
        name_work(f"refresh {kind} {rows}", "")
        refresh_s, refreshed = _timed(partial(refresh_indexes, str(place), root=roots[kind], engine=engine))
        if refreshed.collected_files != len(changed):
            raise WrongRows(f"{refreshed.collected_files} files were read anew where {len(changed)} changed")
        build_s, size, unchanged_s = built[kind]
        found.append((kind, Grown(rows, files, build_s, size, unchanged_s, refresh_s, len(changed))))
        shutil.rmtree(roots[kind])
    return found


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = perf_counter()
    found = work()
    return perf_counter() - began, found


def _print_grown(found: dict[str, list[Grown]]) -> None:
    heads = (
        "rows",
        "files",
        "build s",
        "µs/row",
        "bytes/row",
        "unchanged s",
        "refresh s",
        "of build",
        "files",
    )
    print(f"\n{'index':<8}" + "".join(f"{head:>13}" for head in heads) + "   without the unchanged part")
    for kind, sizes in found.items():
        for each in sizes:
            print(
                f"{kind:<8}{each.rows:>13,}{each.files:>13,}{each.build_s:>13.1f}{each.us_a_row:>13.2f}"
                f"{each.bytes_a_row:>13.2f}{each.unchanged_s:>13.2f}{each.refresh_s:>13.2f}"
                f"{each.refresh_s / each.build_s:>13.1%}{each.changed_share:>13.1%}"
                f"{each.refresh_share:>10.1%}"
            )


def _work(log: Path) -> dict[str, Work]:
    """Return what Spark's event log says of each piece of work, by its name."""
    groups: dict[int, str] = {}
    tasks: defaultdict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for file in log.iterdir():
        with file.open(encoding="utf-8") as lines:
            for event in map(json.loads, lines):
                if event["Event"] == "SparkListenerJobStart":
                    name = event.get("Properties", {}).get("spark.jobGroup.id", "")
                    groups |= dict.fromkeys(event["Stage IDs"], name)
                elif event["Event"] == "SparkListenerTaskEnd":
                    tasks[groups.get(event["Stage ID"], ""), event["Stage ID"]].append(event)
    found: defaultdict[str, Work] = defaultdict(Work)
    for (name, _), events in tasks.items():
        work = found[name]
        work.most_tasks = max(work.most_tasks, len(events))
        for event in events:
            metrics = event.get("Task Metrics") or {}
            work.task_ms.append(event["Task Info"]["Finish Time"] - event["Task Info"]["Launch Time"])
            work.most_result_bytes = max(work.most_result_bytes, metrics.get("Result Size", 0))
    return found


def _print_work(found: dict[str, Work], rows: int) -> None:
    print("\nwork on Spark's tasks, of the greatest table")
    for kind in INDEXES:
        for name in (f"build {kind} {rows}", f"refresh {kind} {rows}"):
            work = found.get(name)
            if work is None:
                print(f"  {name}: no task")
                continue
            spent = [ms / 1000 for ms in work.task_ms]
            print(
                f"  {name}: {work.most_tasks} tasks in a stage; the longest {max(spent):.1f} s of"
                f" {sum(spent):.1f} s; results of {work.most_result_bytes / 1000:,.0f} kB at most"
            )
    counts = [
        found[name].most_tasks if name in found else 0
        for name in (f"build {kind} {rows}" for kind in INDEXES)
    ]
    told = ", ".join(f"{kind} {count}" for kind, count in zip(INDEXES, counts, strict=True))
    print_verdict(f"tasks of a build: {told}", "several each", is_reached=min(counts) > 1)


def _print_verdicts(found: dict[str, list[Grown]]) -> None:
    for kind, sizes in found.items():
        small, large = sizes[0], sizes[-1]
        if large is not small:
            seconds, size = large.us_a_row / small.us_a_row, large.bytes_a_row / small.bytes_a_row
            told = f"{kind}, {small.rows:,} to {large.rows:,} rows: {seconds:.2f} times the time by row"
            aim = f"flat, at most {_FLAT} times"
            print_verdict(f"{told}, {size:.2f} times the bytes", aim, is_reached=max(seconds, size) <= _FLAT)
        told = (
            f"{kind}: a refresh after {large.changed_share:.1%} of the files takes {large.refresh_share:.1%}"
        )
        is_reached = large.refresh_share <= _REFRESH_AIM
        print_verdict(
            f"{told} of the build ({large.refresh_s / large.build_s:.1%} with what any refresh takes)",
            f"about 1 %, at most {_REFRESH_AIM:.0%}",
            is_reached=is_reached,
        )
