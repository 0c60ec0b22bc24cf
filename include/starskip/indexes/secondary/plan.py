"""Choose the paths by which a query is answered, in order, by counts and never by assumed independence.

The greedy order of "Greedy List Intersection" (Krauthgamer and others, 2008): begin with the shortest list,
and go on with the one that leaves least, as long as what it saves of the fetch is more than reading it takes.
What the paper samples is counted here where it is cheap: a few blocks of a long list are intersected with the
rows at hand before all of it is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pyroaring import BitMap64

from starskip.indexes.secondary.access_paths import Path, RangePath, WithoutPath, path_indexes
from starskip.indexes.secondary.cost import Cost
from starskip.indexes.secondary.postings import PostingReader
from starskip.indexes.secondary.secondary_index import Kind
from starskip.number_text import count as counted

SCAN = ("scan",)
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
    rows: Mapping[str, BitMap64] = reader.rows(paths[0])
    for path in paths[1:]:
        rows = reader.within(path, rows)
    return Plan((), _names(paths), "asked for", tuple(paths), rows)


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


def _greedy(lists: Sequence[Path], differences: Sequence[WithoutPath], search: _Search) -> tuple[Plan, float]:
    """Return the best of the prefixes of the greedy order, and its time."""
    reader, cost = search.reader, search.cost
    counts = {id(path): reader.count(path) for path in (*lists, *(each.path for each in differences))}
    gather = {id(path): cost.gather(reader.read_bytes(path), counts[id(path)]) for path in lists}
    for each in differences:
        gather[id(each)] = cost.gather(reader.read_bytes(each), counts[id(each.path)])
    first, *others = sorted(lists, key=lambda path: (counts[id(path)], gather[id(path)]))
    for path in others:
        search.told(
            path_indexes(path), counts[id(path)], gather[id(path)] + cost.fetch_random(counts[id(path)])
        )
    spent = gather[id(first)]
    if spent > _SLOW * cost.scan:
        count = counts[id(first)]
        search.told(path_indexes(first), count, spent + cost.fetch_random(count))
        return Plan((), SCAN, ""), cost.scan
    chosen: list[Path] = [first]
    rows: Mapping[str, BitMap64] = reader.rows(first)
    best_ms = spent + cost.fetch_rows(rows)
    reason = f"{' and '.join(path_indexes(first))} leaves {counted(_count(rows))} rows"
    search.told(_names(chosen), _count(rows), best_ms)
    best = Plan((), _names(chosen), reason, tuple(chosen), rows)
    left: list[Path] = [*others, *differences]
    while left and any(rows.values()):
        groups, at_hand = cost.layout.groups_holding(rows), _count(rows)
        expected = []
        for path in left:
            share = _expected_share(path, rows, counts.get(id(path)), search)
            # A group stays while one of its rows does.
            stays = groups * (1 - (1 - share) ** (at_hand / max(groups, 1)))
            ms = gather[id(path)] + cost.fetch(stays) + cost.evaluate(at_hand * share)
            expected.append((ms, share, path))
        ms, _, path = min(expected, key=lambda each: each[0])
        if spent + ms >= best_ms:
            for rejected_ms, share, rejected in expected:
                search.told(_names([*chosen, rejected]), at_hand * share, spent + rejected_ms)
            best = replace(
                best, reason=f"{reason}; {' and '.join(path_indexes(path))} would save less than it takes"
            )
            break
        spent += gather[id(path)]
        rows = reader.within(path, rows)
        chosen.append(path)
        left.remove(path)
        ms = spent + cost.fetch_rows(rows)
        search.told(_names(chosen), _count(rows), ms)
        reason += f", with {' and '.join(path_indexes(path))} {counted(_count(rows))}"
        if ms < best_ms:
            best, best_ms = Plan((), _names(chosen), reason, tuple(chosen), rows), ms
    return best, best_ms


def _expected_share(path: Path, rows: Mapping[str, BitMap64], count: int | None, search: _Search) -> float:
    """Return what share of ``rows`` a path is expected to leave: counted on a sample of its blocks.

    Where a list is so short that all of it would be the sample, it is expected to leave nothing: reading it
    is cheap, and the count decides then.
    """
    if count is None:
        return 0.0
    sampled = search.reader.sampled_share(path, rows, search.cost.settings.sampled_blocks)
    if sampled is None:
        return 0.0
    return min(1.0, sampled * count / max(_count(rows), 1))


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
