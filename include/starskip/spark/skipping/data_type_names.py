"""Spark's types as the JSON of a plan has them: their simple strings and their Arrow types."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa

_SIMPLE = {"long": "bigint", "integer": "int", "short": "smallint", "byte": "tinyint"}
_ARROW = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


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
    if not isinstance(data_type, str):
        return None
    if found := _DECIMAL.fullmatch(data_type):
        return pa.decimal128(int(found[1]), int(found[2]))
    # A text of another collation is a text: that it is not compared by bytes, the column's type tells.
    return _ARROW.get(data_type, pa.string() if data_type.startswith("string collate ") else None)
