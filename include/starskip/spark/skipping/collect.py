"""Collect the metadata of all indexes by one Spark pass over the rows; its tasks write the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from starskip.errors import StarskipError
from starskip.file_metadata.collect_order import FILES, Collection, CollectOrder
from starskip.file_metadata.write_collected import Groups
from starskip.predicates.column_name import quoted
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.map_in_arrow import map_in_arrow
from starskip.spark.skipping.arrow_times import in_utc
from starskip.spark.skipping.collect_batches import (
    FILE,
    NUMBER,
    PART_MALFORMED,
    PART_ROWS,
    STATE,
    BatchPlan,
    MergedFile,
    MergedResult,
    file_hashes,
)
from starskip.spark.skipping.collect_tasks import TaskFiles, groups_of, run_tasks, with_messages, written
from starskip.spark.skipping.table_relation import MALFORMED, file_path_of
from starskip.storage.staged_write import StagedWrite

_POSITION, _TASK, _PATH, _ROWS = "_position", "_task", "_file_path", "_rows"
_OF_PARTS = [NUMBER, STATE, PART_ROWS, PART_MALFORMED]
_BATCH_BYTES = 32 << 20
_FILES_HELD, _BYTES_HELD = 1000, 16 << 20
"""Files whose metadata is finished and written together."""
_NOT_LISTED = "rows came of files that were not listed; run this again"
_MALFORMED = "_malformed"
_VALUES_TRIED = 64
"""Values tried for each partition: that none of them hits it is less likely than a disk failure."""


def collect(order: CollectOrder, encoded_paths: pa.Array, rows: DataFrame, staged: StagedWrite) -> Collection:
    """Collect an order from ``rows``, which are exactly the rows of the order's files.

    ``encoded_paths``: of the order's files, as in ``_metadata.file_path``. Raises as ``run_tasks`` does.
    """
    plan = BatchPlan.of(order.indexes, rows)

    def frame_of(files: TaskFiles) -> DataFrame:
        # A batch has parts of some megabytes, or rows with texts of any length.
        rows.sparkSession.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", _BATCH_BYTES)
        wanted = _wanted(rows, files)
        aggregates = _aggregates(order.indexes)
        of_nothing = None
        if aggregates or not plan.schemas:
            aggregates = [*_of_all(rows), *aggregates]
            of_files = rows.groupBy(file_path_of(rows).alias(_PATH)).agg(*aggregates)
            # Aggregates over no rows, for files without rows, which have no group.
            of_nothing = rows.where(sql.lit(False)).agg(*aggregates).toArrow()
            together = wanted.join(of_files, on=_PATH, how="full")
        else:
            together = wanted
        together = together.drop(_PATH)
        if plan.schemas:
            hashes = zip(file_hashes(sql.col(_PATH)), FILE, strict=True)
            places = wanted.select(_POSITION, _TASK, *(each.alias(name) for each, name in hashes))
            parts = plan.parts(rows, file_path_of(rows)).join(places, on=[*FILE], how="left").drop(*FILE)
            together = together.unionByName(parts, allowMissingColumns=True)
        in_tasks = _by_task(together, files.tasks).sortWithinPartitions(
            _POSITION, *([NUMBER] if plan.schemas else [])
        )
        return with_messages(in_tasks, _Writer(order, files, plan, of_nothing))

    return run_tasks(rows.sparkSession, order, encoded_paths, staged, frame_of)


def _of_all(rows: DataFrame) -> list[Any]:
    # With such an aggregate Spark aggregates min and max of strings by hash; otherwise it sorts all rows.
    by_hash = sql.expr("collect_list(CAST(NULL AS INT))").alias("_by_hash")
    found = [sql.count(sql.lit(1)).alias(_ROWS), by_hash]
    return [*found, sql.count(MALFORMED).alias(_MALFORMED)] if MALFORMED in rows.columns else found


def _aggregates(indexes: Sequence[SkippingIndex]) -> list[Any]:
    found = []
    for number, index in enumerate(indexes):
        columns = [quoted(name) for name in index.columns]
        aggregates = index.aggregates(columns)
        if not aggregates and not index.row_values(columns):
            raise StarskipError(f"{index.specification}: has neither aggregates() nor row_values()")
        for name, text in aggregates.items():
            found.append(sql.expr(text).alias(f"{_prefix(number)}{name}"))
    return found


def _prefix(number: int) -> str:
    return f"_{number}_"


def _by_task(frame: DataFrame, tasks: int) -> DataFrame:
    """Partition the rows by task."""
    task = sql.coalesce(sql.col(_TASK), sql.lit(0))
    if hasattr(frame, "repartitionById"):
        return frame.repartitionById(tasks, task)
    # Before Spark 4.1 rows are partitioned by hash: find a value for each partition.
    numbers = frame.sparkSession.range(0, tasks * _VALUES_TRIED, 1, 1)
    places = numbers.groupBy(sql.expr(f"CAST(pmod(hash(id), {tasks}) AS INT) AS place")).agg(sql.min("id"))
    leads = {row[0]: row[1] for row in places.collect()}
    if len(leads) < tasks:
        raise StarskipError(f"of {tasks} partitions {tasks - len(leads)} cannot be reached")
    leading = sql.array(*(sql.lit(leads[each]) for each in range(tasks)))
    return frame.repartition(tasks, sql.get(leading, task))


def _wanted(rows: DataFrame, files: TaskFiles) -> DataFrame:
    """Return position, task and encoded path of the files, read from the store by the executors."""
    schema = pa.schema([(_POSITION, pa.int64()), (_TASK, pa.int32()), (_PATH, pa.string())])

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for task in batch.column(0).to_pylist():
                encoded = files.of_task(task)["encoded"]
                positions = np.arange(len(encoded)) + files.start(task)
                columns = [positions, np.full(len(encoded), task, np.int32), encoded]
                yield from pa.table(columns, schema=schema).to_batches()

    numbers = rows.sparkSession.range(0, files.tasks, 1, files.tasks)
    return map_in_arrow(numbers, read, schema)


class _Writer:
    """Writes, in a task, the metadata of its files, which come in the order of their positions.

    Each file has one row with its position and its aggregates, if there are any, and then its parts.
    """

    def __init__(
        self, order: CollectOrder, files: TaskFiles, plan: BatchPlan, of_nothing: pa.Table | None
    ) -> None:
        # The table of files stays in the store.
        self._order = order.without_files()
        self._files = files
        self._plan = plan
        self._of_nothing = None if of_nothing is None else in_utc(of_nothing)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return written(self._files, self._order, self._found(batches))

    def _found(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Groups]]:
        mine, start = None, 0
        for collected, merged in self._of_files(batches):
            if mine is None:
                task = collected[_TASK][0].as_py()
                mine, start = self._files.of_task(task), self._files.start(task)
            first = collected[_POSITION][0].as_py()
            files = mine.slice(first - start, len(collected))
            yield first, self._groups(collected, merged, files)

    def _of_files(
        self, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[tuple[pa.Table, Sequence[MergedResult]]]:
        """Yield the rows of some files, and the merged parts of each, if the indexes have parts."""
        if not self._plan.schemas:
            for batch in batches:
                if batch.num_rows:
                    yield self._listed(batch), ()
            return
        held: list[pa.Table] = []
        merged: list[MergedResult] = []
        now: MergedFile | None = None
        for batch in batches:
            listed = batch.filter(batch.column(NUMBER).is_null()) if batch.num_rows else batch
            if listed.num_rows:
                held.append(self._listed(listed.drop_columns(_OF_PARTS)))
            elif batch.num_rows and batch.column(_POSITION).null_count:
                raise StarskipError(_NOT_LISTED)
            for at, is_part in enumerate(batch.column(NUMBER).is_valid().to_pylist()):
                if is_part:
                    if now is None:
                        raise StarskipError(_NOT_LISTED)
                    now.add(batch, at)
                    continue
                if now is not None:
                    merged.append(now.result())
                    if len(merged) >= _FILES_HELD or sum(each.nbytes for each in merged) > _BYTES_HELD:
                        every = pa.concat_tables(held)
                        yield every.slice(0, len(merged)), merged
                        held, merged = [every.slice(len(merged))], []
                now = MergedFile(self._plan)
        if now is not None:
            yield pa.concat_tables(held), [*merged, now.result()]

    def _listed(self, batch: pa.RecordBatch) -> pa.Table:
        collected = in_utc(pa.Table.from_batches([batch]))
        if collected[_POSITION].null_count:
            raise StarskipError(_NOT_LISTED)
        return collected

    def _groups(self, collected: pa.Table, merged: Sequence[MergedResult], files: pa.Table) -> Groups:
        values = collected.drop_columns([_POSITION, _TASK])
        if self._of_nothing is not None:
            values = self._with_nothing(values, self._of_nothing)
        rows, malformed = (
            (pa.array([each.rows for each in merged]), np.array([each.malformed for each in merged]))
            if merged
            else (values[_ROWS], values[_MALFORMED].to_numpy() if _MALFORMED in values.column_names else None)
        )

        def columns(number: int) -> pa.Table:
            prefix = _prefix(number)
            names = [name for name in values.column_names if name.startswith(prefix)]
            found = values.select(names).rename_columns([name.removeprefix(prefix) for name in names])
            if number not in self._plan.schemas:
                return found
            of_parts = pa.concat_tables([each.tables[number] for each in merged])
            for name in found.column_names:
                of_parts = of_parts.append_column(name, found[name])
            return of_parts

        groups = groups_of(self._order, files, rows, columns)
        if malformed is None or not malformed.any():
            return groups
        sound = pa.array(np.arange(len(values)), mask=malformed > 0)
        return {name: group if name == FILES else group.take(sound) for name, group in groups.items()}

    def _with_nothing(self, values: pa.Table, of_nothing: pa.Table) -> pa.Table:
        """Replace the aggregates of files without rows, which have no group, by aggregates over no rows."""
        missing: Any = values[_ROWS].is_null().to_numpy()
        if not missing.any():
            return values
        at = np.where(missing, len(values), np.arange(len(values)))
        nothing = of_nothing.select(values.column_names).cast(values.schema)
        return pa.concat_tables([values, nothing]).take(pa.array(at))
