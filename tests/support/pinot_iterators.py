"""Pinot 0.11's iterators over matching documents, row by row in plain Python, counting what they read.

They do what AndDocIdSet, OrDocIdSet, their DocIdIterators, NotDocIdIterator, SVScanDocIdIterator,
MVScanDocIdIterator and ExpressionScanDocIdIterator of release 0.11.0 do. The compiled walk is held against
them.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

import numpy as np
from starskip.advisor.cost.bound_filter import BoundAnd, BoundFilter, BoundLeaf, BoundNot, BoundOr

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
        # PeekableIntIterator never goes back, also where an AND begins anew.
        position = bisect_left(self.ordered, max(row, self.at))
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


class MultiValueScan:
    def __init__(self, rows: set[int], counts: list[int], run: Run) -> None:
        self.rows = rows
        self.counts = counts
        self.run = run
        self.at = 0

    def next(self) -> int:
        return self.advance(self.at)

    def advance(self, row: int) -> int:
        self.at = row
        while self.at < ROWS:
            self.run.read += self.counts[self.at]
            self.at += 1
            if self.at - 1 in self.rows:
                return self.at - 1
        return ROWS


class Expression:
    def __init__(self, rows: set[int], run: Run, block: int) -> None:
        self.rows = rows
        self.run = run
        self.block = block
        self.found: list[int] = []
        self.end = 0

    def next(self) -> int:
        while not self.found and self.end < ROWS:
            start, self.end = self.end, min(self.end + self.block, ROWS)
            self.run.read += self.end - start
            self.found = [row for row in range(start, self.end) if row in self.rows]
        return self.found.pop(0) if self.found else ROWS

    def advance(self, row: int) -> int:
        if row < self.end:
            self.found = [found for found in self.found if found >= row]
        else:
            self.found, self.end = [], row
        return self.next()


class Not:
    def __init__(self, child: Any) -> None:
        self.child = child
        self.at = 0
        self.excluded = child.next()

    def next(self) -> int:
        # Release 0.11 asks once more where both stand at the end, and an AND then begins anew.
        while self.at == self.excluded:
            self.at += 1
            self.excluded = self.child.next()
        if self.at >= ROWS:
            return ROWS
        self.at += 1
        return self.at - 1

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
        return self._least()

    def advance(self, row: int) -> int:
        for number, child in enumerate(self.children):
            if self.standing[number] < row:
                self.standing[number] = child.advance(row)
        return self._least()

    def _least(self) -> int:
        # OrDocIdIterator drops what is exhausted, and asks it no more.
        least = min(self.standing)
        if least < ROWS:
            self.last = least
        return least


Lazy = And | Or | Not


def entries_of_run(bound: BoundFilter, indexed: str) -> float:
    run = Run(indexed)
    iterator = run.iterator(bound)
    while iterator.next() < ROWS:
        pass
    return run.read / ROWS
