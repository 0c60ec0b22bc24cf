"""Spark's types as the JSON of a plan has them: their simple strings and their Arrow types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from starskip.indexes.skipping.data_types import literal_type_of

_SIMPLE = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def simple_string(data_type: Any) -> str:
    """Return what ``DataType.simpleString`` is of a type, which JSON has as a text or as an object."""
    if isinstance(data_type, str):
        return _SIMPLE.get(data_type, data_type)
    kind = data_type["type"]
    if kind == "struct":
        fields = (f"{field['name']}:{simple_string(field['type'])}" for field in data_type["fields"])
        return f"struct<{','.join(fields)}>"
    if kind == "array":
        return f"array<{simple_string(data_type['elementType'])}>"
    if kind == "map":
        return f"map<{simple_string(data_type['keyType'])},{simple_string(data_type['valueType'])}>"
    return str(kind)


def arrow_type(data_type: Any) -> pa.DataType | None:
    """Return the Arrow type of a type's values, None for types that are not compared by metadata."""
    return literal_type_of(simple_string(data_type)) if isinstance(data_type, str) else None
