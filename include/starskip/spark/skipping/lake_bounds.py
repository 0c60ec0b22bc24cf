"""Bounds, null counts and partition values of a snapshot's files, in the form of our metadata."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_type

from starskip.file_metadata.format_bounds import MAX_NUMBER, ROWS, bound_name
from starskip.lake.snapshot_columns import SnapshotColumn
from starskip.lake.table_snapshot import TableSnapshot
from starskip.spark.skipping.lake_columns import Path, identity_of


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
