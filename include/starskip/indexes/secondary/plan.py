"""Choose the paths by which a query is answered, in order, by counts of their entries.

The greedy order of "Greedy List Intersection" (Krauthgamer and others, 2008): begin with the list that is
cheapest alone, and go on with the one that promises the cheapest fetch, as long as that saves more than
reading it takes. As in the paper intersections are sampled: of a long list of a range or a box a few blocks
are intersected with the rows at hand before all of it is read, of n-grams the list of the rarest one. A list
that cannot pay even if it left no row is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from pyroaring import BitMap64

from starskip.indexes.secondary.access_paths import (
    Path,
    PathMapping,
    RangePath,
    WithoutPath,
    path_indexes,
)
from starskip.indexes.secondary.cost import Cost, Units
from starskip.indexes.secondary.postings import PostingReader
from starskip.indexes.secondary.secondary_index import Kind
from starskip.number_text import count as counted

SCAN = ("scan",)
SHORT = 0.05
"""A list is read without a sample of it if that takes no more than this share of what is at stake."""
_SLOW = 0.5
"""A list is not read at all if that alone takes this share of a scan."""
_FEW = 10
"""A limit is counted on to end a query where so many times as many rows are expected."""


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


@dataclass(frozen=True, slots=True)
class Plan:
    """The chosen paths in order, none for a scan.

    ``rows``: what they leave, None for a scan, and for paths of which no more is read than is needed.
    """

    candidates: tuple[Candidate, ...]
    chosen: tuple[str, ...]
    reason: str
    paths: tuple[Path, ...] = ()
    rows: Mapping[str, BitMap64] | None = None

    def to_document(self) -> dict[str, Any]:
        """Return it as ``explain`` prints it."""
        return {
            "candidates": [each.to_document() for each in self.candidates],
            "chosen": list(self.chosen),
            "reason": self.reason,
        }


@dataclass
class _Search:
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
        """Keep another estimate in the place of one before; several candidates may have the same names."""
        found = Candidate(before.path, round(rows), ms)
        self.candidates = [found if each is before else each for each in self.candidates]
        return found

    def scan_ms(self, left_rows: float) -> float:
        """Return the time of a scan that leaves so many rows."""
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
        """Take the rows that a path turned out to have in place of an estimate: boxes are estimated."""
        self._shares[id(path)] = min(1.0, rows / max(self.cost.layout.rows, 1))
        self._shares = dict(sorted(self._shares.items(), key=lambda each: each[1]))

    def share(self, path: Path) -> float:
        """Return the share of the rows that a path has, counted."""
        return self._shares[id(path)]

    def left_share(self, chosen: Sequence[Path], known: Mapping[int, float] = {}) -> float:
        """Return what share of the chosen paths' rows may satisfy all other predicates.

        The most selective counts in full, the next by its square root, and so on: they may be correlated.
        Shares that are ``known`` of these rows, by path, count in full.
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
        return self.fetch(chosen, self.cost.layout.units_holding(rows), _count(rows))


def choose_plan(
    mapping: PathMapping,
    reader: PostingReader,
    cost: Cost,
    *,
    covered: Sequence[Path] = (),
    with_rows: bool = False,
    limit: int | None = None,
) -> Plan:
    """Return the cheapest plan among scan, the clustering key, each path alone, and greedy intersections.

    ``covered``: paths that together answer the query without a fetch, ``with_rows`` by their keys. With a
    ``limit`` that is far below what is expected a list is read only as far as needed.
    """
    paths = mapping.paths
    search = _Search(mapping, reader, cost)
    scan = search.told(SCAN, cost.layout.rows, search.scan_ms(search.left_rows))
    if covered:
        ms = sum(cost.gather(reader.reads(path), reader.count(path)) for path in covered)
        search.told(_names(covered), min(map(reader.count, covered)), ms)
        if ms < scan.estimated_ms:
            found = forced_plan(covered, reader, in_steps=with_rows or limit is not None)
            holding = "the index holds" if len(found.chosen) == 1 else "the indexes hold"
            reason = f"{holding} all that is asked for; no row is fetched"
            return Plan(tuple(search.candidates), found.chosen, reason, found.paths, found.rows)
    primary = _primary_plan(paths, search)
    if primary is not None and primary[1]:
        found, reason = primary[0], primary[1]
        return Plan(tuple(search.candidates), found.chosen, reason, found.paths, found.rows)
    lists = [path for path in paths if not isinstance(path, WithoutPath) and not _is_primary(path)]
    soon = _soon_enough(lists, search, scan, limit) if limit is not None else None
    if soon is not None:
        return soon
    if not lists:
        reason = "no predicate has an index that serves it"
        best: Plan = Plan((), SCAN, reason)
        best_ms = scan.estimated_ms
    else:
        differences = [path for path in paths if isinstance(path, WithoutPath)]
        best, best_ms, left_rows = _greedy(lists, differences, search, scan.estimated_ms)
        # What was counted on the way counts for the scan, too: both then fetch the same last rows.
        scan = search.told_anew(scan, cost.layout.rows, search.scan_ms(left_rows))
        if best_ms >= scan.estimated_ms:
            best = Plan((), SCAN, _no_better(search.candidates, scan))
            best_ms = scan.estimated_ms
    if primary is not None:
        found_ms = next(each.estimated_ms for each in search.candidates if each.path == primary[0].chosen)
        if found_ms < best_ms:
            reason = f"the clustering key leaves row groups alone: {found_ms:.2f} ms, others {best_ms:.2f} ms"
            best = Plan((), primary[0].chosen, reason, primary[0].paths, primary[0].rows)
    return Plan(tuple(search.candidates), best.chosen, best.reason, best.paths, best.rows)


def forced_plan(paths: Sequence[Path], reader: PostingReader, *, in_steps: bool = False) -> Plan:
    """Return the plan that intersects exactly these paths in this order; none is read yet ``in_steps``."""
    rows = None if in_steps else reader.intersected(paths)
    return Plan((), _names(paths), "asked for", tuple(paths), rows)


def _soon_enough(lists: Sequence[Path], search: _Search, scan: Candidate, limit: int) -> Plan | None:
    """Return the way that finds a limit's rows soonest; None where they may be too few to stop early."""
    expected = search.left_rows
    if limit * _FEW > expected:
        return None
    found: list[tuple[float, tuple[Path, ...], tuple[str, ...]]] = [
        (scan.estimated_ms * limit / expected, (), SCAN)
    ]
    for path in lists:
        each = _list_of(path, search)
        search.told(path_indexes(path), each.count, each.alone_ms)
        share = limit / max(each.count * search.left_share([path]), limit, 1)
        found.append((each.alone_ms * share, (path,), path_indexes(path)))
    ms, paths, chosen = min(found, key=lambda each: each[0])
    reason = f"{counted(limit)} of about {counted(round(expected))} rows are found in about {ms:.2f} ms"
    return Plan(tuple(search.candidates), chosen, reason, paths)


def _primary_plan(paths: Sequence[Path], search: _Search) -> tuple[Plan, str] | None:
    """Return the plan of the clustering key, with a reason where it is taken without others being weighed."""
    path = next((each for each in paths if _is_primary(each)), None)
    if path is None:
        return None
    rows = search.reader.rows(path)
    count = sum(map(len, rows.values()))
    search.told(path_indexes(path), count, search.fetch_rows((path,), rows))
    plan = Plan((), path_indexes(path), "", (path,), rows)
    settings = search.cost.settings
    share = count / max(search.cost.layout.rows, 1)
    if settings.primary_always:
        return plan, "the clustering key applies, and the setting primary_always takes it then"
    if share <= settings.primary_share:
        return (
            plan,
            f"the clustering key leaves {share:.2%} of the rows, no more than {settings.primary_share:.2%}",
        )
    return plan, ""


@dataclass(frozen=True, slots=True)
class _List:
    """Tells of a path, before any of it is read, its entries and the time to gather them."""

    path: Path
    count: int
    gather_ms: float
    alone_ms: float

    @property
    def names(self) -> str:
        """The indexes that it uses."""
        return " and ".join(path_indexes(self.path))


def _list_of(path: Path, search: _Search) -> _List:
    """Estimate what a path costs alone by its count, and by the addresses where its blocks begin and end."""
    reader, cost = search.reader, search.cost
    count = reader.count(path)
    gather_ms = cost.gather(reader.reads(path), count)
    units = cost.layout.units_of_blocks(reader.blocks(path), count)
    return _List(path, count, gather_ms, gather_ms + search.fetch([path], units, count))


def _greedy(
    paths: Sequence[Path], differences: Sequence[WithoutPath], search: _Search, scan_ms: float
) -> tuple[Plan, float, float]:
    """Return the last of the prefixes of the greedy order that saves time, its time, and the rows left."""
    reader, cost = search.reader, search.cost
    first, *left = sorted((_list_of(path, search) for path in paths), key=lambda each: each.alone_ms)
    told = {
        id(each.path): search.told(path_indexes(each.path), each.count, each.alone_ms)
        for each in (first, *left)
    }
    if first.gather_ms > _SLOW * scan_ms:
        return Plan((), SCAN, ""), scan_ms, search.left_rows
    chosen: list[Path] = [first.path]
    spent_ms = first.gather_ms
    rows: Mapping[str, BitMap64] = reader.rows(first.path)
    at_hand, units = _count(rows), cost.layout.units_holding(rows)
    if at_hand != first.count:
        search.has_counted(first.path, at_hand)
        left = [_list_of(each.path, search) for each in left]
        for each in left:
            search.told_anew(told[id(each.path)], each.count, each.alone_ms)
    left.extend(_list_of(path, search) for path in differences)
    fetch_ms = search.fetch(chosen, units, at_hand)
    search.told_anew(told[id(first.path)], at_hand, spent_ms + fetch_ms)
    reason = f"{first.names} leaves {counted(at_hand)} rows"
    known: dict[int, float] = {}
    rejected = []
    while left and at_hand:
        each = min(left, key=lambda each: each.gather_ms + fetch_ms * search.share(each.path))
        left.remove(each)
        share = search.share(each.path)
        if SHORT * fetch_ms < each.gather_ms < fetch_ms:
            share = _sampled_share(each, rows, search, share)
        together = [*chosen, each.path]
        # A unit stays while one of its rows does. Both times are of the same share of the rows at hand.
        stays = units * (1 - (1 - share) ** (at_hand / np.maximum(units, 1)))
        without_ms = search.fetch(chosen, units, at_hand, {**known, id(each.path): share})
        with_ms = each.gather_ms + search.fetch(together, stays, at_hand * share, known)
        if with_ms >= without_ms:
            search.told(_names(together), at_hand * share, spent_ms + with_ms)
            rejected.append(each.names)
            known[id(each.path)] = share
            fetch_ms = without_ms
            continue
        chosen, spent_ms = together, spent_ms + each.gather_ms
        rows = reader.within(each.path, rows)
        at_hand, units = _count(rows), cost.layout.units_holding(rows)
        fetch_ms = search.fetch(chosen, units, at_hand, known)
        search.told(_names(chosen), at_hand, spent_ms + fetch_ms)
        reason += f", with {each.names} {counted(at_hand)}"
    if rejected:
        reason += f"; {', '.join(rejected)} would save less than it takes"
    left_rows = at_hand * search.left_share(chosen, known)
    return Plan((), _names(chosen), reason, tuple(chosen), rows), spent_ms + fetch_ms, left_rows


def _sampled_share(each: _List, rows: Mapping[str, BitMap64], search: _Search, otherwise: float) -> float:
    """Return what share of rows a path has, by a sample of its blocks; ``otherwise`` if there is none."""
    sample = search.reader.sample(each.path, search.cost.settings.sampled_blocks)
    if sample is None:
        return otherwise
    common = sum(found.intersection_cardinality(rows.get(name, _NONE)) for name, found in sample.items())
    return min(1.0, common * each.count / max(_count(sample), 1) / max(_count(rows), 1))


_NONE = BitMap64()


def _no_better(candidates: Sequence[Candidate], scan: Candidate) -> str:
    others = [each for each in candidates if each.path != SCAN]
    nearest = min(others, key=lambda each: each.estimated_ms)
    names = " with ".join(nearest.path)
    return f"a scan takes {scan.estimated_ms:.2f} ms, and {names} {nearest.estimated_ms:.2f} ms"


def _is_primary(path: Path) -> bool:
    return isinstance(path, RangePath) and path.index.kind_of_index is Kind.PRIMARY


def _names(paths: Sequence[Path]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for path in paths for name in path_indexes(path)))


def _count(rows: Mapping[str, BitMap64]) -> int:
    return sum(map(len, rows.values()))
