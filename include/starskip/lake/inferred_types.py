"""Types that are told by values alone, as in JSON: what has no value yet may become anything later.

Arrow's type null stands for it as long as schemas are unified. Spark reads a text in its place.
"""

from __future__ import annotations

import pyarrow as pa

_NO_VALUES = {b"values": b"none"}
"""Metadata of a field that is read as text only because no file has a value of it."""


def settled(schema: pa.Schema) -> pa.Schema:
    """Return what Spark reads: texts where there are no values, and no structs without fields.

    Columns and fields come in the order of their names, as Spark infers them.
    """
    return pa.schema(_sorted([field for each in schema if (field := _settled(each)) is not None]))


def unsettled(schema: pa.Schema) -> pa.Schema:
    """Return the types before they were settled."""
    return pa.schema([_unsettled(each) for each in schema])


def _settled(field: pa.Field) -> pa.Field | None:
    kind = field.type
    if pa.types.is_null(kind):
        return pa.field(field.name, pa.string(), metadata=_NO_VALUES)
    if pa.types.is_struct(kind):
        fields = [found for each in kind if each.name and (found := _settled(each)) is not None]
        return pa.field(field.name, pa.struct(_sorted(fields))) if fields else None
    if pa.types.is_list(kind):
        element = _settled(pa.field("element", kind.value_type))
        return None if element is None else pa.field(field.name, pa.list_(element))
    return pa.field(field.name, kind)


def _unsettled(field: pa.Field) -> pa.Field:
    kind = field.type
    if (field.metadata or {}).get(b"values") == b"none":
        return pa.field(field.name, pa.null())
    if pa.types.is_struct(kind):
        return pa.field(field.name, pa.struct([_unsettled(each) for each in kind]))
    if pa.types.is_list(kind):
        return pa.field(field.name, pa.list_(_unsettled(kind.value_field)))
    return pa.field(field.name, kind)


def _sorted(fields: list[pa.Field]) -> list[pa.Field]:
    return sorted(fields, key=lambda each: each.name.encode("utf-16-be"))
