"""An access path: an index on one column that answers predicates of the column without a scan.

The cost model simulates every filter with the index and without it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.target_version import TargetVersion
from starskip.sql.predicate import Leaf
from starskip.tables.row_window import ColumnWindow
from starskip.tables.table_overview import ColumnOverview

Flags = npt.NDArray[np.bool_]
Amounts = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Obstacle:
    """The reason why a column cannot have an index: a code and the sentence of the report."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class StoredColumns:
    """Facts of stored columns, one entry a segment and column.

    ``cardinality``: distinct values, for a raw column as many as its type or bounds allow. ``entries``:
    values, as many as ``rows`` in a single-value column. ``magic_bytes``: the length of the marker before
    each index. ``index_bytes``: sizes of the existing indexes, by the segments' name of the index.
    """

    cardinality: Amounts
    entries: Amounts
    rows: Amounts
    has_dictionary: Flags
    is_sorted: Flags
    is_single_value: Flags
    magic_bytes: Amounts
    index_bytes: Callable[[str], Amounts]


@dataclass(frozen=True, slots=True, eq=False)
class StoredSizes:
    """Bytes of a family's index for each entry of StoredColumns.

    ``applies``: whether the column can have the index. ``known_bytes``: size of an existing index.
    ``uniform_bytes``: size of an index to build, as if values were spread evenly; rows of some segments
    correct the sum.
    """

    applies: Flags
    known_bytes: Amounts
    uniform_bytes: Amounts


WindowBytes = Callable[[ColumnWindow, int, int, IndexFormat], float | None]
"""Takes a column's rows, their number, and the segment's number of rows; returns bytes, None if unknown."""


@dataclass(frozen=True, slots=True)
class AccessPath:
    """An index on one column that answers predicates of that column without a scan.

    ``serves``: whether it answers a predicate in a version of Pinot. ``obstacle``: why a column cannot have
    it, None if it can. ``reads_ratio``: entries a row that the index itself reads while answering.
    ``reorders``: the index is the order of the table's rows, so a table has one at most. ``yields_to``:
    families that make this one unnecessary where they answer all predicates on the column. ``segment_index``:
    its name in the metadata of segments, empty if these do not show it. ``sizes`` and ``window_bytes``: its
    bytes, from metadata and from rows; without them its size is not known. ``prunes``: whether a server may
    leave out a segment by the index, since it holds no value that a predicate asks for. ``dictionary_reads``:
    entries for each value of a segment's dictionary that answering a predicate costs.
    """

    serves: Callable[[Leaf, TargetVersion], bool]
    obstacle: Callable[[ColumnOverview], Obstacle | None]
    reads_ratio: Callable[[TargetVersion], float] | None = None
    reorders: bool = False
    yields_to: tuple[str, ...] = ()
    segment_index: str = ""
    sizes: Callable[[StoredColumns, IndexFormat], StoredSizes] | None = None
    window_bytes: WindowBytes | None = None
    prunes: Callable[[Leaf, TargetVersion], bool] | None = None
    dictionary_reads: Callable[[Leaf], float] | None = None
