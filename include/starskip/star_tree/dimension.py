"""The sorted values of a dimension, and the codes that stand for them in documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import SourceError


@dataclass(frozen=True, slots=True)
class Dimension:
    """``values`` are distinct, without null, sorted by their own type (texts by UTF-8 bytes, NaN last)."""

    name: str
    values: pa.Array

    @property
    def null_code(self) -> int:
        """Return the code of null, behind all values."""
        return len(self.values)

    @property
    def star_code(self) -> int:
        """Return the code of the star, the greatest."""
        return len(self.values) + 1

    def encode(self, array: pa.Array) -> npt.NDArray[np.int32]:
        """Return the codes of values of the same type.

        Raises SourceError for a value that the dimension lacks: the table changed between two reads.
        """
        encoded = plain_values(array).dictionary_encode()
        positions = pc.index_in(encoded.dictionary, self.values)
        if positions.null_count:
            raise SourceError(
                f"column {self.name}: the table was changed while it was read; run the build again",
                source=self.name,
            )
        codes = np.append(positions.to_numpy(zero_copy_only=False), self.null_code).astype(np.int32)
        local = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        found: npt.NDArray[np.int32] = codes[local]
        return found


def distinct_values(array: pa.Array) -> pa.Array:
    """Return the sorted distinct values, without null."""
    return sorted_values(plain_values(array).unique().drop_null())


def sorted_values(values: pa.Array) -> pa.Array:
    """Return the values sorted by their own type."""
    return values.take(pc.sort_indices(values))


def plain_values(array: pa.Array) -> pa.Array:
    """Return the values without dictionary encoding; floats have one zero and one NaN."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type):
        # -0.0 equals 0.0 in SQL, and NaN equals NaN in a GROUP BY; Arrow compares their bits.
        array = pc.add(array, pa.scalar(0.0, array.type))
        array = pc.if_else(pc.is_nan(array), pa.scalar(float("nan"), array.type), array)
    return array
