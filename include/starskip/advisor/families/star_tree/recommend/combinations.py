"""The distinct combinations of some dimensions: all of them, or a sample by the hash of the combination.

A sample keeps the combinations whose hash lies below ``kept_ratio`` of the hash space (KMV, as in a theta
sketch), so that each distinct combination is kept with the same probability however many rows have it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Codes = npt.NDArray[np.int32]
Keys = npt.NDArray[np.int64]
Positions = npt.NDArray[np.int64]

_MAX_KEY = 1 << 62


@dataclass(frozen=True, slots=True)
class Combinations:
    """Distinct combinations in codes: a column of equal length for each dimension.

    ``rows``: the number of rows of the table that have each combination. ``kept_ratio``: the share of all
    combinations that are kept, in (0, 1].
    """

    codes: Mapping[str, Codes]
    rows: Keys
    kept_ratio: float = 1.0

    @property
    def kept(self) -> int:
        """Return the number of kept combinations."""
        return len(self.rows)

    @property
    def total(self) -> float:
        """Return the number of distinct combinations of the table, estimated from a sample."""
        return self.kept / self.kept_ratio


def distinct_combinations(codes: Mapping[str, Codes], rows: Keys) -> Combinations:
    """Return the distinct combinations, sorted by their codes; each given one stands for ``rows`` rows."""
    if not codes:
        return Combinations({}, rows.sum(keepdims=True) if len(rows) else rows)
    keys = combination_keys(list(codes.values()))
    _, firsts, groups = np.unique(keys, return_index=True, return_inverse=True)
    sums = np.bincount(groups, rows, len(firsts)).astype(np.int64)
    return Combinations({name: column[firsts] for name, column in codes.items()}, sums)


def seen_combinations_ratio(rows: Keys, row_ratio: float) -> float:
    """Return the share of all combinations that a part of the rows shows, each as often as ``rows`` says.

    Guaranteed-error estimator: a combination that was seen once stands for sqrt(1 / row_ratio) of them
    (Charikar and others, "Towards estimation error guarantees for distinct values", PODS 2000).
    """
    if row_ratio >= 1 or not len(rows):
        return 1.0
    once = int(np.count_nonzero(rows == 1))
    return float(len(rows) / (len(rows) - once + once / math.sqrt(row_ratio)))


def combination_keys(columns: Sequence[Codes]) -> Keys:
    """Return a number for each row: numbers are equal and ordered as the rows are."""
    keys: Keys = np.zeros(len(columns[0]), np.int64)
    distinct = 1
    for column in columns:
        radix = int(column.max(initial=0)) + 1
        if distinct * radix >= _MAX_KEY:
            # Too many for one number: only the ranks of the present values count.
            found, keys = np.unique(keys, return_inverse=True)
            distinct = len(found)
        keys = keys * radix + column
        distinct *= radix
    return keys


def value_codes(column: pa.Array | pa.ChunkedArray, values: pa.Array) -> Codes:
    """Return the position of each value in ``values``, their number for null."""
    codes = pc.fill_null(pc.index_in(column, value_set=values), len(values))
    found: Codes = codes.to_numpy().astype(np.int32)
    return found
