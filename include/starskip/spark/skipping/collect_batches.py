"""Run the FileCollectors of indexes in tasks: over a task's rows, then over each file's parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from starskip.predicates.column_name import quoted
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.map_in_arrow import map_in_arrow
from starskip.spark.skipping.arrow_times import in_utc
from starskip.spark.skipping.table_relation import MALFORMED

NUMBER, STATE, PART_ROWS, PART_MALFORMED = "_number", "_state", "_part_rows", "_part_malformed"
FILE = ("_file_hash", "_file_hash_2")
"""Two hashes of a file's path stand for it: each row has them, and paths are long."""
OF_THE_FILE = -1
"""The number of a part that holds the number of rows that a task has read from a file."""
PARTS_SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in FILE),
        (NUMBER, pa.int32()),
        (STATE, pa.binary()),
        (PART_ROWS, pa.int64()),
        (PART_MALFORMED, pa.int64()),
    ]
)
_STATE_BYTES = 8 << 20
"""A collector in a task that reads rows hands on its state when it is larger."""
_SENT_BYTES, _SENT_ROWS = 4 << 20, 1000


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """By the number of an index in an order, its row values: names and Arrow types."""

    indexes: tuple[SkippingIndex, ...]
    schemas: Mapping[int, pa.Schema]

    @classmethod
    def of(cls, indexes: Sequence[SkippingIndex], rows: DataFrame) -> BatchPlan:
        """Return the plan of the indexes that have row values."""
        schemas = {}
        for number, values in _row_values(indexes).items():
            frame = rows.select(*(sql.expr(text).alias(name) for name, text in values.items()))
            schemas[number] = _in_arrow(frame.schema)
        return cls(tuple(indexes), schemas)

    def collector(self, number: int) -> FileCollector:
        """Return an empty collector of an index."""
        return self.indexes[number].collector(self.schemas[number])

    def parts(self, rows: DataFrame, path: Column) -> DataFrame:
        """Return the parts of all files, as ``PARTS_SCHEMA``; ``path``: the path of each row's file."""
        columns = [each.alias(name) for each, name in zip(file_hashes(path), FILE, strict=True)]
        for number, values in _row_values(self.indexes).items():
            columns += [sql.expr(text).alias(f"_{number}_{name}") for name, text in values.items()]
        if MALFORMED in rows.columns:
            columns.append(sql.col(MALFORMED).isNotNull().alias(MALFORMED))
        return map_in_arrow(rows.select(*columns), _Reader(self), PARTS_SCHEMA)


def _in_arrow(schema: StructType) -> pa.Schema:
    """Return a schema in Arrow's types, with timestamps in UTC."""
    try:
        # PySpark 4.2 and newer ask for the time zone, which older versions do not take.
        return to_arrow_schema(schema, timezone="UTC")  # type: ignore[call-arg]
    except TypeError:
        return in_utc(to_arrow_schema(schema).empty_table()).schema


def file_hashes(path: Column) -> tuple[Column, Column]:
    """Return two columns that together identify the path."""
    return sql.xxhash64(path), sql.xxhash64(path, sql.lit("starskip"))


def _row_values(indexes: Sequence[SkippingIndex]) -> dict[int, Mapping[str, str]]:
    named = ((n, each.row_values([quoted(name) for name in each.columns])) for n, each in enumerate(indexes))
    return {number: values for number, values in named if values}


class _Reader:
    """Adds, in a task, the rows of file after file to their collectors, and yields the collectors' parts."""

    def __init__(self, plan: BatchPlan) -> None:
        self._plan = plan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return _sent(self._parts(batches))

    def _parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[object, ...]]:
        file: tuple[int, ...] | None = None
        collectors: dict[int, FileCollector] = {}
        rows = malformed = 0
        for batch in batches:
            for found, piece in _of_files(batch):
                if found != file:
                    if file is not None:
                        yield from self._ended(file, collectors, rows, malformed)
                    file, collectors, rows, malformed = found, {}, 0, 0
                rows += piece.num_rows
                if MALFORMED in piece.schema.names:
                    malformed += piece.column(MALFORMED).true_count
                for number, schema in self._plan.schemas.items():
                    collector = collectors.get(number) or self._plan.collector(number)
                    collector.add(_values(piece, number, schema))
                    collectors[number] = collector
                    if collector.size_bytes > _STATE_BYTES:
                        yield from _states(file, number, collectors.pop(number))
        if file is not None:
            yield from self._ended(file, collectors, rows, malformed)

    def _ended(
        self, file: tuple[int, ...], collectors: Mapping[int, FileCollector], rows: int, malformed: int
    ) -> Iterator[tuple[object, ...]]:
        for number, collector in collectors.items():
            yield from _states(file, number, collector)
        yield (*file, OF_THE_FILE, None, rows, malformed)


def _of_files(batch: pa.RecordBatch) -> Iterator[tuple[tuple[int, ...], pa.RecordBatch]]:
    """Yield the rows of each file; the rows of a file are consecutive."""
    if not batch.num_rows:
        return
    hashes = np.stack([batch.column(name).to_numpy() for name in FILE], axis=1)
    starts = np.flatnonzero((hashes[1:] != hashes[:-1]).any(axis=1)) + 1
    for start, end in zip([0, *starts], [*starts, batch.num_rows], strict=True):
        yield tuple(hashes[start].tolist()), batch.slice(start, end - start)


def _values(piece: pa.RecordBatch, number: int, schema: pa.Schema) -> pa.RecordBatch:
    columns = [piece.column(f"_{number}_{name}").cast(schema.field(name).type) for name in schema.names]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _states(file: tuple[int, ...], number: int, collector: FileCollector) -> Iterator[tuple[object, ...]]:
    for part in collector.parts():
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, part.schema) as stream:
            stream.write_batch(part)
        yield (*file, number, sink.getvalue().to_pybytes(), None, None)


def part_of(state: bytes) -> pa.RecordBatch:
    """Return the part in a state."""
    return pa.ipc.open_stream(state).read_next_batch()


def _sent(parts: Iterable[tuple[object, ...]]) -> Iterator[pa.RecordBatch]:
    held: list[tuple[object, ...]] = []
    held_bytes = 0
    for part in parts:
        held.append(part)
        held_bytes += len(part[3]) if isinstance(part[3], bytes) else 0
        if held_bytes > _SENT_BYTES or len(held) >= _SENT_ROWS:
            yield _batch(held)
            held, held_bytes = [], 0
    if held:
        yield _batch(held)


def _batch(parts: Sequence[tuple[object, ...]]) -> pa.RecordBatch:
    columns = zip(*parts, strict=True)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, PARTS_SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=PARTS_SCHEMA)


class MergedFile:
    """The parts of one file, merged as they come."""

    def __init__(self, plan: BatchPlan) -> None:
        """Start without a part."""
        self._plan = plan
        self._collectors: dict[int, FileCollector] = {}
        self.rows = self.malformed = 0

    def add(self, parts: pa.RecordBatch, at: int) -> None:
        """Take the part in row ``at``."""
        number = parts.column(NUMBER)[at].as_py()
        if number == OF_THE_FILE:
            self.rows += parts.column(PART_ROWS)[at].as_py()
            self.malformed += parts.column(PART_MALFORMED)[at].as_py()
            return
        if number not in self._collectors:
            self._collectors[number] = self._plan.collector(number)
        self._collectors[number].merge(part_of(parts.column(STATE)[at].as_py()))

    def result(self) -> MergedResult:
        """Return the result; for a file without rows, the metadata of no rows."""
        tables = {}
        for number in self._plan.schemas:
            collector = self._collectors.pop(number, None) or self._plan.collector(number)
            tables[number] = pa.table(dict(collector.result()))
        return MergedResult(self.rows, self.malformed, tables)


@dataclass(frozen=True, slots=True)
class MergedResult:
    """The rows of one file, the number of malformed ones, and one row of metadata by number of index."""

    rows: int
    malformed: int
    tables: Mapping[int, pa.Table]

    @property
    def nbytes(self) -> int:
        """The bytes of the metadata."""
        return sum(table.nbytes for table in self.tables.values())
