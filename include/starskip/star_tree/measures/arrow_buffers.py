"""Convert Arrow arrays to NumPy arrays: nulls are filled with zeros, a mask marks the valid values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import CapExceeded

Mask = npt.NDArray[np.bool_]
_EXACT_POWER_OF_TEN = 22
"""10^22 is the greatest power that a float64 holds exactly."""
_EXACT = 1 << 53


def one_array(column: pa.ChunkedArray) -> pa.Array:
    """Return the values in one array, without a copy if they are in one already."""
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def valid_mask(array: pa.Array) -> Mask | None:
    """Return where the values are not null, None if no value is null."""
    if array.null_count == 0:
        return None
    return np.asarray(pc.is_valid(array).to_numpy(zero_copy_only=False), dtype=np.bool_)


def integers_of(array: pa.Array, arrow_type: pa.DataType) -> npt.NDArray[np.int64]:
    """Return the values of ``arrow_type``, a signed type of 64 bits, as int64; nulls become 0."""
    wide = array.cast(arrow_type)
    if wide.null_count:
        wide = pc.fill_null(wide.view(pa.int64()) if arrow_type != pa.int64() else wide, 0)
    elif arrow_type != pa.int64():
        wide = wide.view(pa.int64())
    return np.asarray(wide.to_numpy(zero_copy_only=False), dtype=np.int64)


def floats_of(array: pa.Array) -> npt.NDArray[np.float64]:
    """Return the values as the nearest float64; nulls become 0."""
    if pa.types.is_decimal(array.type):
        return _floats_of_decimals(array)
    wide = array.cast(pa.float64(), safe=False)
    if wide.null_count:
        wide = pc.fill_null(wide, 0.0)
    return np.asarray(wide.to_numpy(zero_copy_only=False), dtype=np.float64)


def _floats_of_decimals(array: pa.Array) -> npt.NDArray[np.float64]:
    """Return the nearest floats: Arrow's own cast of 0.0101 is off in the last bit."""
    valid, scale = valid_mask(array), array.type.scale
    floats = np.zeros(len(array))
    is_left = np.ones(len(array), np.bool_) if valid is None else valid.copy()
    if pa.types.is_decimal128(array.type) and 0 <= scale <= _EXACT_POWER_OF_TEN:
        low, high = decimal_words(array, scale)
        unscaled = low.view(np.int64)
        # The quotient of two exact floats is the nearest float.
        floats = unscaled / 10.0**scale
        is_left &= (high != unscaled >> np.int64(63)) | (unscaled > _EXACT) | (unscaled < -_EXACT)
    left = np.flatnonzero(is_left)
    if len(left):
        texts = array.take(pa.array(left)).cast(pa.string())
        floats[left] = texts.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return floats


def decimal_words(array: pa.Array, scale: int) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64]]:
    """Return the low and high 64 bits of decimals as unscaled integers of 128 bits; nulls become 0."""
    try:
        wide = array.cast(pa.decimal128(38, scale))
    except pa.ArrowInvalid:
        raise CapExceeded("a value has more than 38 digits, so that no sum of it is exact") from None
    buffer = wide.buffers()[1]
    if buffer is None or len(wide) == 0:
        return np.zeros(len(wide), np.uint64), np.zeros(len(wide), np.int64)
    words = np.frombuffer(buffer, np.uint64)[2 * wide.offset : 2 * (wide.offset + len(wide))].reshape(-1, 2)
    valid = valid_mask(wide)
    if valid is not None:
        words = np.where(valid[:, None], words, np.uint64(0))
    return np.ascontiguousarray(words[:, 0]), np.ascontiguousarray(words[:, 1]).view(np.int64)


def decimals_from_words(
    low: npt.NDArray[np.uint64], high: npt.NDArray[np.int64], scale: int, valid: Mask | None
) -> pa.Array:
    """Return unscaled integers of 128 bits as decimal128(38, scale)."""
    words = np.empty((len(low), 2), np.uint64)
    words[:, 0], words[:, 1] = low, high.view(np.uint64)
    return pa.Array.from_buffers(
        pa.decimal128(38, scale), len(low), [validity_buffer(valid), pa.py_buffer(words)]
    )


def validity_buffer(valid: Mask | None) -> pa.Buffer | None:
    """Return Arrow's bitmap of a mask."""
    if valid is None:
        return None
    return pa.py_buffer(np.packbits(valid, bitorder="little"))


def array_of(values: npt.NDArray[np.int64] | npt.NDArray[np.float64], valid: Mask | None) -> pa.Array:
    """Return an Arrow array of 64-bit values, null where they are not valid."""
    arrow_type = pa.from_numpy_dtype(values.dtype)
    buffers = [validity_buffer(valid), pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(arrow_type, len(values), buffers)


def merged_mask(valid: Mask | None, starts: npt.NDArray[np.int64]) -> Mask | None:
    """Return for each run whether any of its values is valid."""
    if valid is None:
        return None
    merged: Mask = np.logical_or.reduceat(valid, starts)
    return None if merged.all() else merged


def taken_mask(valid: Mask | None, positions: npt.NDArray[np.int64]) -> Mask | None:
    """Return the mask at ``positions``."""
    return None if valid is None else valid[positions]


def appended_masks(masks: list[Mask | None], lengths: list[int]) -> Mask | None:
    """Return the masks one after the other."""
    if all(mask is None for mask in masks):
        return None
    filled = [np.ones(n, np.bool_) if mask is None else mask for mask, n in zip(masks, lengths, strict=True)]
    return np.concatenate(filled)
