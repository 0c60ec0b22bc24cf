"""The sets of structures that are worth estimating for one shape."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from itertools import combinations

from starskip.pinot.index_rules import serves
from starskip.scoring.structure import Structure
from starskip.sql.predicate import Or, Predicate, leaves
from starskip.sql.query_shape import QueryShape

MAX_JOINT_COLUMNS = 5
"""Up to here every subset of a leg's columns is estimated: 32 of them."""


@dataclass(frozen=True, slots=True)
class LegAlternatives:
    """An independent part of a filter, and the sets of structures that change what it scans.

    ``alternatives[0]`` is always the empty set. ``is_complete``: all subsets are there.
    """

    leg: Predicate
    alternatives: tuple[frozenset[Structure], ...]
    is_complete: bool


def inverted_alternatives(shape: QueryShape, candidates: Collection[str]) -> tuple[LegAlternatives, ...]:
    """Return one item for each leg of a top-level OR, or one for the whole filter.

    Legs of a top-level OR scan independently (measured: an OR is the sum of its parts), so each
    votes for itself; where a LIMIT ends the query early they do not, and stay together.
    """
    whole = shape.filter
    legs = whole.children if isinstance(whole, Or) and not shape.stops_early else (whole,)
    return tuple(_leg_alternatives(leg, candidates) for leg in legs)


def _leg_alternatives(leg: Predicate, candidates: Collection[str]) -> LegAlternatives:
    columns = tuple(
        dict.fromkeys(f.column for f in leaves(leg) if f.column in candidates and serves("inverted", f))
    )
    is_complete = len(columns) <= MAX_JOINT_COLUMNS
    sizes = range(len(columns) + 1) if is_complete else (0, 1, 2, len(columns))
    subsets = (subset for size in sizes for subset in combinations(columns, size))
    return LegAlternatives(
        leg, tuple(frozenset(Structure("inverted", c) for c in subset) for subset in subsets), is_complete
    )
