"""Types of a table's columns: as trees keep them, and which other type a single file may have.

Files of one table are written over years by several programs; what can be read as the table's type without
loss is read, anything else is an error that names the file.
"""

from __future__ import annotations

import re

import pyarrow as pa

_DECIMAL = re.compile(r"decimal(?:128)?\((\d{1,2}), ?(\d{1,2})\)")


def plain_type(arrow_type: pa.DataType) -> pa.DataType:
    """Return the type without what only tells how values are laid out, as Parquet files give it back."""
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
    # A column without any value: as text it loses none that come later.
    pa.null(): pa.string(),
}


def fits(of_file: pa.DataType, of_table: pa.DataType) -> bool:
    """Tell whether a file's column may be read as the table's type; a checked cast then judges the values."""
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


def named_type(text: str) -> pa.DataType:
    """Return what Arrow calls so ("string", "date32"), or ``decimal(12,2)``; ValueError for no type."""
    found = _DECIMAL.fullmatch(text)
    if found is None:
        return plain_type(pa.type_for_alias(text))
    return pa.decimal128(int(found[1]), int(found[2]))
