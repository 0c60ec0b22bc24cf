"""An access path: an index on one column that answers predicates of it without a scan.

The cost model simulates every filter with it and without it.
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
    """Why a column cannot have an index: a code and the sentence of the report."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True, eq=False)
class StoredColumns:
    """Facts of stored columns, one entry a segment and column.

    ``cardinality``: distinct values, of a raw column those that its type or bounds allow. ``entries``:
    values, as many as ``rows`` of a single-value column. ``magic_bytes``: what stands before each index.
    ``index_bytes``: sizes of the indexes that there are, by the name that segments have for an index.
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

    ``applies``: a column that can have it. ``known_bytes``: of an index that is there. ``uniform_bytes``: of
    one to build, as if values were spread evenly; rows of some segments correct their sum.
    """

    applies: Flags
    known_bytes: Amounts
    uniform_bytes: Amounts


WindowBytes = Callable[[ColumnWindow, int, int, IndexFormat], float | None]
"""Takes a column's rows, how many they are, and the segment's; returns bytes, None if unknown."""


@dataclass(frozen=True, slots=True)
class AccessPath:
    """An index on one column that answers predicates of that column without a scan.

    ``serves``: whether it answers a predicate in a version of Pinot. ``obstacle``: why a column cannot have
    it, None if it can. ``reads_ratio``: entries a row that it reads itself while answering. ``reorders``: it
    is the order of the table's rows, of which there is one. ``yields_to``: families beside which it is not
    considered where they answer all that queries ask of the column. ``segment_index``: its name in the
    metadata of segments, empty if these do not show it. ``sizes`` and ``window_bytes``: its bytes, from
    metadata and from rows; without them its size is not known.
    """

    serves: Callable[[Leaf, TargetVersion], bool]
    obstacle: Callable[[ColumnOverview], Obstacle | None]
    reads_ratio: Callable[[TargetVersion], float] | None = None
    reorders: bool = False
    yields_to: tuple[str, ...] = ()
    segment_index: str = ""
    sizes: Callable[[StoredColumns, IndexFormat], StoredSizes] | None = None
    window_bytes: WindowBytes | None = None
