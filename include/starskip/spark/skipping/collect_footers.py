"""Collect metadata from the footers of Parquet files, on executors, without reading rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import Accumulator, AccumulatorParam
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from starskip.file_metadata.collect_order import Collection, CollectOrder
from starskip.file_metadata.write_collected import Groups
from starskip.lake.parquet.footer_bounds import FooterColumn, Footers, footer_bounds
from starskip.predicates.column_name import column_path, quoted
from starskip.predicates.data_types import arrow_type_of
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.collect_tasks import TaskFiles, groups_of, run_tasks, with_messages, written
from starskip.spark.skipping.read_signature import FIELD_IDS_SETTING, has_field_ids
from starskip.spark.skipping.table_relation import TableRelation
from starskip.storage.staged_write import StagedWrite

_FILES_AT_ONCE = 5_000
_REACHED = re.compile(r"(file:|s3a?:)")
_KINDS = (IntegralType, BooleanType, DateType, DecimalType, BinaryType, TimestampType, TimestampNTZType)
"""Types whose bounds are in footers; not floats, since a footer does not show NaN."""


@dataclass(frozen=True, slots=True)
class FooterAggregate:
    """``kind``: min, max, count (of a column's values) or rows; ``column``: position in the plan."""

    name: str
    kind: str
    column: int


@dataclass(frozen=True, slots=True)
class FooterPlan:
    """The columns to read from footers, and the aggregates of each index in an order."""

    columns: tuple[FooterColumn, ...]
    aggregates: tuple[tuple[FooterAggregate, ...], ...]
    case_sensitive: bool


@dataclass(frozen=True, slots=True)
class FooterCollection:
    """Result of a collection: ``unknown`` is the number of files with a value that footers lack.

    ``damaged``: positions in the order of files that are not Parquet; ``unread``: positions of other files
    whose footer cannot be read here.
    """

    collection: Collection
    unknown: int
    damaged: frozenset[int]
    unread: frozenset[int]


def footer_plan(order: CollectOrder, relation: TableRelation) -> FooterPlan | None:
    """Return the plan if footers hold everything in the order, None otherwise."""
    conf = relation.session.conf
    if (
        not order.indexes
        or not _has_footers(relation)
        or (conf.get(FIELD_IDS_SETTING) == "true" and has_field_ids(relation.schema.json()))
    ):
        return None
    partitions = {name.lower() for name in relation.partition_columns}
    columns: dict[str, FooterColumn] = {}
    found = []
    for index in order.indexes:
        quoted_names = [quoted(name) for name in index.columns]
        if index.row_values(quoted_names):
            return None
        aggregates = index.aggregates(quoted_names)
        counts_only = all(text.startswith("count(") for text in aggregates.values())
        for name in index.columns:
            path = column_path(name)
            kind = _arrow_type(relation.schema, path, counts_only)
            if kind is None or path[0].lower() in partitions:
                return None
            columns.setdefault(name, FooterColumn(path, kind))
        mine = _of_index(index, aggregates, list(columns))
        if mine is None:
            return None
        found.append(mine)
    sensitive = conf.get("spark.sql.caseSensitive") == "true"
    return FooterPlan(tuple(columns.values()), tuple(found), sensitive)


def collect_footers(
    order: CollectOrder,
    plan: FooterPlan,
    encoded_paths: pa.Array,
    relation: TableRelation,
    staged: StagedWrite,
) -> FooterCollection:
    """Collect an order from footers; missing values are null. Raises as ``run_tasks`` does."""
    context = relation.session.sparkContext
    seen = _Accumulators(
        context.accumulator(0),
        context.accumulator(set(), _Positions()),
        context.accumulator(set(), _Positions()),
    )

    def frame_of(files: TaskFiles) -> DataFrame:
        numbers = relation.session.range(0, files.tasks, 1, files.tasks)
        return with_messages(numbers, _Reader(order, files, plan, seen))

    collection = run_tasks(relation.session, order, encoded_paths, staged, frame_of)
    return FooterCollection(
        collection, seen.unknown.value, frozenset(seen.damaged.value), frozenset(seen.unread.value)
    )


def damaged_by_footers(
    order: CollectOrder, encoded_paths: pa.Array, relation: TableRelation, staged: StagedWrite
) -> frozenset[int]:
    """Return the positions in the order of files that are not Parquet; none for other formats."""
    if not _has_footers(relation):
        return frozenset()
    wanted = order.files["path"].is_valid()
    files = order.files.filter(wanted)
    # Its output is not published.
    alone = CollectOrder((), files, (len(files),), with_files=True)
    found = collect_footers(
        alone, FooterPlan((), (), False), encoded_paths.filter(wanted.combine_chunks()), relation, staged
    )
    positions = np.flatnonzero(wanted)
    return frozenset(int(positions[each]) for each in found.damaged)


def _has_footers(relation: TableRelation) -> bool:
    return (
        relation.names_in_files
        and relation.file_format == "parquet"
        and _REACHED.match(relation.path) is not None
    )


class _Positions(AccumulatorParam[set[int]]):
    """A set of positions, so that a task that ran twice counts once."""

    def zero(self, value: set[int]) -> set[int]:  # noqa: ARG002 - Spark's
        return set()

    def addInPlace(self, value1: set[int], value2: set[int]) -> set[int]:  # noqa: N802 - Spark's name
        value1 |= value2
        return value1


@dataclass(frozen=True, slots=True)
class _Accumulators:
    """Accumulators of the tasks; see FooterCollection."""

    unknown: Accumulator[int]
    damaged: Accumulator[set[int]]
    unread: Accumulator[set[int]]

    def add(self, start: int, paths: pa.ChunkedArray, footers: Footers, unknown: int) -> None:
        damaged = np.asarray(footers.damaged)
        unread = np.asarray(footers.rows.is_null()) & ~damaged & np.asarray(paths.is_valid())
        self.unknown.add(unknown)
        self.damaged.add(set((start + np.flatnonzero(damaged)).tolist()))
        self.unread.add(set((start + np.flatnonzero(unread)).tolist()))


class _Reader:
    """Reads, in a task, the footers of some files at a time."""

    def __init__(self, order: CollectOrder, files: TaskFiles, plan: FooterPlan, seen: _Accumulators) -> None:
        self._order = order.without_files()
        self._files = files
        self._plan = plan
        self._seen = seen

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tasks = [task for batch in batches for task in batch.column(0).to_pylist()]
        return written(self._files, self._order, self._found(tasks))

    def _found(self, tasks: Sequence[int]) -> Iterator[tuple[int, Groups]]:
        for task in tasks:
            mine, start = self._files.of_task(task), self._files.start(task)
            for at in range(0, len(mine), _FILES_AT_ONCE):
                some = mine.slice(at, _FILES_AT_ONCE)
                footers = footer_bounds(
                    some["path"].to_pylist(),
                    self._plan.columns,
                    case_sensitive=self._plan.case_sensitive,
                )
                unknown = _unknown_files(some["path"], footers, self._plan.aggregates)
                self._seen.add(start + at, some["path"], footers, unknown)
                yield start + at, self._groups(some, footers)

    def _groups(self, files: pa.Table, footers: Footers) -> Groups:
        def aggregates(number: int) -> pa.Table:
            return pa.table({each.name: _column(footers, each) for each in self._plan.aggregates[number]})

        return groups_of(self._order, files, footers.rows, aggregates)


def _unknown_files(
    paths: pa.ChunkedArray, footers: Footers, aggregates: Sequence[Sequence[FooterAggregate]]
) -> int:
    unknown = np.asarray(footers.rows.is_null())
    for aggregate in chain.from_iterable(aggregates):
        missing = np.asarray(_column(footers, aggregate).is_null())
        if aggregate.kind in ("min", "max"):
            # A column without values has no bounds.
            values = footers.columns[aggregate.column].values
            missing &= np.asarray(pc.fill_null(pc.not_equal(values, 0), True))
        unknown |= missing
    return int(np.count_nonzero(unknown & np.asarray(paths.is_valid())))


def _column(footers: Footers, aggregate: FooterAggregate) -> pa.Array:
    if aggregate.kind == "rows":
        return footers.rows
    bounds = footers.columns[aggregate.column]
    return {"min": bounds.least, "max": bounds.greatest, "count": bounds.values}[aggregate.kind]


def _of_index(
    index: SkippingIndex, aggregates: Mapping[str, str], names: Sequence[str]
) -> tuple[FooterAggregate, ...] | None:
    texts: dict[str, tuple[str, int]] = {"count(1)": ("rows", 0), "count(*)": ("rows", 0)}
    for name in index.columns:
        for kind in ("min", "max", "count"):
            texts[f"{kind}({quoted(name)})"] = (kind, names.index(name))
    if not all(text in texts for text in aggregates.values()):
        return None
    return tuple(FooterAggregate(name, *texts[text]) for name, text in aggregates.items())


def _arrow_type(schema: StructType, path: tuple[str, ...], counts_only: bool) -> pa.DataType | None:
    """Return the Arrow type of a column whose bounds or nulls are in footers, None for other columns."""
    kind: DataType = schema
    for part in path:
        if not isinstance(kind, StructType) or part not in kind.names:
            return None
        kind = kind[part].dataType
    is_plain_text = type(kind) is StringType and kind.simpleString() == "string"
    if not is_plain_text and not isinstance(kind, (*_KINDS, FractionalType) if counts_only else _KINDS):
        return None
    return arrow_type_of(kind.simpleString())
