"""Choose the paths by which a query is answered, in order, by counts and never by assumed independence.

The greedy order of "Greedy List Intersection" (Krauthgamer and others, 2008): begin with the list that is
cheapest alone, and go on with the one that leaves the cheapest fetch, as long as that saves more than reading
it takes. Where the paper samples intersections, short lists are counted here; of a long one a few blocks are
intersected with the rows at hand before all of it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from pyroaring import BitMap64

from starskip.indexes.secondary.access_paths import Path, RangePath, WithoutPath, path_indexes
from starskip.indexes.secondary.cost import Cost
from starskip.indexes.secondary.postings import PostingReader
from starskip.indexes.secondary.secondary_index import Kind
from starskip.number_text import count as counted

SCAN = ("scan",)
_SHORT = 0.05
"""A list is read at once if that takes no more than this share of a scan."""
_SLOW = 0.5
"""A list is not read at all if that alone takes this share of a scan."""


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
    """The chosen paths in order, none for a scan; ``rows``: what they leave, None for a scan."""

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
    """The candidates so far, and the rows that a prefix of paths leaves."""

    reader: PostingReader
    cost: Cost
    candidates: list[Candidate] = field(default_factory=list)

    def told(self, path: tuple[str, ...], rows: float, ms: float) -> Candidate:
        """Keep a candidate and return it."""
        found = Candidate(path, round(rows), ms)
        self.candidates.append(found)
        return found


def choose_plan(
    paths: Sequence[Path], reader: PostingReader, cost: Cost, *, is_covered: bool = False
) -> Plan:
    """Return the cheapest plan among scan, the clustering key, each path alone, and greedy intersections.

    ``is_covered``: all paths together answer the query without a fetch.
    """
    search = _Search(reader, cost)
    scan = search.told(SCAN, cost.layout.rows, cost.scan)
    if is_covered and paths:
        ms = sum(cost.gather(reader.read_bytes(path), reader.count(path)) for path in paths)
        search.told(_names(paths), min(map(reader.count, paths)), ms)
        if ms < scan.estimated_ms:
            found = forced_plan(paths, reader)
            reason = "the indexes hold all that is asked for; no row is fetched"
            return Plan(tuple(search.candidates), found.chosen, reason, found.paths, found.rows)
    primary = _primary_plan(paths, search)
    if primary is not None and primary[1]:
        found, reason = primary[0], primary[1]
        return Plan(tuple(search.candidates), found.chosen, reason, found.paths, found.rows)
    lists = [path for path in paths if not isinstance(path, WithoutPath) and not _is_primary(path)]
    if not lists:
        reason = "no predicate has an index that serves it"
        best: Plan = Plan((), SCAN, reason)
        best_ms = scan.estimated_ms
    else:
        best, best_ms = _greedy(lists, [path for path in paths if isinstance(path, WithoutPath)], search)
        if best_ms >= scan.estimated_ms:
            best = Plan((), SCAN, _no_better(search.candidates, scan))
            best_ms = scan.estimated_ms
    if primary is not None:
        found_ms = next(each.estimated_ms for each in search.candidates if each.path == primary[0].chosen)
        if found_ms < best_ms:
            reason = f"the clustering key leaves row groups alone: {found_ms:.2f} ms, others {best_ms:.2f} ms"
            best = Plan((), primary[0].chosen, reason, primary[0].paths, primary[0].rows)
    return Plan(tuple(search.candidates), best.chosen, best.reason, best.paths, best.rows)


def forced_plan(paths: Sequence[Path], reader: PostingReader) -> Plan:
    """Return the plan that intersects exactly these paths in this order."""
    return Plan((), _names(paths), "asked for", tuple(paths), reader.intersected(paths))


def _primary_plan(paths: Sequence[Path], search: _Search) -> tuple[Plan, str] | None:
    """Return the plan of the clustering key, with a reason where it is taken without others being weighed."""
    path = next((each for each in paths if _is_primary(each)), None)
    if path is None:
        return None
    rows = search.reader.rows(path)
    count = sum(map(len, rows.values()))
    search.told(path_indexes(path), count, search.cost.fetch_rows(rows))
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
    """What is known of a path before a plan takes it.

    ``known``: its rows, all or a sample of them; ``count``: its entries; ``gather_ms``: to read all of it.
    """

    path: Path
    count: int
    gather_ms: float
    known: Mapping[str, BitMap64]
    is_sample: bool
    alone_ms: float

    def share_of(self, rows: Mapping[str, BitMap64]) -> float:
        """Return what share of rows it has, counted; of a sample what that says of all of it."""
        common = sum(
            each.intersection_cardinality(rows.get(name, _NONE)) for name, each in self.known.items()
        )
        if self.is_sample:
            common = round(common * self.count / max(_count(self.known), 1))
        return min(1.0, common / max(_count(rows), 1))


_NONE = BitMap64()


def _list_of(path: Path, search: _Search) -> _List:
    """Read a short list, or some blocks of a long one, and estimate what it costs alone."""
    reader, cost = search.reader, search.cost
    count = reader.count(path)
    gather_ms = cost.gather(reader.read_bytes(path), count)
    sample = reader.sample(path, cost.settings.sampled_blocks) if gather_ms > _SHORT * cost.scan else None
    if sample is None and gather_ms > _SLOW * cost.scan:
        return _List(path, count, gather_ms, {}, True, gather_ms + cost.fetch_random(count))
    known = reader.rows(path) if sample is None else sample
    units = cost.layout.units_holding(known)
    if sample is not None:
        # Entries of other blocks lie in as many further units, unless these are all that there are.
        units = np.minimum(units * count / max(_count(known), 1), cost.layout.units_of_random(count))
    alone_ms = gather_ms + cost.fetch(units) + cost.evaluate(count)
    return _List(path, count, gather_ms, known, sample is not None, alone_ms)


def _greedy(paths: Sequence[Path], differences: Sequence[WithoutPath], search: _Search) -> tuple[Plan, float]:
    """Return the best of the prefixes of the greedy order, and its time."""
    reader, cost = search.reader, search.cost
    first, *left = sorted((_list_of(path, search) for path in paths), key=lambda each: each.alone_ms)
    for each in (first, *left):
        search.told(path_indexes(each.path), each.count, each.alone_ms)
    if first.gather_ms > _SLOW * cost.scan:
        return Plan((), SCAN, ""), cost.scan
    left.extend(_list_of(path, search) for path in differences)
    chosen: list[Path] = [first.path]
    spent = first.gather_ms
    rows: Mapping[str, BitMap64] = reader.rows(first.path)
    best_ms = spent + cost.fetch_rows(rows)
    reason = f"{' and '.join(path_indexes(first.path))} leaves {counted(_count(rows))} rows"
    best = Plan((), _names(chosen), reason, tuple(chosen), rows)
    while left and any(rows.values()):
        units, at_hand = cost.layout.units_holding(rows), _count(rows)
        expected = []
        for each in left:
            share = each.share_of(rows)
            # A unit stays while one of its rows does.
            stays = units * (1 - (1 - share) ** (at_hand / np.maximum(units, 1)))
            ms = spent + each.gather_ms + cost.fetch(stays) + cost.evaluate(at_hand * share)
            expected.append((ms, share, each))
        ms, _, best_next = min(expected, key=lambda each: each[0])
        names = " and ".join(path_indexes(best_next.path))
        if ms >= best_ms:
            for rejected_ms, share, rejected in expected:
                search.told(_names([*chosen, rejected.path]), at_hand * share, rejected_ms)
            best = replace(best, reason=f"{reason}; {names} would save less than it takes")
            break
        spent += best_next.gather_ms
        rows = reader.within(best_next.path, rows)
        chosen.append(best_next.path)
        left.remove(best_next)
        ms = spent + cost.fetch_rows(rows)
        search.told(_names(chosen), _count(rows), ms)
        reason += f", with {names} {counted(_count(rows))}"
        if ms < best_ms:
            best, best_ms = Plan((), _names(chosen), reason, tuple(chosen), rows), ms
    return best, best_ms


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
