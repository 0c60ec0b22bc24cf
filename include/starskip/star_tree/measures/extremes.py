"""The least or the greatest values, of any ordered type.

Values are compared as int64 keys of the same order. Among floats -0.0 is below 0.0, and NaN is the greatest,
as in Spark and DuckDB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.star_tree.measures.arrow_buffers import (
    Mask,
    appended_masks,
    array_of,
    decimal_words,
    decimals_from_words,
    floats_of,
    integers_of,
    merged_mask,
    taken_mask,
    valid_mask,
)
from starskip.star_tree.measures.measure_array import Positions

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
_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Extremes:
    """Keys in the values' order; positions in the sorted ``ranked`` where the type has no keys of its own."""

    keys: Keys
    valid: Mask | None
    arrow_type: pa.DataType
    is_greatest: bool
    ranked: pa.Array | None = None

    @classmethod
    def from_arrow(cls, array: pa.Array, *, is_greatest: bool) -> Self:
        """Return the extremes of a column of rows, or of stored extremes."""
        valid = valid_mask(array)
        if has_order_keys(array.type):
            keys, ranked = order_keys(array), None
        else:
            encoded = array.dictionary_encode() if not pa.types.is_dictionary(array.type) else array
            order = pc.sort_indices(encoded.dictionary)
            ranked = encoded.dictionary.take(order)
            rank = np.empty(len(ranked), np.int64)
            rank[np.asarray(order)] = np.arange(len(ranked))
            positions = encoded.indices.fill_null(0).to_numpy(zero_copy_only=False)
            keys = rank[positions] if len(rank) else np.zeros(len(array), np.int64)
        if valid is not None:
            # The neutral key, so that a null never wins.
            keys = np.where(valid, keys, _LEAST if is_greatest else _GREATEST)
        return cls(keys, valid, array.type, is_greatest, ranked)

    def __len__(self) -> int:
        """See MeasureArray."""
        return len(self.keys)

    def take(self, positions: Positions) -> Extremes:
        """See MeasureArray.take."""
        return self._with(self.keys[positions], taken_mask(self.valid, positions))

    def merged(self, starts: Positions) -> Extremes:
        """See MeasureArray.merged."""
        if not len(starts):
            return self
        reduce = np.maximum if self.is_greatest else np.minimum
        return self._with(reduce.reduceat(self.keys, starts), merged_mask(self.valid, starts))

    def appended(self, others: Sequence[Extremes]) -> Extremes:
        """See MeasureArray.appended."""
        parts = [self, *others]
        if self.ranked is not None:
            values = pa.concat_arrays([part.to_arrow() for part in parts])
            return Extremes.from_arrow(values, is_greatest=self.is_greatest)
        valid = appended_masks([part.valid for part in parts], [len(part) for part in parts])
        return self._with(np.concatenate([part.keys for part in parts]), valid)

    def to_arrow(self) -> pa.Array:
        """See MeasureArray.to_arrow."""
        if self.ranked is None:
            return from_order_keys(self.keys, self.arrow_type, self.valid)
        mask = None if self.valid is None else ~self.valid
        keys = self.keys if mask is None else np.where(mask, 0, self.keys)
        return self.ranked.take(pa.array(keys, mask=mask))

    def results(self) -> pa.Array:
        """See MeasureArray.results."""
        return self.to_arrow()

    def _with(self, keys: Keys, valid: Mask | None) -> Extremes:
        return Extremes(keys, valid, self.arrow_type, self.is_greatest, self.ranked)


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
    """Return the keys of values whose type has keys; nulls get the key of zero."""
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
    """Return the values of ``arrow_type`` with these keys."""
    if pa.types.is_floating(arrow_type):
        bits = keys ^ ((keys >> _SIGN) & _REST)
        return array_of(bits.view(np.float64), valid).cast(arrow_type)
    # A key that is not valid may be out of a narrow type's range.
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
