"""filter_cost against Pinot 0.11's iterators, row by row: which parts merge to bitmaps, and what they read.

These iterators do what AndDocIdSet, OrDocIdSet, their DocIdIterators, NotDocIdIterator and
SVScanDocIdIterator of release 0.11.0 do, and count the entries read as those do.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.scoring.bound_filter import (
    BoundAnd,
    BoundFilter,
    BoundLeaf,
    BoundNot,
    BoundOr,
    Fixed,
    filter_binder,
)
from starskip.scoring.filter_cost import filter_cost
from starskip.scoring.leapfrog_cost import LeapfrogCost
from starskip.scoring.walk_cost import AndWalk, ScanWalk, walk_cost
from starskip.sql.fingerprint import fingerprint
from starskip.sql.query_shape import query_shape
from starskip.tables.row_window import RowWindow

Windows = Callable[..., RowWindow]
Mask = npt.NDArray[np.bool_]
# Beyond 256 rows a scan reads a second batch.
ROWS = 400


class Run:
    """One run of a filter on a segment with indexes on the columns ``indexed``; ``read``: entries so far."""

    def __init__(self, indexed: str) -> None:
        self.indexed = indexed
        self.read = 0

    def iterator(self, bound: BoundFilter) -> Bitmap | Scan | Lazy:
        match bound:
            case BoundLeaf(leaf, mask):
                rows = set(np.flatnonzero(mask).tolist())
                return Bitmap(rows) if leaf.column in self.indexed else Scan(rows, self)
            case BoundNot(child):
                return Not(self.iterator(child))
            case BoundOr(children):
                return self._or([self.iterator(child) for child in children])
            case BoundAnd(children):
                return self._and([self.iterator(child) for child in sorted(children, key=self._priority)])
        raise AssertionError(bound)

    def _priority(self, bound: BoundFilter) -> int:
        match bound:
            case BoundAnd():
                return 3
            case BoundOr():
                return 4
            case BoundNot(child):
                return self._priority(child)
            case BoundLeaf(leaf):
                return 1 if leaf.column in self.indexed else 5
        raise AssertionError(bound)

    def _and(self, children: list[Any]) -> Bitmap | Lazy:
        bitmaps = [child for child in children if isinstance(child, Bitmap)]
        scans = [child for child in children if isinstance(child, Scan)]
        others = [child for child in children if not isinstance(child, Bitmap | Scan)]
        if not bitmaps or len(bitmaps) + len(scans) < 2:
            return And(children)
        rows = set.intersection(*(bitmap.rows for bitmap in bitmaps))
        for scan in scans:
            self.read += len(rows)
            rows = rows & scan.rows
        return And([Bitmap(rows), *others]) if others else Bitmap(rows)

    def _or(self, children: list[Any]) -> Bitmap | Lazy:
        bitmaps = [child for child in children if isinstance(child, Bitmap)]
        others = [child for child in children if not isinstance(child, Bitmap)]
        if len(bitmaps) < 2:
            return Or(children)
        merged = Bitmap(set.union(*(bitmap.rows for bitmap in bitmaps)))
        return Or([merged, *others]) if others else merged


class Bitmap:
    def __init__(self, rows: set[int]) -> None:
        self.rows = rows
        self.ordered = sorted(rows)
        self.at = 0

    def next(self) -> int:
        return self.advance(self.at)

    def advance(self, row: int) -> int:
        position = bisect_left(self.ordered, row)
        match = self.ordered[position] if position < len(self.ordered) else ROWS
        self.at = match + 1
        return match


class Scan:
    def __init__(self, rows: set[int], run: Run) -> None:
        self.rows = rows
        self.run = run
        self.batch: list[int] = []
        self.at = 0

    def next(self) -> int:
        while not self.batch and self.at < ROWS:
            until = min(self.at + 256, ROWS)
            self.run.read += until - self.at
            self.batch = [row for row in range(self.at, until) if row in self.rows]
            self.at = until
        return self.batch.pop(0) if self.batch else ROWS

    def advance(self, row: int) -> int:
        self.batch, self.at = [], row
        while self.at < ROWS:
            self.run.read += 1
            self.at += 1
            if self.at - 1 in self.rows:
                return self.at - 1
        return ROWS


class Not:
    def __init__(self, child: Any) -> None:
        self.child = child
        self.at = 0
        self.excluded = child.next()

    def next(self) -> int:
        while self.at == self.excluded < ROWS:
            self.at += 1
            self.excluded = self.child.next()
        self.at += 1
        return min(self.at - 1, ROWS)

    def advance(self, row: int) -> int:
        self.at = row
        if row > self.excluded:
            self.excluded = self.child.advance(row)
        return self.next()


class And:
    def __init__(self, children: list[Any]) -> None:
        self.children = children
        self.at = 0

    def next(self) -> int:
        row, leader, number = self.at, -1, 0
        while number < len(self.children):
            if number == leader:
                number += 1
                continue
            match = self.children[number].advance(row)
            if match >= ROWS:
                return ROWS
            if match == row:
                number += 1
            else:
                row, leader, number = match, number, 0
        self.at = row + 1
        return row

    def advance(self, row: int) -> int:
        self.at = row
        return self.next()


class Or:
    def __init__(self, children: list[Any]) -> None:
        self.children = children
        self.standing = [-1] * len(children)
        self.last = -1

    def next(self) -> int:
        for number, child in enumerate(self.children):
            if self.standing[number] == self.last:
                self.standing[number] = child.next()
        self.last = min(self.standing)
        return self.last

    def advance(self, row: int) -> int:
        for number, child in enumerate(self.children):
            if self.standing[number] < row:
                self.standing[number] = child.advance(row)
        self.last = min(self.standing)
        return self.last


Lazy = And | Or | Not


def entries_of_run(bound: BoundFilter, indexed: str) -> float:
    run = Run(indexed)
    iterator = run.iterator(bound)
    while iterator.next() < ROWS:
        pass
    return run.read / ROWS


CARDINALITIES = {"a": 2, "b": 3, "c": 5, "d": 8, "e": 20, "f": 2}
_leaves = st.builds(
    "{} {} 1".format, st.sampled_from(sorted(CARDINALITIES)), st.sampled_from(["=", "<>", "<="])
)
filters = st.recursive(
    _leaves,
    lambda inner: st.one_of(
        st.builds(
            lambda parts, joint: f"({joint.join(parts)})",
            st.lists(inner, min_size=2, max_size=3),
            st.sampled_from([" and ", " or "]),
        ),
        st.builds("not ({})".format, inner),
    ),
    max_leaves=9,
)


@pytest.fixture(scope="module")
def window(window_of: Windows) -> RowWindow:
    draw = np.random.default_rng(7)
    return window_of(**{name: draw.integers(0, n, ROWS).tolist() for name, n in CARDINALITIES.items()})


def bound_filter(window: RowWindow, where: str) -> BoundFilter:
    cut = fingerprint(f"select count(*) from t where {where}")
    return filter_binder(window, lambda leaf: False).bind(query_shape(cut.skeleton).filter, cut.literals)


def predicted(bound: BoundFilter, indexed: str) -> float:
    return filter_cost(bound, lambda leaf: 0.0 if leaf.column in indexed else None)


def walked_cost(masks: Sequence[Mask]) -> LeapfrogCost:
    """What leapfrog_cost is the expectation of, on these rows."""
    scans = [ScanWalk(mask, 1.0) for mask in masks]
    walk_cost(AndWalk(scans, ROWS), ROWS)
    return LeapfrogCost(tuple(scan.entries / ROWS for scan in scans))


@settings(max_examples=40)
@given(where=filters, indexed=st.sets(st.sampled_from(sorted(CARDINALITIES))).map("".join))
def test_any_filter_under_any_indexes(window: RowWindow, where: str, indexed: str) -> None:
    bound = bound_filter(window, where)
    if isinstance(bound, Fixed):
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("starskip.scoring.filter_cost.leapfrog_cost", walked_cost)
        assert predicted(bound, indexed) == pytest.approx(entries_of_run(bound, indexed), rel=1e-9)


@pytest.mark.parametrize(
    ("where", "indexed"),
    [
        # By nothing but scans an AND is walked, and so is all that stands beside it.
        ("((a = 1 and b = 1) or e = 3) and f = 1", "e"),
        # One index merges with no scan where none stands beside it: the text's order is kept.
        ("(e = 3 or f = 1) and (a = 1 or b = 1)", "ab"),
        # NOT of an index is no bitmap, and is asked before the scan.
        ("f = 1 and not a = 1", "a"),
        # What an AND below an OR reads before the walk begins is not read again in it.
        ("((a = 1 and b = 1) or e = 3 or c = 2) and (f = 1 or d = 1)", "ae"),
    ],
)
def test_what_is_walked(window: RowWindow, where: str, indexed: str) -> None:
    bound = bound_filter(window, where)
    assert predicted(bound, indexed) == pytest.approx(entries_of_run(bound, indexed), rel=1e-9)


def test_an_and_with_an_index_is_a_bitmap_wherever_it_stands(window: RowWindow) -> None:
    is_a, is_b, is_e = (window.columns[name].codes == value for name, value in (("a", 1), ("b", 1), ("e", 3)))
    either = ((is_a & is_b) | is_e).mean()
    bound = bound_filter(window, "((a = 1 and b = 1) or e = 3) and f = 1")
    assert predicted(bound, "abe") == pytest.approx(either)
    assert predicted(bound, "ae") == pytest.approx(is_a.mean() + either), "b behind a, then f"
    # A segment without e = 99 is left with an AND below an AND.
    bound = bound_filter(window, "((a = 1 and b = 1) or e = 99) and f = 1")
    assert isinstance(bound, BoundAnd)
    assert predicted(bound, "a") == pytest.approx(is_a.mean() + (is_a & is_b).mean())
