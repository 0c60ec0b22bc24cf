"""Sort the rows of a window by a column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from starskip.tables.row_window import RowWindow
from starskip.tables.thin_window import rows_taken


def sorted_window(window: RowWindow, column: str) -> RowWindow:
    """Return ``window`` sorted by a single-value ``column``, as in a segment built from sorted input.

    Rows of equal values keep their order. A window that lacks the column stays as it is.
    """
    found = window.columns.get(column)
    if found is None or found.offsets is not None:
        return window
    codes: npt.NDArray[np.signedinteger] = found.codes
    if found.values is not None:
        # Distinct values of a raw column stand in no order.
        ranks = np.empty(len(found.values), dtype=np.int64)
        ranks[pc.array_sort_indices(found.values).to_numpy()] = np.arange(len(found.values))
        codes = ranks[codes]
    return rows_taken(window, np.argsort(codes, kind="stable"))
