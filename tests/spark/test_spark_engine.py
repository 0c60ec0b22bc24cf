"""The engine on executors: what it makes of maps, merges and caps."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from zipimport import zipimporter

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.sql import SparkSession
from starskip.errors import (
    CapExceeded,
    SourceOutage,
    StaleTree,
    StarskipError,
    StorageError,
    TransientError,
)
from starskip.execution.engine_tasks import EngineTasks
from starskip.spark import map_in_arrow
from starskip.spark.spark_engine import SparkEngine
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.spark

NUMBERS = pa.schema([("key", pa.string()), ("value", pa.int64()), ("partition", pa.int32())])


def numbers(items: Iterable[int]) -> Iterator[pa.RecordBatch]:
    context = TaskContext.get()
    for item in items:
        assert context is not None
        row = {"key": "odd" if item % 2 else "even", "value": item, "partition": context.partitionId()}
        yield pa.RecordBatch.from_pylist([row], schema=NUMBERS)


def sums(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    rows = pa.Table.from_batches(batches, schema=NUMBERS)
    summed = rows.group_by("key").aggregate([("value", "sum"), ("partition", "min")])
    yield from summed.rename_columns(NUMBERS.names).cast(NUMBERS).to_batches()


def test_items_are_cut_evenly_over_several_tasks(spark: SparkSession) -> None:
    rows = SparkEngine(spark).rows_of_items(range(40), numbers, NUMBERS).gather("numbers", 100)
    per_task = sorted(item["counts"] for item in rows["partition"].value_counts().to_pylist())
    assert per_task == [5] * 8


def test_a_single_item_is_a_single_task(spark: SparkSession) -> None:
    rows = SparkEngine(spark).rows_of_items([7], numbers, NUMBERS).gather("numbers", 100)
    assert rows.to_pylist() == [{"key": "odd", "value": 7, "partition": 0}]


def test_no_items_are_no_rows_and_no_job(spark: SparkSession) -> None:
    def jobs_of(items: Sequence[int]) -> int:
        scheduler = spark.sparkContext._jsc.sc().dagScheduler()
        before = scheduler.numTotalJobs()
        rows = SparkEngine(spark).rows_of_items(items, numbers, NUMBERS).merge(["key"], sums, NUMBERS)
        assert rows.gather("numbers", 100).num_rows == len(items)
        return int(scheduler.numTotalJobs() - before)

    assert (jobs_of([]), jobs_of([7]) > 0) == (0, True)


def test_merge_sees_all_rows_of_a_key_together(spark: SparkSession) -> None:
    rows = SparkEngine(spark).rows_of_items(range(40), numbers, NUMBERS).merge(["key"], sums, NUMBERS)
    found = {row["key"]: row["value"] for row in rows.gather("sums", 2).to_pylist()}
    assert found == {"even": 380, "odd": 400}


def with_partition(item: int) -> tuple[int, int]:
    context = TaskContext.get()
    assert context is not None
    return item, context.partitionId()


def test_tasks_run_on_executors_and_their_results_come_in_the_items_order(spark: SparkSession) -> None:
    items = list(range(40, 0, -1))
    found = EngineTasks(SparkEngine(spark)).run_tasks("numbers", items, with_partition)
    assert [item for item, _ in found] == items
    assert {partition for _, partition in found} == set(range(8))
    assert EngineTasks(SparkEngine(spark)).run_tasks("numbers", [], with_partition) == []


def stale(item: int) -> int:
    raise StaleTree(f"file {item}: was changed", source="a file")


def silent(item: int) -> int:
    raise SourceOutage(f"store {item} does not answer", source="a store")


@pytest.mark.parametrize(
    ("task", "kind", "message"),
    [
        (stale, StarskipError, "file 7: was changed"),
        (silent, TransientError, "store 7 does not answer"),
    ],
)
def test_an_error_of_a_task_comes_out_as_one_of_ours(
    spark: SparkSession, task: Callable[[int], int], kind: type[StarskipError], message: str
) -> None:
    with pytest.raises(kind) as raised:
        EngineTasks(SparkEngine(spark)).run_tasks("numbers", [7], task)
    assert type(raised.value) is kind
    assert str(raised.value) == message


def test_gather_over_its_cap_names_what_grew(spark: SparkSession) -> None:
    rows = SparkEngine(spark).rows_of_items(range(11), numbers, NUMBERS)
    assert rows.gather("odd numbers", 11).num_rows == 11
    with pytest.raises(CapExceeded, match="odd numbers: more than 10 rows"):
        rows.gather("odd numbers", 10)


def test_a_snapshot_is_read_by_one_task_a_file_and_only_the_tables_asked_for(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = ArtefactStore(storage_for(str(tmp_path)), {"numbers": NUMBERS})
    aside = store.staged_write("numbers", "2026-11-20")
    parts = {}
    for table, values in {"a": range(10), "b": range(10, 20)}.items():
        rows = pa.table({"key": [table] * 10, "value": list(values), "partition": [0] * 10})
        parts[table] = Part(aside.write(table, rows.cast(NUMBERS)))
    store.publish(
        "numbers",
        "2026-11-20",
        parts,
        replace="all",
        created_at=datetime(2026, 11, 21, tzinfo=UTC),
        created_by="test",
    )
    snapshot = store.snapshot("numbers", "2026-11-20")
    assert snapshot is not None
    engine = SparkEngine(spark)
    assert engine.rows_of_snapshot(snapshot, ["b"]).frame.rdd.getNumPartitions() == 1
    assert engine.rows_of_snapshot(snapshot, ["a", "b"]).frame.rdd.getNumPartitions() == 2
    values = engine.rows_of_snapshot(snapshot, ["b"], ["value"]).gather("values", 100)
    assert sorted(values["value"].to_pylist()) == list(range(10, 20))
    assert values.column_names == ["value"]


def test_a_damaged_file_is_named_as_it_is_without_spark(spark: SparkSession, tmp_path: Path) -> None:
    store = ArtefactStore(storage_for(str(tmp_path)), {"numbers": NUMBERS})
    rows = pa.table({"key": ["a"] * 10, "value": list(range(10)), "partition": [0] * 10}).cast(NUMBERS)
    parts = {"a": Part(store.staged_write("numbers", "2026-11-20").write("a", rows))}
    created_at = datetime(2026, 11, 21, tzinfo=UTC)
    store.publish("numbers", "2026-11-20", parts, replace="all", created_at=created_at, created_by="test")
    (file,) = parts["a"].files
    path = tmp_path / file.name
    path.write_bytes(path.read_bytes()[:4] + b"\xff" * 20 + path.read_bytes()[24:])
    snapshot = store.snapshot("numbers", "2026-11-20")
    assert snapshot is not None
    with pytest.raises(StorageError, match=f"{file.name}: is damaged") as caught:
        SparkEngine(spark).rows_of_snapshot(snapshot, ["a"]).gather("values", 100)
    assert caught.value.location == file.name


def with_process(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Write the process that the map runs in behind the key."""
    for batch in batches:
        for row in batch.to_pylist():
            key = f"{row['key']} {os.getpid()}"
            yield pa.RecordBatch.from_pylist([{**row, "key": key}], schema=NUMBERS)


def test_maps_that_follow_each_other_run_in_one_process_in_their_order(spark: SparkSession) -> None:
    def doubled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                yield pa.RecordBatch.from_pylist([{**row, "value": 2 * row["value"] + 1}], schema=NUMBERS)

    mapped = SparkEngine(spark).rows_of_items(range(8), numbers, NUMBERS)
    for function in (with_process, doubled, doubled, with_process):
        mapped = mapped.map(function, NUMBERS)
    rows = mapped.gather("numbers", 100).to_pylist()
    assert sorted(row["value"] for row in rows) == [4 * item + 3 for item in range(8)]
    for row in rows:
        _, first, last = row["key"].split()
        assert first == last


def _around_a_task(items: Iterable[int]) -> Iterator[pa.RecordBatch]:
    for _ in items:
        zips = [path for path, found in sys.path_importer_cache.items() if isinstance(found, zipimporter)]
        jars = [path for path in sys.path if path.endswith(".jar")]
        row = {
            "key": f"{len(zips)} zips, {len(jars)} jars, modules frozen: {gc.get_freeze_count() > 10_000}",
            "value": os.getpid(),
            "partition": 0,
        }
        yield pa.RecordBatch.from_pylist([row], schema=NUMBERS)


def test_pyspark_reads_no_zip_and_collects_no_module_around_a_task(spark: SparkSession) -> None:
    frozen = gc.get_freeze_count()
    found = SparkEngine(spark).rows_of_items(range(4), _around_a_task, NUMBERS).gather("facts", 100)
    assert set(found["key"].to_pylist()) == {"0 zips, 0 jars, modules frozen: True"}
    # Not this process, which imports and collects as before.
    assert os.getpid() not in found["value"].to_pylist()
    assert gc.get_freeze_count() <= frozen


def test_what_was_forgotten_is_found_again_where_it_is_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "later.zip"
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("first_of_zip.py", "found = 1")
        written.writestr("package_of_zip/__init__.py", "")
        written.writestr("package_of_zip/second_of_zip.py", "found = 2")
    monkeypatch.setattr(
        sys, "path", [*sys.path, str(archive), "/jars/spark-core_2.13-4.1.3.jar", "graphs.jar"]
    )
    assert importlib.import_module("first_of_zip").found == 1
    map_in_arrow._forget_zips()
    assert str(archive) not in sys.path_importer_cache
    # The jar of a package may hold modules of Python, Spark's own does not.
    assert sys.path[-2:] == [str(archive), "graphs.jar"]
    assert importlib.import_module("package_of_zip.second_of_zip").found == 2
