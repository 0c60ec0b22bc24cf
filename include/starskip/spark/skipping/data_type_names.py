"""Convert data types from a plan's JSON to simple strings and Arrow types."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from starskip.indexes.skipping.data_types import literal_type_of

_SIMPLE = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}


def simple_string(data_type: Any) -> str:
    """Return ``DataType.simpleString`` of a type in JSON, a string or an object."""
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
    """Return the Arrow type of a type's values, None for types that metadata cannot be compared with."""
    return literal_type_of(simple_string(data_type)) if isinstance(data_type, str) else None
