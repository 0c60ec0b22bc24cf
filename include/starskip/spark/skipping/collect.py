"""Collect the metadata of all indexes by one Spark pass over the rows; its tasks write the files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import from_arrow_schema

from starskip.errors import StarskipError
from starskip.indexes.skipping.metadata.collect_order import FILES, Collection, CollectOrder
from starskip.indexes.skipping.metadata.write_collected import Groups
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.predicates.column_name import column_path
from starskip.spark.skipping.collect_tasks import TaskFiles, groups_of, run_tasks, with_messages, written
from starskip.spark.skipping.list_files import file_path_of
from starskip.spark.skipping.table_relation import MALFORMED
from starskip.storage.staged_write import StagedWrite

_POSITION, _TASK, _PATH, _ROWS = "_position", "_task", "_file_path", "_rows"
_MALFORMED = "_malformed"
_VALUES_TRIED = 64
"""Values for each partition: that none of so many reaches one is less likely than a disk failure."""


def collect(order: CollectOrder, encoded_paths: pa.Array, rows: DataFrame, aside: StagedWrite) -> Collection:
    """Collect an order from ``rows``, which are exactly the rows of the order's files.

    ``encoded_paths``: of the order's files, as in ``_metadata.file_path``. Raises as ``run_tasks`` does.
    """

    def frame_of(files: TaskFiles) -> DataFrame:
        aggregates = _aggregates(order.indexes)
        if MALFORMED in rows.columns:
            aggregates.append(sql.count(MALFORMED).alias(_MALFORMED))
        of_files = rows.groupBy(file_path_of(rows).alias(_PATH)).agg(*aggregates)
        # The aggregates of no rows, for files without rows, which have no group.
        of_nothing = rows.where(sql.lit(False)).agg(*aggregates).toArrow()
        together = _wanted(rows, files).join(of_files, on=_PATH, how="full").drop(_PATH)
        in_tasks = _by_task(together, files.tasks)
        return with_messages(in_tasks.sortWithinPartitions(_POSITION), _Writer(order, files, of_nothing))

    return run_tasks(rows.sparkSession, order, encoded_paths, aside, frame_of)


def quoted(name: str) -> str:
    """Return a dotted column name as quoted SQL."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in column_path(name))


def _aggregates(indexes: Sequence[SkippingIndex]) -> list[Any]:
    # With such an aggregate Spark aggregates min and max of strings by hash; otherwise it sorts all rows.
    by_hash = sql.expr("collect_list(CAST(NULL AS INT))").alias("_by_hash")
    found = [sql.count(sql.lit(1)).alias(_ROWS), by_hash]
    for number, index in enumerate(indexes):
        columns = [quoted(name) for name in index.columns]
        for name, text in index.aggregates(columns).items():
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
    return numbers.mapInArrow(read, from_arrow_schema(schema))


class _Writer:
    """Writes, in a task, the metadata of its files, which come in the order of their positions."""

    def __init__(self, order: CollectOrder, files: TaskFiles, of_nothing: pa.Table) -> None:
        # The table of files stays in the store.
        self._order = order.without_files()
        self._files = files
        self._of_nothing = in_utc(of_nothing)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return written(self._files, self._order, self._found(batches))

    def _found(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Groups]]:
        mine, start = None, 0
        for batch in batches:
            if not batch.num_rows:
                continue
            collected = in_utc(pa.Table.from_batches([batch]))
            if collected[_POSITION].null_count:
                raise StarskipError("rows came of files that were not listed; run this again")
            if mine is None:
                task = collected[_TASK][0].as_py()
                mine, start = self._files.of_task(task), self._files.start(task)
            first = collected[_POSITION][0].as_py()
            yield first, self._groups(collected, mine.slice(first - start, len(collected)))

    def _groups(self, collected: pa.Table, files: pa.Table) -> Groups:
        values = self._with_nothing(collected.drop_columns([_POSITION, _TASK]))

        def aggregates(number: int) -> pa.Table:
            prefix = _prefix(number)
            names = [name for name in values.column_names if name.startswith(prefix)]
            return values.select(names).rename_columns([name.removeprefix(prefix) for name in names])

        groups = groups_of(self._order, files, values[_ROWS], aggregates)
        if _MALFORMED not in values.column_names:
            return groups
        sound = pa.array(np.arange(len(values)), mask=values[_MALFORMED].to_numpy() > 0)
        return {name: group if name == FILES else group.take(sound) for name, group in groups.items()}

    def _with_nothing(self, values: pa.Table) -> pa.Table:
        """Replace the aggregates of files without rows, which have no group, by those of no rows."""
        missing: Any = values[_ROWS].is_null().to_numpy()
        if not missing.any():
            return values
        at = np.where(missing, len(values), np.arange(len(values)))
        nothing = self._of_nothing.select(values.column_names).cast(values.schema)
        return pa.concat_tables([values, nothing]).take(pa.array(at))


def in_utc(table: pa.Table) -> pa.Table:
    """Convert timestamps to UTC from the session's time zone."""
    return table.cast(pa.schema([field.with_type(_in_utc(field.type)) for field in table.schema]))


def _in_utc(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_utc(kind.value_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_in_utc(field.type)) for field in kind])
    return kind
