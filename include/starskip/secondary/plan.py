"""Choose the paths that answer a query, and their order, by counts of their entries.

The greedy order of "Greedy List Intersection" (Krauthgamer and others, 2008): begin with the list whose order
is estimated to be cheapest, and continue with the list that promises the cheapest fetch, as long as it saves
more than reading it costs. As in the paper, intersections are sampled: before a long list of a range or box
is read, a few of its blocks are intersected with the current rows; for n-grams the rarest gram's list is. A
list that could not pay even if it left no row is not considered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap64

from starskip.number_text import count as counted
from starskip.secondary.access_paths import (
    Path,
    PathMapping,
    RangePath,
    WithoutPath,
    path_indexes,
)
from starskip.secondary.cost import Cost
from starskip.secondary.plan_search import (
    SCAN,
    Candidate,
    EntryList,
    Search,
    alone_ms,
    first_of,
    list_of,
    rank,
    row_count,
    staying,
)
from starskip.secondary.postings import PostingReader
from starskip.secondary.secondary_index import Kind

SHORT = 0.05
"""A list is read without sampling if reading takes no more than this share of the time at stake."""
_SLOW = 0.5
"""A list is not read if reading it alone takes this share of a scan."""
_FEW = 10
"""A limit is expected to end a query early if this many times its rows are expected."""


@dataclass(frozen=True, slots=True)
class Plan:
    """The chosen paths in order, none for a scan.

    ``rows``: the rows that they leave; None for a scan, and for paths that are read only as far as needed.
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

    ``covered``: paths that together answer the query without a fetch; ``with_rows``: their keys are the rows.
    With a ``limit`` far below the expected rows a list is read only as far as needed.
    """
    paths = mapping.paths
    search = Search(mapping, reader, cost)
    scan = search.told(SCAN, cost.layout.rows, search.scan_ms(search.left_rows))
    if covered:
        ms = sum(cost.gather(reader.reads(path)) for path in covered)
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
        # Counts made on the way apply to the scan, too, so that both estimate the same last rows.
        scan = search.told_anew(scan, cost.layout.rows, search.scan_ms(left_rows))
        if best_ms >= scan.estimated_ms:
            best = Plan((), SCAN, _no_better(search.candidates, scan))
            best_ms = scan.estimated_ms
    if primary is not None:
        found_ms = next(each.estimated_ms for each in search.candidates if each.path == primary[0].chosen)
        if found_ms < best_ms:
            reason = f"the clustering key skips row groups: {found_ms:.2f} ms, others {best_ms:.2f} ms"
            best = Plan((), primary[0].chosen, reason, primary[0].paths, primary[0].rows)
    return Plan(tuple(search.candidates), best.chosen, best.reason, best.paths, best.rows)


def forced_plan(paths: Sequence[Path], reader: PostingReader, *, in_steps: bool = False) -> Plan:
    """Return the plan that intersects exactly these paths in this order; none is read yet ``in_steps``."""
    rows = None if in_steps else reader.intersected(paths)
    return Plan((), _names(paths), "asked for", tuple(paths), rows)


def _soon_enough(lists: Sequence[Path], search: Search, scan: Candidate, limit: int) -> Plan | None:
    """Return the plan that finds a limit's rows soonest; None where the rows may be too few to stop early."""
    expected = search.left_rows
    if limit * _FEW > expected:
        return None
    found: list[tuple[float, tuple[Path, ...], tuple[str, ...]]] = [
        (scan.estimated_ms * limit / expected, (), SCAN)
    ]
    for path in lists:
        each = list_of(path, search)
        of_all_ms = alone_ms(each, search)
        search.told(path_indexes(path), each.count, of_all_ms)
        share = limit / max(each.count * search.left_share([path]), limit, 1)
        found.append((of_all_ms * share, (path,), path_indexes(path)))
    ms, paths, chosen = min(found, key=lambda each: each[0])
    reason = f"{counted(limit)} of about {counted(round(expected))} rows are found in about {ms:.2f} ms"
    return Plan(tuple(search.candidates), chosen, reason, paths)


def _primary_plan(paths: Sequence[Path], search: Search) -> tuple[Plan, str] | None:
    """Return the plan of the clustering key, with a reason if it is chosen without weighing others."""
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


def _greedy(
    paths: Sequence[Path], differences: Sequence[WithoutPath], search: Search, scan_ms: float
) -> tuple[Plan, float, float]:
    """Return the longest prefix of the greedy order that saves time, its time, and the rows left."""
    reader, cost = search.reader, search.cost
    lists = [list_of(path, search) for path in paths]
    told = {
        id(each.path): search.told(path_indexes(each.path), each.count, alone_ms(each, search))
        for each in lists
    }
    first = first_of(lists, search)
    left = [each for each in lists if each is not first]
    if first.gather_ms > _SLOW * scan_ms:
        return Plan((), SCAN, ""), scan_ms, search.left_rows
    chosen: list[Path] = [first.path]
    spent_ms = first.gather_ms
    rows: Mapping[str, BitMap64] = reader.rows(first.path)
    at_hand, units = row_count(rows), cost.layout.units_holding(rows)
    if at_hand != first.count:
        search.has_counted(first.path, at_hand)
        for each in left:
            search.told_anew(told[id(each.path)], each.count, alone_ms(each, search))
    left.extend(list_of(path, search) for path in differences)
    fetch_ms = search.fetch(chosen, units, at_hand)
    last = search.told_anew(told[id(first.path)], at_hand, spent_ms + fetch_ms)
    reason = f"{first.names} leaves {counted(at_hand)} rows"
    known: dict[int, float] = {}
    rejected = []
    while left and at_hand:
        each = min(left, key=lambda each: rank(each, search))
        left.remove(each)
        share = search.share(each.path)
        near_ms = each.near_ms * reader.near_share(each.path, rows)
        if SHORT * fetch_ms < near_ms < fetch_ms:
            share = _sampled_share(each, rows, search, share)
        together = [*chosen, each.path]
        # Both times assume the same share of the current rows.
        stays = staying(units, at_hand, share)
        without_ms = search.fetch(chosen, units, at_hand, {**known, id(each.path): share})
        with_ms = near_ms + search.fetch(together, stays, at_hand * share, known)
        if with_ms >= without_ms:
            search.told(_names(together), at_hand * share, spent_ms + with_ms)
            rejected.append(each.names)
            known[id(each.path)] = share
            fetch_ms = without_ms
            continue
        rows = reader.within(each.path, rows)
        # The measured share of the rows counts for the plan without the list, too.
        known_now = {**known, id(each.path): row_count(rows) / at_hand}
        search.told_anew(last, at_hand, spent_ms + search.fetch(chosen, units, at_hand, known_now))
        chosen, spent_ms = together, spent_ms + near_ms
        at_hand, units = row_count(rows), cost.layout.units_holding(rows)
        fetch_ms = search.fetch(chosen, units, at_hand, known)
        last = search.told(_names(chosen), at_hand, spent_ms + fetch_ms)
        reason += f", with {each.names} {counted(at_hand)}"
    if rejected:
        reason += f"; {', '.join(rejected)} would save less than it takes"
    left_rows = at_hand * search.left_share(chosen, known)
    return Plan((), _names(chosen), reason, tuple(chosen), rows), spent_ms + fetch_ms, left_rows


def _sampled_share(each: EntryList, rows: Mapping[str, BitMap64], search: Search, otherwise: float) -> float:
    """Return a path's share of the rows, by a sample of its blocks; ``otherwise`` without a sample."""
    sample = search.reader.sample(each.path, search.cost.settings.sampled_blocks)
    if sample is None:
        return otherwise
    common = sum(found.intersection_cardinality(rows.get(name, _NONE)) for name, found in sample.items())
    return min(1.0, common * each.count / max(row_count(sample), 1) / max(row_count(rows), 1))


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
