"""Names of Spark's types for Arrow's, as ``ReadSchema`` and ``simpleString`` write them, and CHAR in them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

import pyarrow as pa

from starskip.errors import SourceError, printable

TYPE_TEXT = "__CHAR_VARCHAR_TYPE_STRING"
"""Key of a column's whole type as text, such as ``struct<c:char(3),v:varchar(2)>``, in its metadata."""
_TOKEN = re.compile(r"[<>,:]|[^<>,:(]+(?:\([^)]*\))?")
_CHAR = re.compile(r"char\((\d+)\)", re.IGNORECASE)
_NAMES = {
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.date32(): "date",
    pa.timestamp("us", "UTC"): "timestamp",
    pa.timestamp("us"): "timestamp_ntz",
}


def spark_type(kind: pa.DataType) -> str:
    """Return the name of Spark's type; Arrow's own name where Spark has no such type."""
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_struct(kind):
        return spark_struct(kind)
    if pa.types.is_map(kind):
        return f"map<{spark_type(kind.key_type)},{spark_type(kind.item_type)}>"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return f"array<{spark_type(kind.value_type)}>"
    return _NAMES.get(kind, str(kind))


def spark_struct(fields: Iterable[pa.Field]) -> str:
    """Return columns, or fields of a struct, as ``struct<id:bigint,name:string>``."""
    return f"struct<{','.join(f'{each.name}:{spark_type(each.type)}' for each in fields)}>"


def char_lengths_of_text(
    text: str, kind: pa.DataType, path: tuple[str, ...]
) -> Mapping[tuple[str, ...], int]:
    """Return n of each CHAR(n) in a type's text, by its path, in which lists have "element".

    ``kind``: the type of the column at ``path``. Raises ValueError for a text of another type.
    """
    if not _CHAR.search(text.replace("varchar", "")):
        return {}
    tokens, found = _TOKEN.findall(text), dict[tuple[str, ...], int]()
    try:
        _take(tokens, kind, path, found)
    except IndexError:
        raise ValueError(text) from None
    if tokens:
        raise ValueError(text)
    return found


def char_lengths_of_fields(fields: Iterable[pa.Field]) -> Mapping[tuple[str, ...], int]:
    """Return n of each CHAR(n) in columns of a file, at any depth, whose metadata has the types' texts.

    Raises SourceError for a column of another type.
    """
    found: dict[tuple[str, ...], int] = {}
    for each in fields:
        text = (each.metadata or {}).get(TYPE_TEXT.encode())
        if text is None:
            continue
        try:
            found.update(char_lengths_of_text(text.decode(), each.type, (each.name,)))
        except ValueError:
            raise SourceError(
                f"column {printable(each.name)} is no longer {printable(text.decode())}, as its files say: "
                "write them anew",
                source=each.name,
            ) from None
    return found


def _take(
    tokens: list[str], kind: pa.DataType, path: tuple[str, ...], found: dict[tuple[str, ...], int]
) -> None:
    """Take the tokens of a type away."""
    name = tokens.pop(0)
    within = _within(kind)
    for number, (child, of_child) in enumerate(within):
        expected = ["," if number else "<"]
        if pa.types.is_struct(kind):
            # Spark goes by places, and a field may have been renamed since.
            expected += [tokens[1], ":"]
        if [tokens.pop(0) for _ in expected] != expected:
            raise ValueError(name)
        _take(tokens, of_child, (*path, child), found)
    if within and tokens.pop(0) != ">":
        raise ValueError(name)
    length = _CHAR.fullmatch(name)
    if length is not None:
        if not pa.types.is_string(kind):
            raise ValueError(name)
        found[path] = int(length[1])


def _within(kind: pa.DataType) -> list[tuple[str, pa.DataType]]:
    if pa.types.is_struct(kind):
        return [(each.name, each.type) for each in kind]
    if pa.types.is_map(kind):
        return [("key", kind.key_type), ("value", kind.item_type)]
    return [("element", kind.value_type)] if pa.types.is_list(kind) else []
