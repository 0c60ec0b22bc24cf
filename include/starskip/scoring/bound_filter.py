"""A filter bound to the rows of one window: which rows match, what a scan of them reads.

Mirrors how Pinot 0.11 plans a filter on a segment (FilterPlanNode, FilterOperatorUtils): a literal
that the dictionary lacks makes an empty filter, one that matches every value drops out, a sorted
column or an existing index answers without a scan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from zlib import crc32

import numpy as np
import numpy.typing as npt

from starskip.pinot.index_rules import IndexRules
from starskip.sql.predicate import (
    NEGATIONS,
    And,
    Bound,
    Constant,
    Leaf,
    Not,
    Operator,
    Or,
    Predicate,
    Slot,
)
from starskip.sql.redacted_text import is_redacted
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.value_positions import Positions, ValuePositions

Mask = npt.NDArray[np.bool_]
Literals = Sequence[Sequence[str]]

_ASSUMED_RATIOS: Mapping[Operator, float] = {
    Operator.EQUAL: 0.1,
    Operator.IN: 0.2,
    Operator.NOT_EQUAL: 0.9,
    Operator.NOT_IN: 0.8,
    Operator.RANGE: 1 / 3,
}
"""Share of rows that a predicate keeps where the column could not be read (design.md: 1/3 for ranges)."""

_ASSUMED_OTHER_RATIO = 0.5

LEAST_UNKNOWN_RATIO = 0.0005
"""Least share of rows that a predicate is taken to keep, also where the log says that none passed."""

_MAX_KEPT_MASK_BYTES = 64 << 20
_NULL_TESTS = (Operator.IS_NULL, Operator.IS_NOT_NULL)


class Fixed(Enum):
    """A part of the filter that the segment answers without rows."""

    EMPTY = "empty"
    EVERYTHING = "everything"


@dataclass(frozen=True, slots=True, eq=False)
class BoundLeaf:
    """``mask``: rows that match. ``entries_per_row``: values that a scan reads a row, 1 if single-value.

    ``is_free``: answered by a sorted column, or by the index that its function cannot do without.
    ``leaf``: what it asks.
    """

    leaf: Leaf
    mask: Mask
    entries_per_row: float
    is_free: bool


@dataclass(frozen=True, slots=True, eq=False)
class BoundAnd:
    """All children hold; in text order."""

    children: tuple[BoundFilter, ...]
    mask: Mask


@dataclass(frozen=True, slots=True, eq=False)
class BoundOr:
    """One of the children holds."""

    children: tuple[BoundFilter, ...]
    mask: Mask


@dataclass(frozen=True, slots=True, eq=False)
class BoundNot:
    """The child does not hold."""

    child: BoundFilter
    mask: Mask


BoundFilter = BoundLeaf | BoundAnd | BoundOr | BoundNot | Fixed


@dataclass(frozen=True, slots=True)
class FilterBinder:
    """Binds filters to one window; ``is_free(leaf)`` tells what the order of the rows answers.

    Masks of leaves are kept by literal, since hot literals return in many queries.
    """

    window: RowWindow
    is_free: Callable[[Leaf], bool]
    _masks: dict[tuple[Leaf, tuple[tuple[str, ...], ...]], tuple[Mask, float] | Fixed]

    def bind(
        self, predicate: Predicate, literals: Literals, unknown_ratio: float | None = None
    ) -> BoundFilter:
        """Return ``predicate`` with ``literals`` in its slots, as this window's segment runs it.

        ``unknown_ratio``: share of rows that expressions keep, where the log tells it.
        """
        match predicate:
            case Constant(value):
                return Fixed.EVERYTHING if value else Fixed.EMPTY
            case And(children):
                return _bound_and([self.bind(child, literals, unknown_ratio) for child in children])
            case Or(children):
                return _bound_or([self.bind(child, literals, unknown_ratio) for child in children])
            case Not(child):
                return _bound_not(self.bind(child, literals, unknown_ratio))
        return self._bind_leaf(predicate, literals, unknown_ratio)

    def is_known(self, leaf: Leaf, literals: Literals) -> bool:
        """Tell whether the rows that match ``leaf`` can be read off the window."""
        if any(is_redacted(literals[slot.position]) for slot in slots_of(leaf)):
            return False
        return bool(leaf.column) and (leaf.column in self.window.columns or leaf.operator in _NULL_TESTS)

    def _bind_leaf(self, leaf: Leaf, literals: Literals, unknown_ratio: float | None) -> BoundFilter:
        is_free = leaf.operator is Operator.OWN_INDEX or self.is_free(leaf)
        if unknown_ratio is not None and not self.is_known(leaf, literals):
            return BoundLeaf(leaf, _scattered(unknown_ratio, self.window.rows, leaf), 1.0, is_free)
        key = (leaf, tuple(tuple(literals[slot.position]) for slot in slots_of(leaf)))
        if key not in self._masks:
            if len(self._masks) * self.window.rows > _MAX_KEPT_MASK_BYTES:
                self._masks.clear()
            self._masks[key] = _leaf_mask(leaf, literals, self.window)
        found = self._masks[key]
        if isinstance(found, Fixed):
            return found
        return BoundLeaf(leaf, found[0], found[1], is_free)


def filter_binder(window: RowWindow, is_free: Callable[[Leaf], bool]) -> FilterBinder:
    """Return a binder for ``window`` with nothing kept yet."""
    return FilterBinder(window, is_free, {})


def assumed_ratio(operator: Operator) -> float:
    """Return the share of rows that a predicate is taken to keep where nothing tells it."""
    return _ASSUMED_RATIOS.get(operator, _ASSUMED_OTHER_RATIO)


def is_served_by_sorting(leaf: Leaf, sorted_columns: frozenset[str], rules: IndexRules) -> bool:
    """Tell whether a sorted column answers ``leaf`` without a scan."""
    return leaf.column in sorted_columns and rules.serves("sorted", leaf)


def slots_of(leaf: Leaf) -> tuple[Slot, ...]:
    """Return all slots of a leaf: of its values, or of its bounds."""
    bounds = tuple(b.slot for b in (leaf.low, leaf.high) if b is not None and b.slot is not None)
    return leaf.slots + bounds


def _bound_and(children: list[BoundFilter]) -> BoundFilter:
    if Fixed.EMPTY in children:
        return Fixed.EMPTY
    parts = [child for child in children if not isinstance(child, Fixed)]
    if not parts:
        return Fixed.EVERYTHING
    if len(parts) == 1:
        return parts[0]
    return BoundAnd(tuple(parts), np.logical_and.reduce([part.mask for part in parts]))


def _bound_or(children: list[BoundFilter]) -> BoundFilter:
    if Fixed.EVERYTHING in children:
        return Fixed.EVERYTHING
    parts = [child for child in children if not isinstance(child, Fixed)]
    if not parts:
        return Fixed.EMPTY
    if len(parts) == 1:
        return parts[0]
    return BoundOr(tuple(parts), np.logical_or.reduce([part.mask for part in parts]))


def _bound_not(child: BoundFilter) -> BoundFilter:
    match child:
        case Fixed.EMPTY:
            return Fixed.EVERYTHING
        case Fixed.EVERYTHING:
            return Fixed.EMPTY
    return BoundNot(child, ~child.mask)


def _leaf_mask(leaf: Leaf, literals: Literals, window: RowWindow) -> tuple[Mask, float] | Fixed:
    if leaf.operator is Operator.IS_NULL:
        return Fixed.EMPTY
    if leaf.operator is Operator.IS_NOT_NULL:
        return Fixed.EVERYTHING
    column = window.columns.get(leaf.column)
    if column is None:
        return _guessed(leaf, window.rows), 1.0
    values = column.dictionary if column.dictionary is not None else column.values
    positions = _positions(leaf, literals, ValuePositions(values))
    if positions is None:
        return _guessed(leaf, window.rows), _entries_per_row(column, window.rows)
    distinct = len(values) if values is not None else 0
    negated = leaf.operator in NEGATIONS
    if column.dictionary is not None:
        # The dictionary covers the segment: what it lacks, no row has.
        if len(positions) == 0:
            return Fixed.EVERYTHING if negated else Fixed.EMPTY
        if len(positions) == distinct:
            return Fixed.EMPTY if negated else Fixed.EVERYTHING
    mask = _rows_with(column, positions, distinct)
    if column.dictionary is not None and not mask.any():
        # Present in the segment but not among these rows: as frequent as an average value.
        mask = _scattered(len(positions) / distinct, window.rows, leaf)
    return (~mask if negated else mask), _entries_per_row(column, window.rows)


def _positions(leaf: Leaf, literals: Literals, values: ValuePositions) -> Positions | None:
    texts = [signed(text, slot) for slot in leaf.slots for text in literals[slot.position]]
    texts.extend(leaf.constants)
    if is_redacted(texts):
        return None
    match leaf.operator:
        case Operator.EQUAL | Operator.NOT_EQUAL | Operator.IN | Operator.NOT_IN if texts:
            return values.equal_to(texts)
        case Operator.RANGE:
            low, high = _bound_text(leaf.low, literals), _bound_text(leaf.high, literals)
            if (
                (leaf.low and low is None)
                or (leaf.high and high is None)
                or is_redacted(filter(None, (low, high)))
            ):
                return None
            return values.between(
                low,
                high,
                low_inclusive=bool(leaf.low and leaf.low.inclusive),
                high_inclusive=bool(leaf.high and leaf.high.inclusive),
            )
        case Operator.LIKE if texts:
            return values.like(texts[0])
        case Operator.REGEXP_LIKE if texts:
            return values.regexp_like(texts[0])
    return None


def _bound_text(bound: Bound | None, literals: Literals) -> str | None:
    if bound is None or bound.slot is None:
        return None
    return signed(literals[bound.slot.position][0], bound.slot)


def signed(text: str, slot: Slot) -> str:
    """Return a literal as the minus before its slot, if there is one, makes it; twice is as never."""
    if not slot.negative:
        return text
    return text[1:] if text.startswith("-") else "-" + text


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


def _entries_per_row(column: ColumnWindow, rows: int) -> float:
    return 1.0 if column.offsets is None or not rows else len(column.codes) / rows


def _guessed(leaf: Leaf, rows: int) -> Mask:
    return _scattered(assumed_ratio(leaf.operator), rows, leaf)


def _scattered(ratio: float, rows: int, leaf: Leaf) -> Mask:
    """Rows picked independently of all other columns, the same ones at every run."""
    picked: Mask = np.random.default_rng(crc32(repr(leaf).encode())).random(rows) < ratio
    return picked
