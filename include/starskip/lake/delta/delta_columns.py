"""Columns of a Delta table with the ids and names that column mapping gives them, and their bounds.

The log keeps bounds by the names that columns have in files. Delta's protocol, "Per-file Statistics".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import printable
from starskip.lake.snapshot_columns import SnapshotColumn, with_fields_of_structs
from starskip.lake.spark_types import TYPE_TEXT, char_lengths_of_text

_ID, _NAME = "delta.columnMapping.id", "delta.columnMapping.physicalName"
_MILLISECOND_US = 1_000
BOUNDS = ("min", "max", "null_count")
"""Columns of deltalake's table of files that hold bounds, as structs."""


def delta_columns(fields: Iterable[Any], schema: pa.Schema) -> Iterator[SnapshotColumn]:
    """Yield the columns, and fields of structs at any depth; ``fields``: the fields of deltalake's schema.

    Where ids are matched (mode "id"), files that Delta wrote have the same names, too.
    """
    pairs = zip(fields, schema, strict=True)
    yield from with_fields_of_structs(_whole_column(field, of_arrow.type) for field, of_arrow in pairs)


def _whole_column(field: Any, kind: pa.DataType) -> SnapshotColumn:
    column = _column(field, kind, (), ())
    text = field.metadata.get(TYPE_TEXT, "")
    try:
        lengths = char_lengths_of_text(text, kind, column.path)
    except ValueError:
        # If a field was added later, Spark leaves it out, or gives a field the values of another.
        told = f"column {printable(column.name)} is no longer {printable(text)}, the type in its metadata"
        return replace(column, unlike_spark=told)
    return _with_lengths(column, lengths) if lengths else column


def _with_lengths(column: SnapshotColumn, lengths: Mapping[tuple[str, ...], int]) -> SnapshotColumn:
    children = tuple(_with_lengths(each, lengths) for each in column.children)
    return replace(column, children=children, char_length=lengths.get(column.path))


def _column(
    field: Any, kind: pa.DataType, above: tuple[str, ...], stored_above: tuple[str, ...]
) -> SnapshotColumn:
    path, stored = (*above, field.name), (*stored_above, field.metadata.get(_NAME, field.name))
    children = _within(field.type, kind, path, stored)
    return SnapshotColumn(path, kind, field.metadata.get(_ID), stored, children=children)


def _within(
    of_delta: Any, kind: pa.DataType, path: tuple[str, ...], stored: tuple[str, ...]
) -> tuple[SnapshotColumn, ...]:
    """Return the fields of a struct, the element of a list, or the key and value of a map."""
    if pa.types.is_struct(kind):
        pairs = zip(of_delta.fields, kind, strict=True)
        return tuple(_column(each, of_arrow.type, path, stored) for each, of_arrow in pairs)
    inner: list[tuple[str, Any, pa.DataType]] = []
    if pa.types.is_map(kind):
        inner = [
            ("key", of_delta.key_type, kind.key_type),
            ("value", of_delta.value_type, kind.item_type),
        ]
    elif hasattr(of_delta, "element_type"):
        inner = [("element", of_delta.element_type, kind.value_type)]
    found = []
    for name, each, type_ in inner:
        below, stored_below = (*path, name), (*stored, name)
        children = _within(each, type_, below, stored_below)
        found.append(SnapshotColumn(below, type_, stored=stored_below, children=children))
    return tuple(found)


def delta_bounds(columns: Iterable[SnapshotColumn], actions: pa.Table) -> pa.Table | None:
    """Return bounds by the current names of columns; None where the log has none.

    ``actions``: deltalake's table of the files of a version.
    """
    found = {}
    for column in columns:
        for kind in BOUNDS:
            values = _field(actions, kind, column.stored)
            if values is None or pa.types.is_nested(values.type):
                continue
            if kind != "null_count":
                if kind == "max" and pa.types.is_floating(column.kind):
                    found[f"max_number.{column.name}"] = _number(values, column.kind)
                if (values := _bound(values, column.kind, kind)) is None:
                    continue
            found[f"{kind}.{column.name}"] = values
    return pa.table(found) if found else None


def _field(actions: pa.Table, kind: str, path: Sequence[str]) -> pa.ChunkedArray | None:
    """Return a field of structs within structs, None where the log has it for no file."""
    if kind not in actions.column_names:
        return None
    found = actions.column(kind)
    for name in path:
        if not pa.types.is_struct(found.type) or found.type.get_field_index(name) < 0:
            return None
        found = pc.struct_field(found, [name])
    return found


def _bound(values: pa.ChunkedArray, kind: pa.DataType, end: str) -> pa.ChunkedArray | None:
    """Return bounds that hold in Spark's order, None for a type whose logged bounds may not hold."""
    if pa.types.is_binary(kind):
        return None
    values = values.cast(kind)
    if pa.types.is_floating(kind):
        if end == "max":
            # Some writers leave out NaN, which is the greatest value in Spark, and the log does not name a
            # file's writer.
            return pa.chunked_array([pa.nulls(len(values), kind)])
        return _number(values, kind)
    if pa.types.is_timestamp(kind) and end == "max":
        # Spark writes milliseconds, cut off.
        number = values.cast(pa.int64())
        is_cut = pc.equal(number, pc.multiply(pc.divide(number, _MILLISECOND_US), _MILLISECOND_US))
        last = pc.add(number, _MILLISECOND_US - 1)
        return pc.if_else(is_cut, last, number).cast(kind)
    return values


def _number(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Return bounds of numbers, null for NaN; -0.0 is 0.0."""
    values = values.cast(kind)
    return pc.if_else(pc.is_nan(values), pa.scalar(None, kind), pc.add(values, pa.scalar(0.0, kind)))
