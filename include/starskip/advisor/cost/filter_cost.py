"""Entries that one segment scans in filter under a set of indexes.

Restates how Pinot 0.11 runs a filter: ``FilterOperatorUtils`` orders the children of an AND, ``AndDocIdSet``
and ``OrDocIdSet`` merge the rows that indexes answer, and iterators walk the rest (doc_id_iterators). In an
AND with an index, the first scan reads exactly the survivors of the index, and the second scan the survivors
of both. The same holds in all releases from 0.10 to 1.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from starskip.advisor.cost.bound_filter import (
    BoundAnd,
    BoundFilter,
    BoundLeaf,
    BoundNot,
    BoundOr,
)
from starskip.advisor.cost.doc_id_iterators import (
    AndIterator,
    Bitmap,
    DocIdIterator,
    NotIterator,
    OrIterator,
    Scan,
    walk,
)
from starskip.advisor.cost.entry_prices import INDEXED_ROW_NS, SCATTERED_NS
from starskip.advisor.cost.leaf_masks import ConstantFilter
from starskip.sql.predicate import Leaf, Operator

Answers = Callable[[Leaf], float | None]
"""Entries a row that the best of the considered indexes reads to answer a leaf; None if none answers it."""

_LARGEST_BLOCK_ROWS = 10_000
"""MAX_DOC_PER_CALL: a selection asks its filter for this many matches at once, or for LIMIT if less."""


@dataclass(frozen=True, slots=True)
class FilterEntries:
    """Entries read on a window: ``eager`` before the first match, ``walked`` for all matches after it.

    ``matches``: rows found, which are not all rows if a LIMIT ended the walk (``is_ended`` false).
    ``eager_ns`` and ``walked_ns``: what both cost, and the rows that indexes find.
    """

    eager: float
    walked: int
    matches: int
    is_ended: bool
    eager_ns: float = 0.0
    walked_ns: float = 0.0

    def of_segment(
        self, window_rows: int, segment_rows: int, limit: int | None = None
    ) -> tuple[float, float]:
        """Return entries and nanoseconds of the whole segment that the window is a part of.

        If the window has fewer matches than a LIMIT, the missing ones are looked for in the rows behind it.
        """
        scale = segment_rows / window_rows
        further = scale
        if not self.is_ended:
            further = 1.0
        elif limit is not None and self.matches:
            further = min(scale, max(limit / self.matches, 1.0))
        return (
            self.eager * scale + self.walked * further,
            self.eager_ns * scale + self.walked_ns * further,
        )


def filter_cost(bound: BoundFilter, answers: Answers) -> float:
    """Return the entries scanned a row of the segment (0 if indexes answer everything)."""
    if isinstance(bound, ConstantFilter):
        return 0.0
    found = filter_entries(bound, answers)
    return (found.eager + found.walked) / len(bound.mask)


def filter_entries(bound: BoundFilter, answers: Answers, limit: int | None = None) -> FilterEntries:
    """Return the entries that ``bound`` reads on its window, until ``limit`` rows are found."""
    if isinstance(bound, ConstantFilter):
        return FilterEntries(0.0, 0, 0, is_ended=True)
    eager, iterator = _evaluated(bound, answers)
    wanted = limit
    if limit is not None and limit > _LARGEST_BLOCK_ROWS:
        wanted = -(-limit // _LARGEST_BLOCK_ROWS) * _LARGEST_BLOCK_ROWS
    walked = walk(iterator, len(bound.mask), wanted)
    return FilterEntries(eager.entries, walked.entries, walked.matches, walked.is_ended, eager.ns, walked.ns)


@dataclass(frozen=True, slots=True)
class _Read:
    """Entries that are read at once, and nanoseconds of them and of the rows that indexes find."""

    entries: float = 0.0
    ns: float = 0.0

    def __add__(self, other: _Read) -> _Read:
        return _Read(self.entries + other.entries, self.ns + other.ns)


def _evaluated(bound: BoundFilter, answers: Answers) -> tuple[_Read, DocIdIterator]:
    """Return what is read at once, and the iterator that finds the matches."""
    match bound:
        case BoundLeaf():
            return _leaf(bound, answers)
        case BoundNot(child):
            entries, iterator = _evaluated(child, answers)
            return entries, NotIterator(iterator)
        case BoundOr():
            return _or(bound, answers)
        case BoundAnd():
            return _and(bound, answers)
    raise AssertionError("a constant has no iterator")


def _leaf(bound: BoundLeaf, answers: Answers) -> tuple[_Read, DocIdIterator]:
    reads = 0.0 if bound.is_free else answers(bound.leaf)
    if reads is None:
        is_expression = bound.leaf.operator is Operator.EXPRESSION
        return _Read(), Scan(bound.mask, bound.value_counts, is_expression, bound.entry_ns)
    # A sorted column is a range of rows; an index is a bitmap, which costs by the rows that it holds.
    found = 0.0 if bound.is_free else INDEXED_ROW_NS * float(np.count_nonzero(bound.mask))
    if bound.rescanned is not None and bound.value_counts is not None and not bound.is_free:
        entries = float(bound.value_counts[bound.rescanned].sum())
    else:
        values = len(bound.mask) if bound.value_counts is None else int(bound.value_counts.sum())
        entries = reads * values
    return _Read(entries, entries * bound.entry_ns + found), Bitmap(bound.mask)


def _or(bound: BoundOr, answers: Answers) -> tuple[_Read, DocIdIterator]:
    evaluated = [_evaluated(child, answers) for child in bound.children]
    eager = sum((read for read, _ in evaluated), start=_Read())
    bitmaps = [iterator for _, iterator in evaluated if isinstance(iterator, Bitmap)]
    if len(bitmaps) < 2:
        return eager, OrIterator(tuple(iterator for _, iterator in evaluated))
    merged = Bitmap(np.logical_or.reduce([bitmap.mask for bitmap in bitmaps]))
    rest = [iterator for _, iterator in evaluated if not isinstance(iterator, Bitmap)]
    return eager, OrIterator((merged, *rest)) if rest else merged


def _and(bound: BoundAnd, answers: Answers) -> tuple[_Read, DocIdIterator]:
    children = bound.children
    if not bound.keeps_order:
        children = tuple(sorted(children, key=lambda child: _priority(child, answers)))
    evaluated = [_evaluated(child, answers) for child in children]
    eager = sum((read for read, _ in evaluated), start=_Read())
    iterators = [iterator for _, iterator in evaluated]
    bitmaps = [iterator for iterator in iterators if isinstance(iterator, Bitmap)]
    scans = [iterator for iterator in iterators if isinstance(iterator, Scan)]
    if not bitmaps or len(bitmaps) + len(scans) < 2:
        return eager, AndIterator(tuple(iterators))
    survivors = np.logical_and.reduce([bitmap.mask for bitmap in bitmaps])
    for scan in scans:
        counts = scan.value_counts
        entries = float(np.count_nonzero(survivors) if counts is None else counts[survivors].sum())
        eager += _Read(entries, entries * (scan.entry_ns + SCATTERED_NS))
        survivors = survivors & scan.mask
    rest = [iterator for iterator in iterators if not isinstance(iterator, Bitmap | Scan)]
    merged = Bitmap(survivors)
    return eager, AndIterator((merged, *rest)) if rest else merged


def _priority(bound: BoundFilter, answers: Answers) -> int:
    """Return the place among an AND's children (FilterOperatorUtils); the order within a place stays."""
    match bound:
        case BoundAnd():
            return 3
        case BoundOr():
            return 4
        case BoundNot(child):
            return _priority(child, answers)
        case BoundLeaf(leaf):
            if bound.is_free:
                return 0
            if answers(leaf) is not None:
                return 2 if leaf.operator is Operator.RANGE else 1
            if leaf.operator is Operator.EXPRESSION:
                return 10
            return 5 if bound.value_counts is None else 6
    return 0
