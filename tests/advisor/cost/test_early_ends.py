"""Early ends of Pinot 0.11's selections and DISTINCTs in segments that are read in a given order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from pinot.filters.early_ends import Segment, early_end
from pinot.filters.generated_table import GeneratedColumn, GeneratedTable
from pinot.filters.generated_windows import row_windows, sorted_columns

VALUES = ([1, 1, 2], [5, 6, 7, 8], [1, 2, 3, 9], [1])
COLUMNS = (GeneratedColumn("a", "INT"),)
SEGMENTS = tuple(
    Segment(window, np.ones(window.rows, bool), sorted_columns(window))
    for window in row_windows(
        GeneratedTable("t", COLUMNS, tuple({"a": values} for values in VALUES), "a", handles_nulls=False)
    )
)


@pytest.mark.parametrize(
    ("query", "order", "visited"),
    [
        ("SELECT a FROM t LIMIT 3", (0, 1, 2, 3), [0]),
        ("SELECT a FROM t LIMIT 3", (3, 0, 1, 2), [3, 0]),
        ("SELECT a FROM t LIMIT 4", (3, 1, 2, 0), [3, 1]),
        ("SELECT a FROM t LIMIT 100", (3, 1, 2, 0), [3, 1, 2, 0]),
        ("SELECT a FROM t LIMIT 0", (3, 1, 2, 0), []),
        # Ordered: by least values (1, 5, 1, 1), ties in the order told, until the next lies behind the rows.
        ("SELECT a FROM t ORDER BY a LIMIT 1", (0, 1, 2, 3), [0]),
        ("SELECT a FROM t ORDER BY a LIMIT 1", (1, 3, 2, 0), [3]),
        ("SELECT a FROM t ORDER BY a LIMIT 2", (1, 3, 2, 0), [3, 2, 0]),
        ("SELECT a FROM t ORDER BY a LIMIT 2", (1, 3, 0, 2), [3, 0]),
        ("SELECT a FROM t ORDER BY a LIMIT 5", (1, 3, 0, 2), [3, 0, 2, 1]),
        # Another thread merges the rows while the next segment is read: 3 and 0 have three rows up to 2.
        ("SELECT a FROM t ORDER BY a LIMIT 3", (3, 0, 2, 1), [3, 0, 2]),
        ("SELECT a FROM t ORDER BY a DESC LIMIT 1", (1, 3, 0, 2), [2]),
        ("SELECT a FROM t ORDER BY a DESC LIMIT 3", (1, 3, 0, 2), [2, 1]),
        # DISTINCT: values (1, 2), (5, 6, 7, 8), (1, 2, 3, 9), (1).
        ("SELECT DISTINCT a FROM t LIMIT 2", (3, 0, 1, 2), [3, 0]),
        ("SELECT DISTINCT a FROM t LIMIT 5", (2, 3, 0, 1), [2, 3, 0, 1]),
        ("SELECT DISTINCT a FROM t LIMIT 5", (0, 1, 2, 3), [0, 1]),
        ("SELECT DISTINCT a FROM t ORDER BY a LIMIT 1", (0, 1, 2, 3), [0, 1, 2, 3]),
    ],
)
def test_segments_that_are_read(query: str, order: Sequence[int], visited: list[int]) -> None:
    end = early_end(query, SEGMENTS)
    assert list(end.visited(order)) == visited
    assert end.entries(order, lambda number, _: 10**number) == sum(10**number for number in visited)


def test_limits_of_a_segments_scan() -> None:
    assert early_end("SELECT a FROM t LIMIT 3", SEGMENTS).limits == (3,) * 4
    # Rows of a segment that is sorted by what they are ordered by are taken as they come.
    assert early_end("SELECT a FROM t ORDER BY a LIMIT 3 OFFSET 2", SEGMENTS).limits == (5,) * 4
    assert early_end("SELECT a FROM t ORDER BY a DESC LIMIT 3", SEGMENTS).limits == (None,) * 4
    assert early_end("SELECT DISTINCT a FROM t LIMIT 2", SEGMENTS).limits == (10_000, 10_000, 10_000, None)
