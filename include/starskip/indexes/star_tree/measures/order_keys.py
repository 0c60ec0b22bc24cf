"""Map values of any ordered type to int64 keys of the same order, and back; MIN and MAX compare the keys.

Floats: -0.0 is below 0.0, and NaN above all, as in Spark and DuckDB.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.indexes.star_tree.measures.arrow_buffers import (
    Mask,
    array_of,
    decimal_words,
    decimals_from_words,
    floats_of,
    integers_of,
)

Keys = npt.NDArray[np.int64]
_SIGN = np.int64(63)
_REST = np.int64(0x7FFF_FFFF_FFFF_FFFF)
_NARROW_DIGITS = 18
_AS_INT64 = (
    pa.types.is_signed_integer,
    pa.types.is_date64,
    pa.types.is_timestamp,
    pa.types.is_time64,
    pa.types.is_duration,
)
_AS_INT32 = (pa.types.is_date32, pa.types.is_time32)


def has_order_keys(arrow_type: pa.DataType) -> bool:
    """Return whether the type's values fit into keys as they are; others need a dictionary of ranks."""
    if pa.types.is_decimal(arrow_type):
        return int(arrow_type.precision) <= _NARROW_DIGITS
    numeric = pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type)
    return (
        numeric
        or pa.types.is_boolean(arrow_type)
        or any(is_of(arrow_type) for is_of in _AS_INT64 + _AS_INT32)
    )


def order_keys(array: pa.Array) -> Keys:
    """Return the keys of values of a type that has them; nulls get the key of zero."""
    arrow_type = array.type
    if pa.types.is_floating(arrow_type):
        values = floats_of(array)
        values = np.where(np.isnan(values), np.float64("nan"), values)
        bits = values.view(np.int64)
        return bits ^ ((bits >> _SIGN) & _REST)
    if pa.types.is_decimal(arrow_type):
        return decimal_words(array, arrow_type.scale)[0].view(np.int64)
    if pa.types.is_unsigned_integer(arrow_type):
        wide = array.cast(pa.uint64()).fill_null(0).to_numpy(zero_copy_only=False)
        return np.asarray(wide ^ np.uint64(1 << 63)).view(np.int64)
    if any(is_of(arrow_type) for is_of in _AS_INT32):
        return integers_of(array.view(pa.int32()), pa.int64())
    if pa.types.is_boolean(arrow_type):
        return integers_of(array.cast(pa.int8()), pa.int64())
    return integers_of(array.view(pa.int64()) if not pa.types.is_integer(arrow_type) else array, pa.int64())


def from_order_keys(keys: Keys, arrow_type: pa.DataType, valid: Mask | None) -> pa.Array:
    """Return the values of ``arrow_type`` that have those keys."""
    if pa.types.is_floating(arrow_type):
        bits = keys ^ ((keys >> _SIGN) & _REST)
        return array_of(bits.view(np.float64), valid).cast(arrow_type)
    # What is not valid may be out of a narrow type's range.
    keys = keys if valid is None else np.where(valid, keys, np.int64(0))
    if pa.types.is_decimal(arrow_type):
        words = keys.view(np.uint64), keys >> _SIGN
        return decimals_from_words(*words, arrow_type.scale, valid).cast(arrow_type)
    if pa.types.is_unsigned_integer(arrow_type):
        values = (
            keys ^ np.int64(-(1 << 63)) if valid is None else np.where(valid, keys ^ np.int64(-(1 << 63)), 0)
        )
        return array_of(values, valid).view(pa.uint64()).cast(arrow_type)
    integers = array_of(keys, valid)
    if any(is_of(arrow_type) for is_of in _AS_INT32):
        return integers.cast(pa.int32()).view(arrow_type)
    if pa.types.is_boolean(arrow_type) or pa.types.is_integer(arrow_type):
        return integers.cast(arrow_type)
    return integers.view(arrow_type)
