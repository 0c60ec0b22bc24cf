"""filter_cost against Pinot 0.11's iterators, row by row: which parts merge to bitmaps, and what they read.

The iterators were written after AndDocIdSet, OrDocIdSet, NotDocIdIterator, AndDocIdIterator and OrDocIdIterator
of release 0.11.0, by their behaviour; whatever runs a filter there counts entries as ``read`` does here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.pinot.index_rules import IndexRules
from starskip.scoring.bound_filter import BoundAnd, BoundFilter, BoundLeaf, BoundNot, BoundOr, filter_binder
from starskip.scoring.filter_cost import filter_cost
from starskip.sql.fingerprint import fingerprint
from starskip.sql.predicate import Leaf
from starskip.sql.query_shape import query_shape
from starskip.tables.row_window import RowWindow

Windows = Callable[..., RowWindow]
ROWS = 1_000


class Run:
    """One run of a filter on a segment: how many entries it has read."""

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
        self.at = 0

    def next(self) -> int:
        return self.advance(self.at)

    def advance(self, row: int) -> int:
        match = next((r for r in range(row, ROWS) if r in self.rows), ROWS)
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
