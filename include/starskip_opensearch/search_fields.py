"""The searchable fields of a row's document: keys that compare exactly as Spark's values do.

A field is a ``long`` or a ``keyword``. Numbers with a point are not sent as numbers: ``double`` rounds
decimals, and has no NaN. Their bits become longs in Spark's order, with -0.0 as 0.0 and NaN the greatest.
Wide decimals and binary values become hexadecimal keywords; texts are keywords unchanged, which OpenSearch
compares by their UTF-8 bytes, as Spark does. A column with a value that has no such key, such as a text of
more than LONGEST_BYTES, is not searched: its clauses are evaluated on the column itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from starskip.file_metadata.collect_order import BOUNDS
from starskip.predicates.ordered_values import is_text, order_keys

LONGEST_BYTES = 400
"""Length of the longest value that is searched: keywords may have 32,766 bytes, bounds of ranges 1,000."""
HAS_VALUES = "rows - nulls"
"""A further column of groups with ``nulls`` and ``rows``, since a query does not compare two fields."""
SIGN = "="
"""Begins each keyword, since OpenSearch takes the empty text as a missing bound of a range."""
LONG, KEYWORD = "long", "keyword"
_INFINITE_BITS = np.int64(0x7FFFFFFFFFFFFFFF)


@dataclass(frozen=True, slots=True)
class SearchColumn:
    """The keys of a column, one each row: a value, a list of values, or None for null."""

    field: str
    kind: str
    keys: Sequence[Any]


def search_field(group: str, column: str, kind: pa.DataType) -> str:
    """Return the name of a field, another one for any other group, column or type."""
    text = f"{group}\0{column}\0{kind}"
    return f"c{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def search_columns(group: str, rows: pa.Table) -> Mapping[str, SearchColumn]:
    """Return the columns of a group that can be searched, by name."""
    if group == BOUNDS:
        # Four columns for each of the table: more fields than an index of documents should have.
        return {}
    if rows.column_names == ["nulls", "rows"]:
        values = pc.subtract(rows["rows"], rows["nulls"])
        rows = rows.append_column(HAS_VALUES, values)
    found = {}
    for name in rows.column_names:
        column = rows[name].combine_chunks()
        kind = _kind_of(column.type)
        keys = None if kind is None else _keys(column)
        if kind is not None and keys is not None:
            found[name] = SearchColumn(search_field(group, name, column.type), kind, keys)
    return found


def literal_keys(values: pa.Array) -> list[Any] | None:
    """Return the keys of a comparison's literals, which have no null; None if one has no key."""
    return None if _kind_of(values.type) is None else _flat_keys(values)


def _kind_of(kind: pa.DataType) -> str | None:
    if pa.types.is_list(kind):
        kind = kind.value_type
    # Large binary values are filters, which are not compared.
    if is_text(kind) or pa.types.is_binary(kind):
        return KEYWORD
    if pa.types.is_decimal128(kind):
        return LONG if kind.precision <= 18 else KEYWORD
    ordered = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_date32)
    if pa.types.is_timestamp(kind) or any(is_of(kind) for is_of in ordered):
        return None if kind in (pa.uint64(), pa.float16()) else LONG
    return None


def _keys(column: pa.Array) -> list[Any] | None:
    if not pa.types.is_list(column.type):
        present = column.drop_null()
        keys = _flat_keys(present)
        return None if keys is None else _with_nulls(keys, column)
    if column.values.null_count:
        return None
    flat = _flat_keys(column.flatten())
    if flat is None:
        return None
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    ends = np.cumsum(lengths)
    valid = column.is_valid().to_pylist()
    return [
        flat[end - length : end] if is_valid else None
        for end, length, is_valid in zip(ends.tolist(), lengths.tolist(), valid, strict=True)
    ]


def _with_nulls(keys: list[Any], column: pa.Array) -> list[Any]:
    if not column.null_count:
        return keys
    present = iter(keys)
    return [next(present) if is_valid else None for is_valid in column.is_valid().to_pylist()]


def _flat_keys(values: pa.Array) -> list[Any] | None:
    """Return the keys of values without null."""
    if not len(values):
        return []
    if is_text(values.type) or pa.types.is_binary(values.type):
        if pc.max(pc.binary_length(values)).as_py() > LONGEST_BYTES:
            return None
        try:
            found: list[Any] = values.to_pylist()
        except UnicodeDecodeError:
            return None
        return [SIGN + (each if isinstance(each, str) else each.hex()) for each in found]
    keys = order_keys(values)
    if isinstance(keys, np.ndarray):
        return list(_longs(keys).tolist())
    return [SIGN + each.hex() for each in keys.to_pylist()]


def _longs(keys: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if keys.dtype.kind != "f":
        return keys.astype(np.int64)
    numbers = keys.astype(np.float64) + 0.0
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
    return np.where(bits < 0, bits ^ _INFINITE_BITS, bits)
