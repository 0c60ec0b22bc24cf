"""Holds the candidates of a plan, the shares of rows that they leave, and lists before they are read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from pyroaring import BitMap64

from starskip.secondary.access_paths import Path, PathMapping, path_indexes
from starskip.secondary.cost import Cost, Units
from starskip.secondary.postings import PostingReader

SCAN = ("scan",)
_AT_HAND_NS = 10.0
"""Time, for each current row, to find the blocks of other lists and the pages that hold it."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A way to answer, by names of indexes in order, with estimates of its rows and time."""

    path: tuple[str, ...]
    estimated_rows: int
    estimated_ms: float

    def to_document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {
            "path": list(self.path),
            "estimated_rows": self.estimated_rows,
            "estimated_ms": round(self.estimated_ms, 3),
        }


@dataclass
class Search:
    """The candidates so far, and what all estimates are made from."""

    mapping: PathMapping
    reader: PostingReader
    cost: Cost
    candidates: list[Candidate] = field(default_factory=list)

    def told(self, path: tuple[str, ...], rows: float, ms: float) -> Candidate:
        """Keep a candidate and return it."""
        found = Candidate(path, round(rows), ms)
        self.candidates.append(found)
        return found

    def told_anew(self, before: Candidate, rows: float, ms: float) -> Candidate:
        """Replace the estimate of a candidate; several candidates may have the same names."""
        found = Candidate(before.path, round(rows), ms)
        self.candidates = [found if each is before else each for each in self.candidates]
        return found

    def scan_ms(self, left_rows: float) -> float:
        """Return the time of a scan that leaves ``left_rows`` rows."""
        return self.cost.scan(min(1.0, left_rows / max(self.cost.layout.rows, 1)))

    @property
    def left_rows(self) -> float:
        """The rows that may satisfy all predicates."""
        return self.cost.layout.rows * self.left_share(())

    @cached_property
    def _shares(self) -> dict[int, float]:
        """The shares of all paths, the least first."""
        rows = max(self.cost.layout.rows, 1)
        found = {id(path): min(1.0, self.reader.count(path) / rows) for path in self.mapping.paths}
        return dict(sorted(found.items(), key=lambda each: each[1]))

    def has_counted(self, path: Path, rows: int) -> None:
        """Replace a path's estimate by its real number of rows: boxes are estimated."""
        self._shares[id(path)] = min(1.0, rows / max(self.cost.layout.rows, 1))
        self._shares = dict(sorted(self._shares.items(), key=lambda each: each[1]))

    def share(self, path: Path) -> float:
        """Return a path's share of all rows, by its count."""
        return self._shares[id(path)]

    def left_share(self, chosen: Sequence[Path], known: Mapping[int, float] = {}) -> float:
        """Return the share of the chosen paths' rows that may satisfy all other predicates.

        The most selective predicate counts in full, the next by its square root, and so on, since they may be
        correlated. Shares of these rows that are ``known``, by path, count in full.
        """
        apart = {id(path) for path in chosen} | known.keys()
        shares = (share for path, share in self._shares.items() if path not in apart)
        assumed = math.prod(share ** (0.5**at) for at, share in enumerate(shares))
        return float(assumed * math.prod(known.values()))

    def fetch(
        self, chosen: Sequence[Path], units: Units, rows: float, known: Mapping[int, float] = {}
    ) -> float:
        """Return the time to fetch rows that chosen paths leave; ``known``: shares of them in other paths."""
        residual = self.mapping.residual(chosen)
        return self.cost.fetch(units, rows, residual, self.left_share(chosen, known))

    def fetch_rows(self, chosen: Sequence[Path], rows: Mapping[str, BitMap64]) -> float:
        """Return the time to fetch the rows of bitmaps."""
        return self.fetch(chosen, self.cost.layout.units_holding(rows), row_count(rows))


def row_count(rows: Mapping[str, BitMap64]) -> int:
    """Return how many rows bitmaps have."""
    return sum(map(len, rows.values()))


@dataclass(frozen=True, slots=True)
class EntryList:
    """The estimates of an unread path: its entries and the time to gather them.

    ``near_ms``: the time to find a few rows among them. ``units``: the units that hold its rows.
    """

    path: Path
    count: int
    gather_ms: float
    near_ms: float
    units: Units

    @property
    def names(self) -> str:
        """The indexes that it uses."""
        return " and ".join(path_indexes(self.path))


def list_of(path: Path, search: Search) -> EntryList:
    """Estimate a path's times by its count, and by the first and last addresses of its blocks."""
    reader, cost = search.reader, search.cost
    count, reads = reader.count(path), reader.reads(path)
    units = cost.layout.units_of_blocks(reader.blocks(path), count)
    return EntryList(path, count, cost.gather(reads), cost.look_up(reads), units)


def alone_ms(each: EntryList, search: Search) -> float:
    """Return the time of a plan with this path alone."""
    return each.gather_ms + search.fetch([each.path], each.units, each.count)


def first_of(lists: Sequence[EntryList], search: Search) -> EntryList:
    """Return the list to begin with: the first of the greedy order whose estimated time is least."""
    return min(lists, key=lambda each: _order_ms(each, lists, search))


def _order_ms(first: EntryList, lists: Sequence[EntryList], search: Search) -> float:
    """Estimate the time of the greedy order that begins with a list."""
    chosen: list[Path] = [first.path]
    rows, units = float(first.count), first.units
    spent_ms, fetch_ms = first.gather_ms + rows * _AT_HAND_NS / 1e6, search.fetch(chosen, units, rows)
    left = [each for each in lists if each is not first]
    while left:
        each = min(left, key=lambda each: rank(each, search))
        left.remove(each)
        if each.near_ms >= fetch_ms:
            continue
        share = search.share(each.path)
        stays = staying(units, rows, share)
        with_ms = search.fetch([*chosen, each.path], stays, rows * share)
        if each.near_ms + with_ms < fetch_ms:
            chosen.append(each.path)
            rows, units, fetch_ms = rows * share, stays, with_ms
            spent_ms += each.near_ms
    return spent_ms + fetch_ms


def rank(each: EntryList, search: Search) -> float:
    """Return a list's time divided by the share of rows that it leaves out: the least rank comes next.

    As with predicates (Hellerstein, 1993), a list that costs little and leaves out much makes all others
    cheaper.
    """
    return each.near_ms / max(1 - search.share(each.path), 1e-9)


def staying(units: Units, rows: float, share: float) -> Units:
    """Return how many units stay if a share of their rows stays: a unit stays with any of its rows."""
    return tuple(each * (1 - (1 - share) ** (rows / max(each, 1.0))) for each in units)
