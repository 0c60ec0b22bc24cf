"""Types of a table's columns: as trees keep them, and which other type a single file may have.

Files of one table are written over years by several programs. A column that can be read as the table's type
without loss is read; any other is an error that names the file.
"""

from __future__ import annotations

import re
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import pyarrow as pa
import pyarrow.compute as pc

_TIMESTAMP = re.compile(r"timestamp\[(s|ms|us|ns)(?:, ?(?:tz ?= ?)?([^\],]{1,60}))?\]")
_CHAR = b"starskip.char"
_UNITS = ("ns", "us", "ms", "s")
_UNIT_NAMES = {"us": "microsecond", "ms": "millisecond", "s": "second"}
_OFFSET = re.compile(r"[+-]\d\d:?\d\d")
_DECIMAL = re.compile(r"decimal(?:128)?\((\d{1,2}), ?(\d{1,2})\)")


def char_field(field: pa.Field, length: int | None) -> pa.Field:
    """Return the field of a column; ``length``, n of CHAR(n), goes into its metadata."""
    is_char = length is not None and pa.types.is_string(field.type)
    return field.with_metadata({_CHAR: str(length)} if is_char else None)


def char_length(field: pa.Field) -> int | None:
    """Return n of a CHAR(n) column whose values have been padded; None for other columns."""
    found = (field.metadata or {}).get(_CHAR)
    return None if found is None else int(found)


def plain_type(arrow_type: pa.DataType) -> pa.DataType:
    """Return the type without the mere layout of values, as Parquet files give it back."""
    if pa.types.is_dictionary(arrow_type):
        arrow_type = arrow_type.value_type
    if pa.types.is_large_string(arrow_type) or pa.types.is_string_view(arrow_type):
        return pa.string()
    if pa.types.is_large_binary(arrow_type) or pa.types.is_binary_view(arrow_type):
        return pa.binary()
    if pa.types.is_decimal32(arrow_type) or pa.types.is_decimal64(arrow_type):
        return pa.decimal128(arrow_type.precision, arrow_type.scale)
    if pa.types.is_timestamp(arrow_type) and arrow_type.unit == "s":
        return pa.timestamp("ms", arrow_type.tz)
    return _PLAIN.get(arrow_type, arrow_type)


_PLAIN = {
    pa.float16(): pa.float32(),
    pa.time32("s"): pa.time32("ms"),
    pa.date64(): pa.date32(),
    # A column without any value: as text it can hold any later value.
    pa.null(): pa.string(),
}


def fits(of_file: pa.DataType, of_table: pa.DataType) -> bool:
    """Return whether a file's column may be read as the table's type; a checked cast then judges values."""
    of_file, is_of = (of_file if pa.types.is_null(of_file) else plain_type(of_file)), pa.types
    if of_file == of_table or is_of.is_null(of_file):
        return True
    if is_of.is_integer(of_file):
        return bool(is_of.is_integer(of_table) or is_of.is_decimal(of_table) or of_table == pa.float64())
    if is_of.is_timestamp(of_file) and is_of.is_timestamp(of_table):
        return (of_file.tz is None) == (of_table.tz is None)
    if is_of.is_time(of_file) or is_of.is_duration(of_file):
        return bool(is_of.is_time(of_table) if is_of.is_time(of_file) else is_of.is_duration(of_table))
    if is_of.is_decimal(of_file):
        return bool(is_of.is_decimal(of_table))
    return bool(of_file == pa.float32() and of_table == pa.float64())


def in_unit_of(column: pa.ChunkedArray, wanted: pa.DataType) -> pa.ChunkedArray:
    """Return times without the digits that ``wanted``, a type of times in a coarser unit, does not hold."""
    if not (pa.types.is_timestamp(column.type) and pa.types.is_timestamp(wanted)):
        return column
    if _UNITS.index(wanted.unit) <= _UNITS.index(column.type.unit):
        return column
    # In UTC: a zone's own days and hours are not asked for, and its gaps would be an error.
    instants = column.cast(pa.timestamp(column.type.unit, "UTC") if column.type.tz else column.type)
    return pc.floor_temporal(instants, unit=_UNIT_NAMES[wanted.unit]).cast(column.type)


def named_type(text: str) -> pa.DataType:
    """Return the type that Arrow calls ``text`` ("string", "date32"); ValueError for no type.

    Also ``decimal(12,2)``, and ``timestamp[us, UTC]`` with any existing zone.
    """
    moment = _TIMESTAMP.fullmatch(text.strip())
    if moment is not None:
        return plain_type(pa.timestamp(moment[1], _zone(moment[2])))
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return plain_type(pa.type_for_alias(text))
    return pa.decimal128(int(found[1]), int(found[2]))


def _zone(name: str | None) -> str | None:
    if name is None:
        return None
    name = name.strip().strip("'\"")
    if _OFFSET.fullmatch(name):
        return name
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError(f"no time zone {name}") from None
    return name
