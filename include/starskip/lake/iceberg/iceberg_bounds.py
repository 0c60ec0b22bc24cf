"""Decodes bounds of Iceberg's manifests, single values as bytes, into whole columns of Arrow.

Iceberg's specification, "Binary single-value serialization" (appendix D). Bytes may have the type that the
column had when the file was written: int for a long, float for a double, a date for a timestamp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.lake.snapshot_columns import SnapshotColumn

_DECIMALS = Context(prec=76)
_DAY_US = 86_400_000_000
_Counts = Sequence[Mapping[int, int] | None]
_Bounds = Sequence[Mapping[int, bytes] | None]


def bounds_by_column(
    columns: Sequence[SnapshotColumn], lower: _Bounds, upper: _Bounds, nulls: _Counts, nans: _Counts
) -> dict[str, pa.Array]:
    """Return ``min.NAME``, ``max.NAME``, ``max_number.NAME`` and ``null_count.NAME`` of columns with bounds.

    The sequences have an item a file, by field id. Raises ValueError for bytes that are no value of their
    type.
    """
    found: dict[str, pa.Array] = {}
    for column in columns:
        field_id = column.field_id
        if field_id is None or pa.types.is_nested(column.kind):
            continue
        if decoder(column.kind) is not None:
            low = decoded([each.get(field_id) if each is not None else None for each in lower], column.kind)
            high = decoded([each.get(field_id) if each is not None else None for each in upper], column.kind)
            if pa.types.is_floating(column.kind):
                of_nan = [each.get(field_id) if each is not None else None for each in nans]
                low, number, high = _ordered(low, high, pa.array(of_nan, pa.int64()))
                found[f"max_number.{column.name}"] = number
            found[f"min.{column.name}"], found[f"max.{column.name}"] = low, high
        counts = [each.get(field_id) if each is not None else None for each in nulls]
        found[f"null_count.{column.name}"] = pa.array(counts, pa.int64())
    return found


def decoder(kind: pa.DataType) -> Callable[[Sequence[bytes | None]], pa.Array] | None:
    """Return the decoder of a type's values, None for a type that Spark orders otherwise than its bounds."""
    if pa.types.is_decimal(kind):
        return lambda values: pa.array([_decimal(each, kind.scale) for each in values], kind)
    if pa.types.is_string(kind):
        return _texts
    if pa.types.is_binary(kind):
        return lambda values: pa.array(values, pa.binary())
    if pa.types.is_boolean(kind):
        return lambda values: pa.array([None if each is None else each != b"\0" for each in values], kind)
    if pa.types.is_integer(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind):
        return lambda values: _whole(values, kind)
    if pa.types.is_floating(kind):
        return lambda values: _floating(values, kind)
    return None


def decoded(values: Sequence[bytes | None], kind: pa.DataType) -> pa.Array:
    """Return bounds of a column as Arrow's values, null for missing ones."""
    decode = decoder(kind)
    assert decode is not None
    return decode(values)


def _ordered(low: pa.Array, high: pa.Array, nans: pa.Array) -> tuple[pa.Array, pa.Array, pa.Array]:
    """Return least value, greatest number and greatest value in Spark's order; null if not known.

    In that order NaN is greatest, and -0.0 is 0.0.
    """
    kind = low.type
    zero, nan = pa.scalar(0.0, kind), pa.scalar(float("nan"), kind)
    low = pc.if_else(pc.is_nan(low), pa.scalar(None, kind), pc.add(low, zero))
    known = pc.if_else(pc.is_nan(high), pa.scalar(None, kind), pc.add(high, zero))
    # Without a count of NaN the bound may be the numbers' alone.
    high = pc.case_when(
        pc.make_struct(pc.equal(nans, 0).fill_null(False), pc.greater(nans, 0).fill_null(False)), known, nan
    )
    return low, known, high


def _whole(values: Sequence[bytes | None], kind: pa.DataType) -> pa.Array:
    numbers, is_null = _numbers(values, {4: "<i4", 8: "<i8"}, np.dtype(np.int64))
    if pa.types.is_timestamp(kind):
        is_date = np.array([each is not None and len(each) == 4 for each in values], np.bool_)
        numbers = np.where(is_date, numbers * _DAY_US * (1_000 if kind.unit == "ns" else 1), numbers)
    stored = pa.array(numbers, pa.int64(), mask=is_null)
    if pa.types.is_date32(kind):
        return stored.cast(pa.int32()).cast(kind)
    return stored.cast(kind)


def _floating(values: Sequence[bytes | None], kind: pa.DataType) -> pa.Array:
    numbers, is_null = _numbers(values, {4: "<f4", 8: "<f8"}, np.dtype(np.float64))
    # Doubles in a column of floats do not occur; if they did, both bounds would be rounded alike.
    return pa.array(numbers, pa.float64(), mask=is_null).cast(kind, safe=False)


def _numbers(
    values: Sequence[bytes | None], formats: Mapping[int, str], dtype: np.dtype[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    lengths = np.array([-1 if each is None else len(each) for each in values], np.int64)
    numbers = np.zeros(len(values), dtype)
    for length in np.unique(lengths[lengths >= 0]).tolist():
        if length not in formats:
            raise ValueError(f"a bound of {length} bytes is no number")
        content = b"".join(each for each in values if each is not None and len(each) == length)
        numbers[lengths == length] = np.frombuffer(content, formats[length])
    return numbers, lengths < 0


def _texts(values: Sequence[bytes | None]) -> pa.Array:
    stored = pa.array(values, pa.binary())
    try:
        return stored.cast(pa.string())
    except pa.ArrowInvalid:
        # Texts cannot be compared with bounds whose bytes are no UTF-8.
        return pa.array([_text(each) for each in values], pa.string())


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def _decimal(value: bytes | None, scale: int) -> Decimal | None:
    if value is None:
        return None
    return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _DECIMALS)
