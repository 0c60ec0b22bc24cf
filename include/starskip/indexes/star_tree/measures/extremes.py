"""The least or the greatest values, of any ordered type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.indexes.star_tree.measures.arrow_buffers import (
    Mask,
    appended_masks,
    merged_mask,
    taken_mask,
    valid_mask,
)
from starskip.indexes.star_tree.measures.measure_array import Positions
from starskip.indexes.star_tree.measures.order_keys import Keys, from_order_keys, has_order_keys, order_keys

_LEAST, _GREATEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Extremes:
    """Keys in the values' order; those of ``ranked``, sorted, where the type has no keys of its own."""

    keys: Keys
    valid: Mask | None
    arrow_type: pa.DataType
    is_greatest: bool
    ranked: pa.Array | None = None

    @classmethod
    def from_arrow(cls, array: pa.Array, *, is_greatest: bool) -> Self:
        """Return the extremes of a column: of rows, or as stored."""
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
