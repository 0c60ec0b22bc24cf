"""Parse a schema in Spark's form: ``struct<id:bigint,p:decimal(15,2),st:struct<a:int>>``."""

from __future__ import annotations

from collections.abc import Iterator

_MAX_DEPTH = 30


def column_types(schema: str) -> dict[tuple[str, ...], str]:
    """Return the type of each column and field of structs, by path; invalid parts are dropped."""
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
