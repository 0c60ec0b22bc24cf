"""Rows that Pinot's older range index leaves to a scan: those with a value in the first or last bucket asked.

``RangeIndexCreator`` keeps 20 buckets of about as many values each; a range covers those between its ends
whole and has the two that hold its ends read again. Multi-value columns have this index in all releases,
since the exact one (``BitSlicedRangeIndexCreator``) takes single values alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from starskip.tables.row_window import ColumnWindow

BUCKETS = 20


def rescanned_rows(column: ColumnWindow, first: int, last: int) -> npt.NDArray[np.bool_]:
    """Return the rows that are read again for codes ``first`` to ``last`` of a multi-value column."""
    assert column.dictionary is not None and column.offsets is not None
    buckets = _bucket_of_codes(column, len(column.dictionary))
    is_end = np.isin(buckets[column.codes], (buckets[first], buckets[last]))
    passed = np.concatenate([[0], np.cumsum(is_end)])
    rows: npt.NDArray[np.bool_] = passed[column.offsets[1:]] > passed[column.offsets[:-1]]
    return rows


def _bucket_of_codes(column: ColumnWindow, codes: int) -> npt.NDArray[np.int64]:
    counts = np.bincount(column.codes, minlength=codes)
    size = -(-len(column.codes) // BUCKETS)
    buckets = np.zeros(codes, dtype=np.int64)
    bucket = filled = 0
    for code, count in enumerate(counts.tolist()):
        # A bucket ends where a further value begins once it holds more than its share.
        if filled > size and count:
            bucket, filled = bucket + 1, 0
        buckets[code] = bucket
        filled += count
    return buckets
