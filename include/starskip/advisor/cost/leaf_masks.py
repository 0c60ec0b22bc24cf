"""Rows of a window that a predicate on one column keeps.

If the dictionary lacks the literal, no row of the segment is kept; if the literal is the whole dictionary,
every row is. Neither is scanned (``isAlwaysFalse`` and ``isAlwaysTrue`` of Pinot's predicate evaluators,
which patterns do not have).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from functools import reduce
from zlib import crc32

import numpy as np
import numpy.typing as npt

from starskip.advisor.cost.leaf_positions import LeafPositions, Literals
from starskip.sql.predicate import NEGATIONS, PATTERNS, Leaf, Operator
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.value_order import distinct_values
from starskip.tables.value_positions import Positions

Mask = npt.NDArray[np.bool_]

_ASSUMED_RATIOS: Mapping[Operator, float] = {
    Operator.EQUAL: 0.1,
    Operator.IN: 0.2,
    Operator.NOT_EQUAL: 0.9,
    Operator.NOT_IN: 0.8,
    Operator.RANGE: 1 / 3,
}
"""Share of rows that a predicate keeps where the column could not be read."""

_ASSUMED_OTHER_RATIO = 0.5

LEAST_UNKNOWN_RATIO = 0.0005
"""Least share of rows that a predicate is assumed to keep, also where the log says that none passed."""

NULL_TESTS = (Operator.IS_NULL, Operator.IS_NOT_NULL)


class ConstantFilter(Enum):
    """A part of the filter that the segment answers without rows."""

    EMPTY = "empty"
    EVERYTHING = "everything"


def assumed_ratio(operator: Operator) -> float:
    """Return the share of rows that a predicate is assumed to keep where no statistic gives it."""
    return _ASSUMED_RATIOS.get(operator, _ASSUMED_OTHER_RATIO)


def leaf_mask(
    leaves: tuple[Leaf, ...], literals: Literals, window: RowWindow, positions_of: LeafPositions
) -> Mask | ConstantFilter:
    """Return the rows that satisfy all ``leaves``, predicates of one column."""
    leaf = leaves[0]
    column = window.columns.get(leaf.column)
    if leaf.operator in NULL_TESTS:
        is_null = leaf.operator is Operator.IS_NULL
        if column is None or column.nulls is None:
            return ConstantFilter.EMPTY if is_null else ConstantFilter.EVERYTHING
        return column.nulls if is_null else ~column.nulls
    if column is None:
        return _guessed(leaf, window.rows)
    distinct = len(distinct_values(column))
    of_leaves = [positions_of(each, literals, column) for each in leaves]
    if any(each is None for each in of_leaves):
        return _guessed(leaf, window.rows)
    positions = reduce(np.intersect1d, (each for each in of_leaves if each is not None))
    negated = leaf.operator in NEGATIONS
    if column.dictionary is not None and leaf.operator not in PATTERNS:
        # The dictionary covers the segment: a value that it lacks is in no row. A pattern is scanned all the
        # same.
        if len(positions) == 0:
            return ConstantFilter.EVERYTHING if negated else ConstantFilter.EMPTY
        if len(positions) == distinct:
            return ConstantFilter.EMPTY if negated else ConstantFilter.EVERYTHING
    mask = _rows_with(column, positions, distinct)
    if column.dictionary is not None and len(positions) and not mask.any():
        # Present in the segment but not among these rows: as frequent as an average value.
        mask = scattered(len(positions) / distinct, window.rows, leaf)
    return ~mask if negated else mask


def _rows_with(column: ColumnWindow, positions: Positions, values: int) -> Mask:
    hits: Mask
    if len(positions) == 1:
        hits = column.codes == positions[0]
    else:
        wanted = np.zeros(values, dtype=bool)
        wanted[positions] = True
        hits = wanted[column.codes]
    if column.offsets is None:
        return hits
    starts = column.offsets[:-1]
    counts = np.add.reduceat(np.append(hits, False).astype(np.int32), starts)
    # reduceat gives a row without values its neighbour's first entry.
    counts[column.offsets[1:] == starts] = 0
    return np.asarray(counts > 0)


def _guessed(leaf: Leaf, rows: int) -> Mask:
    return scattered(assumed_ratio(leaf.operator), rows, leaf)


def scattered(ratio: float, rows: int, leaf: Leaf) -> Mask:
    """Return rows picked independently of all other columns, the same rows at every run."""
    picked: Mask = np.random.default_rng(crc32(repr(leaf).encode())).random(rows) < ratio
    return picked
