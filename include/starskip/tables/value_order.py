"""Sort sampled entries of a column by value."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.tables.row_window import ColumnWindow

_MOST_ENTRIES = 4096

Codes = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ValueOrder:
    """Up to some thousand entries, spread evenly over the window and sorted by value.

    ``codes``: the entries' codes; ``ranks``: the place of each entry's value among all distinct values;
    ``rank_of_code``: this place for every code.
    """

    codes: Codes
    ranks: Codes
    rank_of_code: Codes


def value_order(column: ColumnWindow) -> ValueOrder:
    """Return the order of a column's entries."""
    order = pc.sort_indices(distinct_values(column)).to_numpy()
    rank_of_code = np.empty(len(order), dtype=np.int64)
    rank_of_code[order] = np.arange(len(order))
    codes = column.codes[:: max(len(column.codes) // _MOST_ENTRIES, 1)]
    in_order: Codes = codes[np.argsort(rank_of_code[codes], kind="stable")].astype(np.int64)
    return ValueOrder(in_order, rank_of_code[in_order], rank_of_code)


def distinct_values(column: ColumnWindow) -> pa.Array:
    """Return the values that codes stand for: the segment's dictionary, or the values seen in the window."""
    values = column.dictionary if column.dictionary is not None else column.values
    assert values is not None
    return values
