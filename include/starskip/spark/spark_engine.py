"""The engine that runs the stages' maps and merges on Spark executors, as Arrow batches."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from starskip.errors import CapExceeded
from starskip.execution.engine import BatchMap, Rows
from starskip.execution.local_engine import LocalEngine
from starskip.spark.map_in_arrow import map_in_arrow
from starskip.spark.skipping.spark_skipping_engine import SparkSkipping
from starskip.spark.understood_failure import understood_failure
from starskip.storage.snapshot import Snapshot

_ITEM = pa.schema([("item", pa.binary())])
_LOCAL_RELATION = "spark.sql.execution.arrow.localRelationThreshold"
_TASKS_PER_CORE = 4
"""More tasks than cores even out items of unlike size, such as log files."""


@dataclass(frozen=True, slots=True)
class SparkRows:
    """A DataFrame behind the Rows protocol, and the maps that run over it.

    Maps that follow each other are one call of Python a task: each would otherwise start a worker of its own,
    which imports what the map needs, and would hand its rows to the next one through the JVM.
    """

    source: DataFrame
    schema: pa.Schema
    maps: tuple[BatchMap, ...] = ()

    @property
    def frame(self) -> DataFrame:
        """The rows after all maps, as a DataFrame."""
        if not self.maps:
            return self.source
        return map_in_arrow(self.source, _in_order(self.maps), self.schema)

    def map(self, function: BatchMap, schema: pa.Schema) -> SparkRows:
        """See Rows.map; one call of ``function`` a task."""
        return SparkRows(self.source, schema, (*self.maps, _typed(function, schema)))

    def merge(self, keys: Sequence[str], function: BatchMap, schema: pa.Schema) -> SparkRows:
        """See Rows.merge; a shuffle by the keys, then one call of ``function`` a partition."""
        partitions = self.source.sparkSession.sparkContext.defaultParallelism
        together = self.frame.repartition(partitions, *keys)
        return SparkRows(together, self.schema).map(function, schema)

    def gather(self, what: str, max_rows: int) -> pa.Table:
        """See Rows.gather."""
        try:
            frame = self.frame
            table = frame.limit(max_rows + 1).toArrow() if max_rows < 1_000_000 else frame.toArrow()
        except (PySparkException, Py4JError) as error:
            raise understood_failure(error) from error
        if len(table) > max_rows:
            raise CapExceeded(f"{what}: more than {max_rows} rows; raise the cap or narrow the tables")
        return table.select(self.schema.names).cast(self.schema)


@dataclass(frozen=True, slots=True)
class SparkEngine:
    """Runs stages in ``session``."""

    session: SparkSession

    @property
    def skipping(self) -> SparkSkipping:
        """See LakeEngine.skipping."""
        return SparkSkipping(self.session)

    def rows_of_items(
        self,
        items: Sequence[Any],
        function: Callable[[Iterable[Any]], Iterator[pa.RecordBatch]],
        schema: pa.Schema,
    ) -> Rows:
        """See Engine.rows_of_items; items travel pickled, in order, divided evenly among the tasks."""
        if not items:
            # The result for no items is computed here: no Python worker is started for it.
            return LocalEngine().rows_of_items(items, function, schema)
        cores = self.session.sparkContext.defaultParallelism
        tasks = min(len(items), cores * _TASKS_PER_CORE)
        dumps: Callable[[Any], bytes] = cloudpickle.dumps
        pickled = [dumps(item) for item in items]
        cuts = [len(pickled) * task // tasks for task in range(tasks + 1)]
        slices = [pa.array(pickled[start:end], pa.binary()) for start, end in pairwise(cuts)]
        frame = self._one_task_a_chunk(pa.table([pa.chunked_array(slices)], _ITEM))

        def unpickled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            # The items were pickled by this engine on the driver, a moment ago.
            values = (value for batch in batches for value in batch.column(0).to_pylist())
            return function(cloudpickle.loads(value) for value in values)

        return SparkRows(frame, _ITEM).map(unpickled, schema)

    def rows_of_snapshot(
        self, snapshot: Snapshot, tables: Collection[str], columns: Sequence[str] | None = None
    ) -> Rows:
        """See Engine.rows_of_snapshot; each file is read on an executor, as it is without Spark."""
        schema = snapshot.row_schema()
        names = list(columns) if columns is not None else schema.names
        selected = pa.schema([schema.field(name) for name in names])

        def read(sources: Iterable[Snapshot]) -> Iterator[pa.RecordBatch]:
            for source in sources:
                yield from source.batches(columns=names)

        return self.rows_of_items(snapshot.by_file(tables), read, selected)

    def _one_task_a_chunk(self, table: pa.Table) -> DataFrame:
        """Return a table's rows, each chunk in a task.

        They go from Arrow to the JVM directly: a Python RDD would start workers of its own to hand them over.
        """
        before = self.session.conf.get(_LOCAL_RELATION, None)
        # Spark would keep such a small table on the driver, and cut it by its own measure.
        self.session.conf.set(_LOCAL_RELATION, "0")
        try:
            return self.session.createDataFrame(table)
        finally:
            if before is None:
                self.session.conf.unset(_LOCAL_RELATION)
            else:
                self.session.conf.set(_LOCAL_RELATION, before)


def _in_order(functions: Sequence[BatchMap]) -> BatchMap:
    """Return one function that calls ``functions`` one after the other."""

    def call(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for function in functions:
            batches = function(batches)
        yield from batches

    return call


def _typed(function: BatchMap, schema: pa.Schema) -> BatchMap:
    """Cast batches to ``schema``: Spark also compares nullability and field names."""

    def call(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in function(batches):
            if batch.num_rows:
                yield batch if batch.schema.equals(schema) else batch.select(schema.names).cast(schema)

    return call
