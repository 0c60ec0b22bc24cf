"""Columns of an Iceberg schema with their field ids, as the Arrow types of the values that Spark reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from pyiceberg import types as iceberg

from starskip.lake.snapshot_columns import SnapshotColumn, with_fields_of_structs

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table.name_mapping import NameMapping

_KINDS: Mapping[type, pa.DataType] = {
    iceberg.BooleanType: pa.bool_(),
    iceberg.IntegerType: pa.int32(),
    iceberg.LongType: pa.int64(),
    iceberg.FloatType: pa.float32(),
    iceberg.DoubleType: pa.float64(),
    iceberg.DateType: pa.date32(),
    iceberg.TimeType: pa.time64("us"),
    iceberg.TimestampType: pa.timestamp("us"),
    iceberg.TimestamptzType: pa.timestamp("us", "UTC"),
    iceberg.TimestampNanoType: pa.timestamp("ns"),
    iceberg.TimestamptzNanoType: pa.timestamp("ns", "UTC"),
    iceberg.StringType: pa.string(),
    iceberg.UUIDType: pa.binary(16),
    iceberg.BinaryType: pa.binary(),
    iceberg.FixedType: pa.binary(),
    iceberg.UnknownType: pa.null(),
}
_OTHER = pa.large_binary()
"""The type of geometries and of unknown types: bytes, whose order is not the order of their bounds."""


def arrow_type(kind: iceberg.IcebergType) -> pa.DataType:
    """Return the Arrow type of the values that Spark reads; bytes for a UUID, which Spark shows as text."""
    if isinstance(kind, iceberg.DecimalType):
        return pa.decimal128(kind.precision, kind.scale)
    if isinstance(kind, iceberg.StructType):
        return pa.struct([_field(each) for each in kind.fields])
    if isinstance(kind, iceberg.ListType):
        return pa.list_(pa.field("element", arrow_type(kind.element_type)))
    if isinstance(kind, iceberg.MapType):
        return pa.map_(arrow_type(kind.key_type), arrow_type(kind.value_type))
    return _KINDS.get(type(kind), _OTHER)


def arrow_schema(schema: Schema) -> pa.Schema:
    """Return the columns in their order."""
    return pa.schema([_field(each) for each in schema.fields])


def snapshot_columns(
    fields: tuple[iceberg.NestedField, ...], names: NameMapping | None = None
) -> Iterator[SnapshotColumn]:
    """Yield the columns and the fields of structs at any depth, with their ids.

    ``names``: the names of columns in files without ids.
    """
    mapped = {} if names is None else _mapped(names)
    yield from with_fields_of_structs(_column(each, mapped, ()) for each in fields)


def _column(
    field: iceberg.NestedField, names: Mapping[int, tuple[str, ...]], above: tuple[str, ...]
) -> SnapshotColumn:
    path, kind = (*above, field.name), field.field_type
    inner: tuple[iceberg.NestedField, ...] = ()
    if isinstance(kind, iceberg.StructType):
        inner = kind.fields
    elif isinstance(kind, iceberg.ListType):
        inner = (kind.element_field,)
    elif isinstance(kind, iceberg.MapType):
        inner = (kind.key_field, kind.value_field)
    return SnapshotColumn(
        path,
        arrow_type(kind),
        field.field_id,
        has_default=field.initial_default is not None,
        names=names.get(field.field_id, ()),
        children=tuple(_column(each, names, path) for each in inner),
    )


def _mapped(names: NameMapping) -> dict[int, tuple[str, ...]]:
    """Return the names of a mapping by field id, at all depths."""
    found: dict[int, tuple[str, ...]] = {}
    below = list(names.root)
    while below:
        field = below.pop()
        below.extend(field.fields)
        if field.field_id is not None:
            found[field.field_id] = tuple(field.names)
    return found


def _field(field: iceberg.NestedField) -> pa.Field:
    return pa.field(field.name, arrow_type(field.field_type))
