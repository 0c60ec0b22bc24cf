from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.cost.bucketed_range_index import BUCKETS, rescanned_rows
from starskip.tables.row_window import ColumnWindow

rows_of_codes = st.lists(st.lists(st.integers(0, 39), max_size=5), min_size=1, max_size=120)


def column(rows: list[list[int]]) -> ColumnWindow:
    codes = np.array([code for row in rows for code in row], dtype=np.int32)
    offsets = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return ColumnWindow(codes=codes, dictionary=pa.array(range(40)), offsets=offsets)


def buckets_of_pinot(values: list[int]) -> list[range]:
    """RangeIndexCreator.seal in Python: positions of each bucket among the sorted values."""
    size, start, found = -(-len(values) // BUCKETS), 0, []
    for position in range(len(values)):
        if position > start + size and values[position] != values[position - 1]:
            found.append(range(start, position))
            start = position
    return [*found, range(start, len(values))]


@given(rows=rows_of_codes, data=st.data())
def test_the_buckets_of_both_ends_are_read_again(rows: list[list[int]], data: st.DataObject) -> None:
    values = sorted(code for row in rows for code in row)
    if not values:
        return
    first, last = sorted((data.draw(st.sampled_from(values)), data.draw(st.sampled_from(values))))
    buckets = [{values[position] for position in bucket} for bucket in buckets_of_pinot(values)]
    again = {code for bucket in buckets if first in bucket or last in bucket for code in bucket}
    expected = [bool(again & set(row)) for row in rows]
    assert rescanned_rows(column(rows), first, last).tolist() == expected
