"""Reads a file of JSON lines as Spark reads it with types that it infers, or not at all.

Arrow reads what both read alike. What Spark understands in a way of its own is refused: a line that is no
JSON object (Spark's ``_corrupt_record``), whole numbers that it makes decimals of, a column or field of
several types (which it makes texts of), fields that a line has twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from pyarrow import json

from starskip.lake.data_pieces import Piece, Positions, UnlikeSpark, is_behind, reaches
from starskip.lake.text_blocks import TextFile

_MEMBER = rb'(?<!\\)"\s*:\s*'
_LARGE = re.compile(_MEMBER + rb"(-?\d{19,})\s*[,}]")
_NEGATIVE_ZERO = re.compile(_MEMBER + rb"(-0)\s*[,}]")
_LARGE_ITEM = re.compile(rb"[\[,]\s*(-?\d{19,})\s*(?=[,\]])")
_NEGATIVE_ZERO_ITEM = re.compile(rb"[\[,]\s*(-0)\s*(?=[,\]])")
"""Texts may look like items of an array, but not like members: their quotes have a backslash before them."""
_BLANK_LINE = re.compile(rb"(?m)^[ \t]*\n|^[ \t]+\Z")
_NOT_AN_OBJECT = re.compile(rb"(?m)^(?![ \t]*\{.*\}[ \t]*$).+$")
_LONG = range(-(1 << 63), 1 << 63)
_SHOWN = 40


@dataclass(frozen=True)
class JsonLinesFile(TextFile):
    """Implements PiecedFile; the whole file is one unit, read in blocks of lines."""

    @cached_property
    def schema(self) -> pa.Schema:
        """See PiecedFile; all lines are read for it."""
        found = pa.schema([])
        for _, block in self._blocks():
            told = _parsed(block, None).schema
            of_block = pa.schema([pa.field(each.name, _inferred(each.type)) for each in told])
            try:
                found = pa.unify_schemas([found, of_block], promote_options="permissive")
            except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
                raise UnlikeSpark(f"a field has values of several types ({error})") from None
        small = [name.lower() for name in found.names]
        twice = next((name for name in found.names if small.count(name.lower()) > 1), None)
        if twice is not None:
            raise UnlikeSpark(f"{twice} is the name of several columns, in letters of another case")
        return found

    def pieces(self, schema: pa.Schema, positions: Positions | None) -> Iterator[Piece]:
        """See PiecedFile; a block of lines without a position is counted, and not parsed.

        Positions are of a file whose lines were all looked at.
        """
        if positions is None:
            _ = self.schema
        start = 0
        for rows, block in self._blocks():
            if is_behind(positions, start):
                return
            if reaches(positions, start, rows):
                found = _parsed(block, schema) if schema.names else pa.table({})
                yield Piece(start, found, 0, rows)
            start += rows

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield blocks of lines that each begin and end as an object does, and their number."""
        for block in self.line_blocks():
            filled = _BLANK_LINE.sub(b"", block)
            other = _NOT_AN_OBJECT.search(filled)
            if other is not None:
                raise UnlikeSpark(f"it has a line that is no JSON object: {_words(other[0])}")
            rows = filled.count(b"\n") + (not filled.endswith(b"\n") and bool(filled))
            if rows:
                yield rows, filled


def _parsed(block: bytes, schema: pa.Schema | None) -> pa.Table:
    """Parse lines, with the types of a schema and no other column, or with those that their values tell."""
    options = json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
    )
    read = json.ReadOptions(use_threads=False, block_size=len(block) + 1)
    try:
        found = json.read_json(pa.BufferReader(block), read, options)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        reason = str(error).removeprefix("JSON parse error: ")
        raise UnlikeSpark(f"a line is no JSON, or has values of several types ({reason})") from error
    # Each line is one object or several, and no object is in two: equal numbers mean one a line.
    lines = block.count(b"\n") + (not block.endswith(b"\n"))
    if found.num_rows != lines:
        raise UnlikeSpark("it has a line of several JSON objects")
    doubles = [leaf for column in found.columns for each in column.chunks for leaf in _doubles(each)]
    if doubles:
        _require_same_numbers(block, doubles, has_items=any(_has_items(each.type) for each in found.schema))
    return found


def _require_same_numbers(block: bytes, doubles: list[pa.Array], *, has_items: bool) -> None:
    """Raise UnlikeSpark for lines with numbers that Spark makes others of, if they are doubles here."""
    negative_zero = (_NEGATIVE_ZERO, *((_NEGATIVE_ZERO_ITEM,) if has_items else ()))
    large = (_LARGE, *((_LARGE_ITEM,) if has_items else ()))
    values = np.concatenate([each.drop_null().to_numpy(zero_copy_only=False) for each in doubles])
    if not np.isfinite(values).all():
        raise UnlikeSpark("it has a number beyond the doubles, or none: NaN")
    if (np.signbit(values) & (values == 0)).any() and next(_found(block, negative_zero), None):
        # Spark makes 0.0 of it, and keeps the sign of -0.0 alone.
        raise UnlikeSpark("it has the number -0 among doubles; write 0 or -0.0")
    for number in _found(block, large):
        if int(number) not in _LONG:
            raise UnlikeSpark(f"it has a whole number beyond 64 bits: {_words(number)}")


def _found(block: bytes, patterns: Iterable[re.Pattern[bytes]]) -> Iterator[bytes]:
    for pattern in patterns:
        yield from pattern.findall(block)


def _has_items(kind: pa.DataType) -> bool:
    """Return whether a type has lists of doubles in it."""
    if pa.types.is_struct(kind):
        return any(_has_items(each.type) for each in kind)
    if pa.types.is_list(kind):
        return pa.types.is_floating(kind.value_type) or _has_items(kind.value_type)
    return False


def _doubles(array: pa.Array) -> Iterator[pa.Array]:
    if pa.types.is_floating(array.type):
        yield array
    elif pa.types.is_struct(array.type):
        for each in array.flatten():
            yield from _doubles(each)
    elif pa.types.is_list(array.type):
        yield from _doubles(array.flatten())


def _inferred(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark infers where Arrow infers one: of texts it makes no times."""
    if pa.types.is_timestamp(kind):
        return pa.string()
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(each.name, _inferred(each.type)) for each in kind])
    if pa.types.is_list(kind):
        return pa.list_(_inferred(kind.value_type))
    return kind


def _words(line: bytes) -> str:
    text = line.decode(errors="replace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
