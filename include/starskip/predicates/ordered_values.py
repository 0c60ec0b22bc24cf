"""Compare Arrow columns in the order of Spark's types.

NaN equals itself and is the greatest value, -0.0 equals 0.0 (Spark, "NaN semantics"), strings compare by
their UTF-8 bytes. Times of one type compare by their number, decimals of one scale by their unscaled value.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Mask: TypeAlias = npt.NDArray[np.bool_]
"""One boolean a value."""
Keys: TypeAlias = Any
"""A NumPy array of numbers (NumPy sorts NaN last, as Spark does), or an Arrow array of bytes."""
_NARROW_DIGITS = 18
_TEXTS = frozenset(kind.id for kind in (pa.string(), pa.large_string(), pa.string_view()))
_BYTES = frozenset(kind.id for kind in (pa.binary(), pa.large_binary(), pa.binary_view()))


def same_order(left: pa.DataType, right: pa.DataType) -> bool:
    """Return whether values of two Arrow types compare, that is, are of one Spark type."""
    if is_text(left) or is_text(right):
        return is_text(left) and is_text(right)
    if _is_bytes(left) or _is_bytes(right):
        return _is_bytes(left) and _is_bytes(right)
    if pa.types.is_decimal(left) and pa.types.is_decimal(right):
        return bool(left.scale == right.scale)
    if pa.types.is_timestamp(left) and pa.types.is_timestamp(right):
        return bool(left.unit == right.unit and (left.tz is None) == (right.tz is None))
    return bool(left.equals(right))


def order_keys(array: pa.Array) -> Keys:
    """Return keys that compare as the values do; the key of null is arbitrary."""
    kind = array.type
    if is_text(kind) or _is_bytes(kind):
        if kind in (pa.large_string(), pa.large_binary()):
            return array.cast(pa.large_binary())
        return array.view(pa.binary()) if kind == pa.string() else array.cast(pa.binary())
    if pa.types.is_decimal(kind):
        return _decimal_keys(array)
    if pa.types.is_boolean(kind):
        array = array.cast(pa.uint8())
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        array = array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return _buffer(array, array.type.to_pandas_dtype(), 1)


def below(keys: Keys, bound: Keys) -> Mask:
    """Return for each key whether it is below ``bound``, the keys of one value."""
    if isinstance(keys, np.ndarray):
        return np.asarray(~np.isnan(keys) if _is_nan(bound) else keys < bound[0])
    return mask_of(pc.less(keys, bound[0]))


def each_below(left: Keys, right: Keys) -> Mask:
    """Return for each key of ``left`` whether it is below the key of ``right`` in its place."""
    if isinstance(left, np.ndarray):
        is_nan = np.isnan(left) if left.dtype.kind == "f" else np.zeros(len(left), np.bool_)
        return np.asarray((left < right) | (~is_nan & (right != right)))
    return mask_of(pc.less(left, right))


def at_most(keys: Keys, bound: Keys) -> Mask:
    """Return for each key whether it is at most ``bound``, the keys of one value."""
    if isinstance(keys, np.ndarray):
        return np.asarray(np.ones(len(keys), np.bool_) if _is_nan(bound) else keys <= bound[0])
    return mask_of(pc.less_equal(keys, bound[0]))


def equal(left: Keys, right: Keys) -> Mask:
    """Compare keys pairwise."""
    if isinstance(left, np.ndarray):
        same = np.asarray(left == right)
        return same | (np.isnan(left) & np.isnan(right)) if left.dtype.kind == "f" else same
    return mask_of(pc.equal(left, right))


def in_set(keys: Keys, others: Keys) -> Mask:
    """Return for each key whether it is one of ``others``, the keys of values without null."""
    if not isinstance(keys, np.ndarray):
        return mask_of(pc.is_in(keys, value_set=others))
    if len(others) == 1:
        return at_most(keys, others) & ~below(keys, others)
    ordered = np.sort(others)
    return positions(ordered, keys, "right") > positions(ordered, keys, "left")


def sorted_keys(keys: Keys) -> Keys:
    """Sort the keys of values without null."""
    return np.sort(keys) if isinstance(keys, np.ndarray) else keys.take(pc.sort_indices(keys))


def positions(ordered: Keys, keys: Keys, side: Literal["left", "right"] = "left") -> npt.NDArray[np.int64]:
    """Return the number of ``ordered`` keys below each key (``left``), or at most it (``right``)."""
    if isinstance(ordered, np.ndarray):
        return np.asarray(np.searchsorted(ordered, keys, side=side), np.int64)
    if ordered.type != keys.type:
        ordered, keys = ordered.cast(pa.large_binary()), keys.cast(pa.large_binary())
    found = pc.search_sorted(ordered, keys, side=side)
    if found.null_count:
        found = found.fill_null(0)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)


def ranked(values: pa.Array) -> tuple[pa.Array, npt.NDArray[np.int64]]:
    """Return the sorted distinct values of an array without null, and the rank of each value."""
    keys = order_keys(values)
    by_key = isinstance(keys, np.ndarray)
    order = np.argsort(keys, kind="stable") if by_key else pc.sort_indices(keys).to_numpy()
    ordered = values.take(pa.array(order))
    firsts, rank = np.unique(positions(order_keys(ordered), keys, "left"), return_inverse=True)
    return ordered.take(pa.array(firsts)), rank.astype(np.int64)


def mask_of(booleans: pa.Array) -> Mask:
    """Convert an Arrow boolean array to NumPy, null as false."""
    if booleans.null_count:
        booleans = booleans.fill_null(False)
    return np.asarray(booleans.to_numpy(zero_copy_only=False))


def valid_mask(array: pa.Array) -> Mask:
    """Return for each value whether it is not null."""
    if not array.null_count:
        return np.ones(len(array), np.bool_)
    return np.asarray(array.is_valid().to_numpy(zero_copy_only=False))


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a string type."""
    return kind.id in _TEXTS


def _is_bytes(kind: pa.DataType) -> bool:
    return kind.id in _BYTES


def _is_nan(bound: Keys) -> bool:
    return isinstance(bound, np.ndarray) and bound.dtype.kind == "f" and bool(np.isnan(bound[0]))


def _decimal_keys(array: pa.Array) -> Keys:
    words = _buffer(array, np.int64, 2)
    if array.type.precision <= _NARROW_DIGITS:
        return words[::2]
    ordered = np.empty((len(array), 2), ">u8")
    ordered[:, 0] = words[1::2].view(np.uint64) ^ np.uint64(1 << 63)
    ordered[:, 1] = words[::2].view(np.uint64)
    lengths = np.arange(len(array) + 1, dtype=np.int32) * 16
    return pa.Array.from_buffers(
        pa.binary(), len(array), [None, pa.py_buffer(lengths), pa.py_buffer(ordered.tobytes())]
    )


def _buffer(array: pa.Array, dtype: Any, words: int) -> npt.NDArray[Any]:
    values = array.buffers()[1]
    if values is None:
        return np.zeros(len(array) * words, dtype)
    return np.frombuffer(values, dtype)[array.offset * words : (array.offset + len(array)) * words]
