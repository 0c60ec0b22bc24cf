"""A filter bound to the rows of one window: which rows match, and what a scan of them reads.

Mirrors how Pinot 0.11 plans a filter on a segment (FilterPlanNode, FilterOperatorUtils): a literal that the
dictionary lacks makes an empty filter, a predicate that matches every value drops out, and a sorted column or
an existing index answers without a scan.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from starskip.advisor.cost.entry_prices import FREE, EntryPrice, entry_price
from starskip.advisor.cost.expression_masks import expression_mask
from starskip.advisor.cost.leaf_masks import (
    NULL_TESTS,
    ConstantFilter,
    Mask,
    leaf_mask,
    scattered,
)
from starskip.advisor.cost.leaf_positions import LeafPositions, Literals, slots_of, texts_of
from starskip.advisor.families.access_rules import AccessRules
from starskip.sql.predicate import (
    And,
    Constant,
    Filtered,
    Leaf,
    Not,
    Operator,
    Or,
    Predicate,
)
from starskip.sql.redacted_text import is_redacted
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.thin_window import rows_taken

Counts = npt.NDArray[np.int32]
Rows = npt.NDArray[np.int64]
_MAX_KEPT_MASK_BYTES = 64 << 20

BUCKETS = 20


@dataclass(frozen=True, slots=True, eq=False)
class BoundLeaf:
    """A predicate bound to a window.

    ``mask``: rows that match. ``value_counts``: values that a scan reads in each row, None for one value
    each. ``is_free``: a sorted column answers it, or the index that its function requires. ``leaf``: the
    predicate. ``rescanned``: rows that are read although a range index answers it, None for none. ``price``:
    nanoseconds that a scan takes for an entry.
    """

    leaf: Leaf
    mask: Mask
    value_counts: Counts | None
    is_free: bool
    rescanned: Mask | None = None
    price: EntryPrice = FREE


@dataclass(frozen=True, slots=True, eq=False)
class BoundAnd:
    """A conjunction in text order; ``keeps_order``: the children are evaluated in that order."""

    children: tuple[BoundFilter, ...]
    mask: Mask
    keeps_order: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class BoundOr:
    """A disjunction."""

    children: tuple[BoundFilter, ...]
    mask: Mask


@dataclass(frozen=True, slots=True, eq=False)
class BoundNot:
    """A negation."""

    child: BoundFilter
    mask: Mask


BoundFilter = BoundLeaf | BoundAnd | BoundOr | BoundNot | ConstantFilter


@dataclass(frozen=True, slots=True)
class FilterBinder:
    """Binds filters to one window; ``is_free(leaf)``: whether the order of the rows answers it.

    Masks of leaves are kept by literal, since hot literals return in many queries. ``positions_of`` looks
    literals up in the segment's values. ``_unsorted``: the binder of the same rows in another order, whose
    masks this one takes over, and the rows of that order.
    """

    window: RowWindow
    is_free: Callable[[Leaf], bool]
    positions_of: LeafPositions
    _masks: dict[tuple[tuple[Leaf, ...], tuple[tuple[str, ...], ...]], Mask | ConstantFilter]
    _counts: dict[str, Counts]
    _expressions: dict[tuple[Leaf, tuple[tuple[str, ...], ...]], Mask | None]
    _unsorted: tuple[FilterBinder, Rows] | None = None

    def bind(
        self,
        predicate: Predicate,
        literals: Literals,
        unknown_ratio: float | None = None,
        *,
        is_optimized: bool = True,
    ) -> BoundFilter:
        """Return ``predicate`` with ``literals`` in its slots, as this window's segment runs it.

        ``unknown_ratio``: share of rows that expressions keep, where the log shows it. ``is_optimized``: the
        broker's optimizers saw the filter; the ranges of one column in a FILTER stay two.
        """
        bind = partial(self.bind, literals=literals, unknown_ratio=unknown_ratio)
        match predicate:
            case Constant(value):
                return ConstantFilter.EVERYTHING if value else ConstantFilter.EMPTY
            case And(children):
                if not is_optimized:
                    return _bound_and([bind(child, is_optimized=False) for child in children])
                return _bound_and(self._bind_all(children, literals, unknown_ratio))
            case Or(children):
                disjuncts = [bind(child, is_optimized=is_optimized) for child in children]
                if any(isinstance(child, Filtered) for child in children):
                    # If all rows pass the WHERE, it reads nothing itself; FILTERs beside it still do.
                    disjuncts = [
                        disjunct for disjunct in disjuncts if disjunct is not ConstantFilter.EVERYTHING
                    ] or [ConstantFilter.EVERYTHING]
                return _bound_or(disjuncts)
            case Not(child):
                return _bound_not(bind(child, is_optimized=is_optimized))
            case Filtered(rows, child):
                return _bound_within(bind(rows), bind(child, is_optimized=child == rows))
        return self._bind_range(predicate, literals, unknown_ratio)

    def in_order_of(self, order: Rows, is_free: Callable[[Leaf], bool]) -> FilterBinder:
        """Return a binder for the same rows in another ``order``."""
        window = rows_taken(self.window, order)
        return FilterBinder(window, is_free, self.positions_of, {}, {}, {}, (self, order))

    def is_known(self, leaf: Leaf, literals: Literals) -> bool:
        """Return whether the rows that match ``leaf`` can be computed from the window."""
        if any(is_redacted(literals[slot.position]) for slot in slots_of(leaf)):
            return False
        return bool(leaf.column) and (leaf.column in self.window.columns or leaf.operator in NULL_TESTS)

    def _bind_all(
        self, children: Sequence[Predicate], literals: Literals, unknown_ratio: float | None
    ) -> list[BoundFilter]:
        """Bind the children of an AND; ranges of one single-value column become one, as in the broker."""
        ranges: dict[str, list[Leaf]] = {}
        for child in children:
            if self._is_mergeable(child):
                assert isinstance(child, Leaf)
                ranges.setdefault(child.column, []).append(child)
        bound = []
        for child in children:
            if isinstance(child, Leaf) and self._is_mergeable(child):
                of_column = ranges.pop(child.column, None)
                if of_column:
                    bound.append(self._bind_leaves(tuple(of_column), literals, unknown_ratio))
            else:
                bound.append(self.bind(child, literals, unknown_ratio))
        return bound

    def _is_mergeable(self, predicate: Predicate) -> bool:
        return (
            isinstance(predicate, Leaf)
            and predicate.operator is Operator.RANGE
            and not predicate.expression
            and not self._is_multi_value(predicate.column)
        )

    def _is_multi_value(self, column: str) -> bool:
        return column in self.window.columns and self.window.columns[column].offsets is not None

    def _bind_range(self, leaf: Leaf, literals: Literals, unknown_ratio: float | None) -> BoundFilter:
        if leaf.is_merged and self._is_multi_value(leaf.column):
            halves = (replace(leaf, high=None, is_merged=False), replace(leaf, low=None, is_merged=False))
            return _bound_and([self._bind_leaves((half,), literals, unknown_ratio) for half in halves])
        return self._bind_leaves((leaf,), literals, unknown_ratio)

    def _bind_leaves(
        self, leaves: tuple[Leaf, ...], literals: Literals, unknown_ratio: float | None
    ) -> BoundFilter:
        """Bind predicates of one column that hold together; only ranges come in several."""
        leaf = leaves[0]
        # Null tests read the null value vector, a bitmap.
        is_free = leaf.operator in (Operator.OWN_INDEX, *NULL_TESTS) or self.is_free(leaf)
        if leaf.expression:
            computed = self._expression(leaf, literals)
            if computed is not None:
                return self._computed(leaf, computed, is_free=is_free)
        if unknown_ratio is not None and not self.is_known(leaf, literals):
            mask = scattered(unknown_ratio, self.window.rows, leaf)
            return BoundLeaf(leaf, mask, None, is_free, price=self._price(leaf))
        found = self._mask(leaves, literals)
        if isinstance(found, ConstantFilter):
            return found
        return BoundLeaf(
            leaf,
            found,
            self._value_counts(leaf.column),
            is_free,
            self._rescanned(leaf, literals),
            self._price(leaf),
        )

    def _mask(self, leaves: tuple[Leaf, ...], literals: Literals) -> Mask | ConstantFilter:
        if self._unsorted is not None:
            binder, order = self._unsorted
            mask = binder._mask(leaves, literals)
            return mask if isinstance(mask, ConstantFilter) else mask[order]
        key = (leaves, tuple(text for each in leaves for text in texts_of(each, literals)))
        found = self._masks.get(key)
        if found is None:
            if len(self._masks) * self.window.rows > _MAX_KEPT_MASK_BYTES:
                self._masks.clear()
            found = self._masks[key] = leaf_mask(leaves, literals, self.window, self.positions_of)
        return found

    def _price(self, leaf: Leaf) -> EntryPrice:
        return entry_price(leaf, self.window.columns.get(leaf.column))

    def _computed(self, leaf: Leaf, mask: Mask, *, is_free: bool) -> BoundFilter:
        """Bind a computed predicate; if it asks one column alone, all rows or none may match."""
        is_whole = self.window.rows == self.window.segment_rows
        if leaf.operator is not Operator.EXPRESSION and is_whole and leaf.column in self.window.columns:
            if not mask.any():
                return ConstantFilter.EMPTY
            if mask.all():
                return ConstantFilter.EVERYTHING
        return BoundLeaf(leaf, mask, None, is_free, price=self._price(leaf))

    def _expression(self, leaf: Leaf, literals: Literals) -> Mask | None:
        if self._unsorted is not None:
            binder, order = self._unsorted
            mask = binder._expression(leaf, literals)
            return None if mask is None else mask[order]
        key = (leaf, tuple(tuple(literals[position]) for position in _positions_in(leaf.expression)))
        if key not in self._expressions:
            self._expressions[key] = expression_mask(leaf, literals, self.window)
        return self._expressions[key]

    def _rescanned(self, leaf: Leaf, literals: Literals) -> Mask | None:
        column = self.window.columns.get(leaf.column)
        if leaf.operator is not Operator.RANGE or column is None:
            return None
        if column.offsets is None or column.dictionary is None:
            return None
        codes = self.positions_of(leaf, literals, column)
        return None if codes is None or not len(codes) else rescanned_rows(column, codes[0], codes[-1])

    def _value_counts(self, column: str) -> Counts | None:
        if not self._is_multi_value(column):
            return None
        if column not in self._counts:
            offsets = self.window.columns[column].offsets
            assert offsets is not None
            self._counts[column] = np.diff(offsets)
        return self._counts[column]


def filter_binder(window: RowWindow, is_free: Callable[[Leaf], bool]) -> FilterBinder:
    """Return a new binder for ``window``."""
    return FilterBinder(window, is_free, LeafPositions(), {}, {}, {})


def is_served_by_sorting(leaf: Leaf, sorted_columns: frozenset[str], rules: AccessRules) -> bool:
    """Return whether a sorted column answers ``leaf`` without a scan."""
    return leaf.column in sorted_columns and rules.order_serves(leaf)


def _positions_in(expression: str) -> list[int]:
    return [int(found) for found in re.findall(r":p(\d+)", expression)]


def _bound_and(children: list[BoundFilter]) -> BoundFilter:
    if ConstantFilter.EMPTY in children:
        return ConstantFilter.EMPTY
    parts = [child for child in children if not isinstance(child, ConstantFilter)]
    if not parts:
        return ConstantFilter.EVERYTHING
    if len(parts) == 1:
        return parts[0]
    return BoundAnd(tuple(parts), np.logical_and.reduce([part.mask for part in parts]))


def _bound_within(rows: BoundFilter, asked: BoundFilter) -> BoundFilter:
    """Return an AND of ``asked`` with rows that are known before it is evaluated (CombinedFilterOperator).

    ``toNonScanDocIdSet`` gathers the rows of a scan, an AND or an OR beforehand; the rows of a NOT are
    scanned again. No rows count as known rows, too: a NOT of ``asked`` looks for its first row before it is
    asked for one.
    """
    if isinstance(asked, ConstantFilter):
        return ConstantFilter.EMPTY
    if isinstance(rows, BoundNot):
        return BoundAnd((rows, asked), rows.mask & asked.mask, keeps_order=True)
    mask = (
        np.full(len(asked.mask), rows is ConstantFilter.EVERYTHING)
        if isinstance(rows, ConstantFilter)
        else rows.mask
    )
    known = BoundLeaf(Leaf(Operator.OWN_INDEX), mask, None, is_free=True)
    return BoundAnd((known, asked), mask & asked.mask)


def _bound_or(children: list[BoundFilter]) -> BoundFilter:
    if ConstantFilter.EVERYTHING in children:
        return ConstantFilter.EVERYTHING
    parts = [child for child in children if not isinstance(child, ConstantFilter)]
    if not parts:
        return ConstantFilter.EMPTY
    if len(parts) == 1:
        return parts[0]
    return BoundOr(tuple(parts), np.logical_or.reduce([part.mask for part in parts]))


def _bound_not(child: BoundFilter) -> BoundFilter:
    match child:
        case ConstantFilter.EMPTY:
            return ConstantFilter.EVERYTHING
        case ConstantFilter.EVERYTHING:
            return ConstantFilter.EMPTY
    return BoundNot(child, ~child.mask)


# ``RangeIndexCreator`` keeps 20 buckets of about as many values each. A range covers the buckets between
# its ends completely, and the two buckets that hold its ends are scanned. Multi-value columns have this
# index in all releases, since the exact index (``BitSlicedRangeIndexCreator``) takes single values alone.
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
