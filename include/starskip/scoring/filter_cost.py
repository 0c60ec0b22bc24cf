"""Entries scanned in filter by one segment under a set of indexes.

How Pinot 0.11 runs a filter, as measured in the samples' model_check: a lone scan reads every row;
an OR is the sum of its parts; an AND with an index reads exactly the survivors, then the next scan
the survivors of both, in text order; an AND of scans leapfrogs; an OR of scans under an AND is
asked row by row and is not masked by its siblings. What reaches its parent as a bitmap was read in
AndDocIdSet and OrDocIdSet (alike from 0.10 to 1.5).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from starskip.scoring.bound_filter import (
    BoundAnd,
    BoundFilter,
    BoundLeaf,
    BoundNot,
    BoundOr,
    Fixed,
)
from starskip.scoring.leapfrog_cost import leapfrog_cost
from starskip.scoring.walk_cost import (
    MAX_WALKED_ROWS,
    AndWalk,
    NotWalk,
    OrWalk,
    ScanWalk,
    Walk,
    walk_cost,
)
from starskip.sql.predicate import Leaf, Operator

Mask = npt.NDArray[np.bool_]
Answers = Callable[[Leaf], float | None]
"""Entries a row that the best of the indexes considered reads to answer a leaf; None if none answers it."""


def filter_cost(bound: BoundFilter, answers: Answers) -> float:
    """Return entries scanned a row of the segment (0 where everything is answered by indexes)."""
    match bound:
        case Fixed():
            return 0.0
        case BoundLeaf():
            return _leaf_cost(bound, answers)
        case BoundNot(child):
            return filter_cost(child, answers)
        case BoundOr(children):
            return sum(filter_cost(child, answers) for child in children)
    return _and_cost(bound, answers)


def survivors_of_indexes(bound: BoundFilter, answers: Answers) -> float | None:
    """Return entries a row that an AND reads eagerly on a whole segment, or None without an index in it.

    With an index in an AND, Pinot evaluates the scans on all survivors at once, also where a LIMIT
    would have stopped the plain scans after a few rows (samples README, limit_check).
    """
    if isinstance(bound, BoundAnd) and any(_is_bitmap(child, answers) for child in bound.children):
        return _and_cost(bound, answers)
    # What the segment answers without rows tells nothing of the segments that it has to read.
    is_bitmap = not isinstance(bound, Fixed) and _is_bitmap(bound, answers)
    return filter_cost(bound, answers) if is_bitmap else None


def _leaf_cost(bound: BoundLeaf, answers: Answers) -> float:
    if bound.is_free:
        return 0.0
    reads = answers(bound.leaf)
    return bound.entries_per_row * (1.0 if reads is None else reads)


def _is_bitmap(bound: BoundFilter, answers: Answers) -> bool:
    """Tell whether the part reaches its parent as a bitmap: an index, or what is merged from indexes.

    An OR merges nothing but bitmaps; an AND merges one with the others and with all scans of columns.
    """
    match bound:
        case BoundLeaf(leaf):
            return bound.is_free or answers(leaf) is not None
        case BoundOr(children):
            return all(_is_bitmap(child, answers) for child in children)
        case BoundAnd(children):
            are_bitmaps = [_is_bitmap(child, answers) for child in children]
            is_merged = all(
                bitmap or isinstance(child, BoundLeaf)
                for child, bitmap in zip(children, are_bitmaps, strict=True)
            )
            return is_merged and any(are_bitmaps)
        case Fixed():
            return True
    return False


def _and_cost(bound: BoundAnd, answers: Answers) -> float:
    merged = _merged(bound, answers)
    return merged.entries + (_leapfrog(merged.rows, merged.walked, answers) if merged.walked else 0.0)


@dataclass(frozen=True, slots=True)
class _Merged:
    """The bitmap that an AND begins with, None without one; the entries a row read for it; what is walked."""

    rows: Mask | None
    entries: float
    walked: Sequence[BoundFilter]


def _merged(bound: BoundAnd, answers: Answers) -> _Merged:
    children = sorted(bound.children, key=lambda child: _priority(child, answers))
    bitmaps = [child for child in children if _is_bitmap(child, answers)]
    rest = [child for child in children if child not in bitmaps]
    scans = [child for child in rest if isinstance(child, BoundLeaf)]
    if not bitmaps or len(bitmaps) + len(scans) == 1:
        return _Merged(None, 0.0, children)
    survivors = np.logical_and.reduce([child.mask for child in bitmaps if not isinstance(child, Fixed)])
    entries = sum(filter_cost(child, answers) for child in bitmaps)
    for scan in scans:
        entries += float(np.count_nonzero(survivors)) / len(survivors) * scan.entries_per_row
        survivors = survivors & scan.mask
    return _Merged(survivors, entries, [child for child in rest if not isinstance(child, BoundLeaf)])


def _leapfrog(leader: Mask | None, children: Sequence[BoundFilter], answers: Answers) -> float:
    """Cost of children that are walked together, behind the bitmap ``leader`` if there is one."""
    parts = [child for child in children if not isinstance(child, Fixed)]
    if leader is None and len(parts) == 1:
        return filter_cost(parts[0], answers)
    if all(isinstance(part, BoundLeaf) for part in parts):
        cost = leapfrog_cost([part.mask for part in parts])
        weights = [part.entries_per_row for part in parts if isinstance(part, BoundLeaf)]
        return sum(read * weight for read, weight in zip(cost.entries_per_row, weights, strict=True))
    rows = min(len(parts[0].mask), MAX_WALKED_ROWS)
    walk = _and_walk(leader, parts, answers, rows)
    return walk_cost(walk, rows) + sum(_read_before(part, answers) for part in parts)


def _and_walk(leader: Mask | None, children: Sequence[BoundFilter], answers: Answers, rows: int) -> Walk:
    walks: list[Walk] = [] if leader is None else [ScanWalk(leader[:rows], 0.0)]
    walks.extend(_walk(child, answers, rows) for child in children)
    return AndWalk(walks, rows)


def _walk(bound: BoundFilter, answers: Answers, rows: int) -> Walk:
    assert not isinstance(bound, Fixed)
    if _is_bitmap(bound, answers):
        return ScanWalk(bound.mask[:rows], 0.0)
    match bound:
        case BoundAnd():
            merged = _merged(bound, answers)
            return _and_walk(merged.rows, merged.walked, answers, rows)
        case BoundOr(children):
            return OrWalk([_walk(child, answers, rows) for child in children], rows)
        case BoundNot(child):
            return NotWalk(_walk(child, answers, rows), rows)
    return ScanWalk(bound.mask[:rows], bound.entries_per_row)


def _read_before(bound: BoundFilter, answers: Answers) -> float:
    """Entries a row that the bitmaps of a walked part have read before the first row is asked for."""
    if _is_bitmap(bound, answers):
        return filter_cost(bound, answers)
    match bound:
        case BoundAnd():
            merged = _merged(bound, answers)
            return merged.entries + sum(_read_before(child, answers) for child in merged.walked)
        case BoundOr(children):
            return sum(_read_before(child, answers) for child in children)
        case BoundNot(child):
            return _read_before(child, answers)
    return 0.0


def _priority(bound: BoundFilter, answers: Answers) -> int:
    """Order of evaluation (FilterOperatorUtils.reOrderFilterOperators); the sort keeps text order within."""
    match bound:
        case BoundAnd():
            return 3
        case BoundOr():
            return 4
        case BoundNot(child):
            return _priority(child, answers)
        case BoundLeaf() if _is_bitmap(bound, answers):
            return 2
        case BoundLeaf(leaf) if leaf.operator is Operator.EXPRESSION:
            return 10
        case BoundLeaf():
            return 5 if bound.entries_per_row == 1.0 else 6
    return 0
