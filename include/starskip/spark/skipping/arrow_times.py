"""Convert Spark's timestamps to the metadata's form, UTC, in columns, lists and structs."""

from __future__ import annotations

import pyarrow as pa


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
