"""Rows that Pinot's older range index leaves to a scan: rows with a value in the first or last bucket.

``RangeIndexCreator`` keeps 20 buckets of about as many values each. A range covers the buckets between its
ends completely, and the two buckets that hold its ends are scanned. Multi-value columns have this index in
all releases, since the exact index (``BitSlicedRangeIndexCreator``) takes single values alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from starskip.tables.row_window import ColumnWindow

BUCKETS = 20


def rescanned_rows(column: ColumnWindow, first: int, last: int) -> npt.NDArray[np.bool_]:
    """Return the rows that are scanned for codes ``first`` to ``last`` of a multi-value column."""
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
        # A bucket that holds more than its share ends at the next value.
        if filled > size and count:
            bucket, filled = bucket + 1, 0
        buckets[code] = bucket
        filled += count
    return buckets
