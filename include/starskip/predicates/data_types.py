"""Families of Spark data types, by their simple strings, their Arrow types, and schemas as text."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pyarrow as pa

INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
FLOATS = frozenset({"float", "double"})
NUMBERS = INTEGERS | FLOATS | {"decimal"}
TIMES = frozenset({"date", "timestamp", "timestamp_ntz"})
TEXTS = frozenset({"string", "binary"})
ORDERED = NUMBERS | TIMES | TEXTS | {"boolean"}
"""Types whose values compare by bytes or numbers; not intervals, variants, arrays, structs."""

_ARROW = {
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_NAMES = {kind: name for name, kind in _ARROW.items()}
_DECIMAL = re.compile(r"decimal\((\d{1,2}),\s*(\d{1,2})\)")
_MAX_DEPTH = 30
_ARGUMENTS = re.compile(r"\(.*\)")


def family_of(data_type: str) -> str:
    """Return the type without arguments: ``decimal`` for ``decimal(10,2)``; ``collated`` with a collation."""
    name = data_type.strip().lower()
    if is_collated(name):
        return "collated"
    family = _ARGUMENTS.sub("", name).removesuffix(" collate utf8_binary")
    return "string" if family == "varchar" else family


def is_collated(data_type: str) -> bool:
    """Return whether the type has strings of another collation than UTF8_BINARY, at any depth."""
    named = re.findall(r"collate\s+(\w+)", data_type.lower())
    return any(name != "utf8_binary" for name in named)


def arrow_type_of(data_type: str) -> pa.DataType | None:
    """Return the Arrow type of a column's values, None for a type that is not ``ORDERED``."""
    if found := _DECIMAL.fullmatch(data_type.strip().lower()):
        precision, scale = int(found[1]), int(found[2])
        return pa.decimal128(precision, scale) if scale <= precision and 1 <= precision <= 38 else None
    return _ARROW.get(family_of(data_type))


def type_name(kind: pa.DataType) -> str | None:
    """Return Spark's name of a literal's Arrow type, None for a type without literals here."""
    if pa.types.is_decimal128(kind):
        return f"decimal({kind.precision},{kind.scale})"
    return _NAMES.get(kind)


def literal_type_of(data_type: str) -> pa.DataType | None:
    """Return the Arrow type of literals of a Spark type, None if metadata cannot be compared with them.

    A collated string is a string here; the column's type shows that it must not be compared by bytes.
    """
    if data_type.strip().lower().startswith("string collate "):
        return pa.string()
    return arrow_type_of(data_type)


def column_types(schema: str) -> dict[tuple[str, ...], str]:
    """Parse ``struct<id:bigint,st:struct<a:int>>`` into the types of columns and fields, by path.

    Invalid parts are dropped.
    """
    return dict(_fields(schema.strip(), (), _MAX_DEPTH))


def _fields(text: str, above: tuple[str, ...], depth: int) -> Iterator[tuple[tuple[str, ...], str]]:
    if depth == 0 or not text.startswith("struct<") or not text.endswith(">"):
        return
    for field in _split(text[len("struct<") : -1]):
        name, colon, data_type = field.partition(":")
        if colon and name:
            yield (*above, name), data_type
            yield from _fields(data_type, (*above, name), depth - 1)


def _split(text: str) -> Iterator[str]:
    depth = start = 0
    for at, character in enumerate(text):
        if character in "<(":
            depth += 1
        elif character in ">)":
            depth -= 1
        elif character == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]
