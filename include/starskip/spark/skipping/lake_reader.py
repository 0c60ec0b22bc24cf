"""The TableReader of Delta and Iceberg tables on Spark; bounds that their logs have, as metadata of ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_type

from starskip.file_metadata.collect_order import BOUNDS, Collection, CollectOrder, collection_of
from starskip.file_metadata.format_bounds import MAX_NUMBER, ROWS, FormatBounds, bound_name, without_bounds
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.metadata_files import joined
from starskip.file_metadata.table_files import TableFiles
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.write_collected import write_collected
from starskip.lake.snapshot_columns import SnapshotColumn
from starskip.lake.table_snapshot import TableSnapshot
from starskip.skipping.file_metadata import Mask
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.jvm_toolbox import JvmToolbox
from starskip.spark.skipping.known_files import hadoop_paths
from starskip.spark.skipping.lake_columns import COLUMNS, Path, columns_text, identity_of
from starskip.spark.skipping.lake_relation import LakeRelation
from starskip.spark.skipping.listed_files import listed_files
from starskip.spark.skipping.spark_reader import SparkReader
from starskip.spark.skipping.table_relation import ListedTable
from starskip.storage.staged_write import StagedWrite

_AT_ONCE = 50_000
"""Files whose bounds are computed at once."""
_ALWAYS_MS = 1 << 62
"""A log gives a rewritten file another time, or commit: all files are old enough to be trusted."""


class LakeReader(SparkReader):
    """Implements TableReader for the data files of one snapshot."""

    def __init__(self, relation: LakeRelation, indexes: Sequence[SkippingIndex]) -> None:
        """Take the indexes that the metadata will have."""
        super().__init__(relation)
        self._of_lake = relation
        self._columns = columns_text(relation.known_columns(indexes))

    @property
    def source(self) -> TableSource:
        """See TableReader."""
        relation = self._of_lake
        table_format = relation.snapshot.table_format
        return TableSource(relation.path, table_format, relation.read_signature, {COLUMNS: self._columns})

    def list_files(self, *, anew: bool, clock_behind_ms: int) -> TableFiles:  # noqa: ARG002 - TableReader's
        """Return the snapshot's files, the same ones each time."""
        if self._listed is None:
            toolbox = JvmToolbox(self._of_lake.session)
            index = self._of_lake.relation.location()
            listed = listed_files(toolbox, index)
            files = TableFiles(listed.paths(), *listed.numbers(), _ALWAYS_MS)
            self._listed = ListedTable(self._of_lake, toolbox, index, listed, files)
        return self._listed.files

    def collect(self, order: CollectOrder, staged: StagedWrite) -> Collection:
        """See TableReader; the snapshot's own bounds of files are copied here, without a Spark job."""
        others, with_bounds = without_bounds(order)
        found: Collection = [{} for _ in order.row_counts]
        if others.indexes or others.with_files:
            found = self._collect_files(others, staged)
        if not with_bounds:
            return found
        mine = replace(order, indexes=(FormatBounds(),), with_files=False)
        bounds = collection_of(mine, list(write_collected(staged, order.row_counts, self._bounds(mine))))
        return [{**one, **other} for one, other in zip(found, bounds, strict=True)]

    def _collect_files(self, order: CollectOrder, staged: StagedWrite) -> Collection:
        return super().collect(order, staged)

    def _bounds(self, order: CollectOrder) -> Iterator[tuple[int, Mapping[str, pa.Table]]]:
        snapshot = self._of_lake.snapshot
        paths = hadoop_paths(snapshot.files, self._of_lake.path)
        for start in range(0, len(order.files), _AT_ONCE):
            asked = joined(order.files.slice(start, _AT_ONCE), "path")
            yield start, {BOUNDS: bounds_of(snapshot, match_paths(asked, paths))}

    def changed_files(self, chosen: Mask) -> pa.Array:  # noqa: ARG002 - TableReader's
        """Return none: a snapshot's files do not change while they are read."""
        return pa.array([], pa.string())


def bounds_of(snapshot: TableSnapshot, positions: npt.NDArray[np.int64]) -> pa.Table:
    """Return a snapshot's bounds of the files at ``positions``, a row each; nulls for -1."""
    rows = pa.array(positions, mask=positions < 0)

    def taken(column: pa.ChunkedArray | pa.Array) -> pa.Array:
        found = column.take(rows)
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found

    counts = taken(snapshot.files[ROWS])
    found = {ROWS: counts}
    by_column = dict(_partitions(snapshot))
    for column in snapshot.columns:
        try:
            kind = from_arrow_type(column.kind, prefer_timestamp_ntz=True).simpleString()
        except Exception:  # noqa: S112 - PySpark's own errors for types that it lacks, of several classes
            continue
        ends = _partition_ends(snapshot, column, by_column) or _ends(snapshot, column)
        if not ends:
            continue
        ends = {name: taken(each) for name, each in ends.items()}
        if "nulls" not in ends:
            # If the partition value is not null, no row is null; if it is null, all rows are.
            ends["nulls"] = pc.if_else(ends["min"].is_valid(), pa.scalar(0, pa.int64()), counts)
        ends["values"] = pc.subtract(counts, ends["nulls"])
        identity = identity_of(column, snapshot.table_format)
        found |= {bound_name(end, identity, kind): values for end, values in ends.items()}
    return pa.table(found)


def _ends(snapshot: TableSnapshot, column: SnapshotColumn) -> dict[str, Any]:
    bounds = snapshot.bounds
    of_log = {"min": "min", "max": "max", MAX_NUMBER: MAX_NUMBER, "nulls": "null_count"}
    names = {end: f"{name}.{column.name}" for end, name in of_log.items()}
    if bounds is None or names["nulls"] not in bounds.column_names:
        return {}
    return {end: bounds[name] for end, name in names.items() if name in bounds.column_names}


def _partitions(snapshot: TableSnapshot) -> Iterator[tuple[Path, str]]:
    """Yield the columns of identity partitions of all files, with the name of their partition values."""
    if snapshot.partitions is None:
        return
    names = set(snapshot.partition_columns)
    for field in snapshot.partition_fields:
        # Files may be split by a part of the same column, too, such as truncate[2].
        source = field.source if field.transform == "identity" else None
        if source is not None and len(source) == 1 and source[0] in names:
            yield source, field.name


def _partition_ends(
    snapshot: TableSnapshot, column: SnapshotColumn, by_column: Mapping[Path, str]
) -> dict[str, Any]:
    """Return the bounds of a column whose value is the file's partition value, none if that is not known."""
    if column.path not in by_column or snapshot.partitions is None:
        return {}
    kind = column.kind
    if pa.types.is_floating(kind) or pa.types.is_timestamp(kind) or pa.types.is_binary(kind):
        # Delta's are texts; a time is in the time zone of the reading session.
        return {}
    values = snapshot.partitions[by_column[column.path]].cast(kind)
    if pa.types.is_string(kind) and pc.any(pc.equal(values, "")).as_py():
        # Delta's log has null as an empty text, too.
        return {}
    return {"min": values, "max": values}
