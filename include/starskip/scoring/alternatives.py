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
MAX_PAIRED_COLUMNS = 12
"""Up to here every pair is: 66 of them; beyond, each column by itself and all together."""

SORTED_BY_ANOTHER = Structure("sorted", "")
"""The table sorted by a column that the leg does not ask: all it does is end the present order."""


@dataclass(frozen=True, slots=True)
class LegAlternatives:
    """An independent part of a filter, and the sets of structures that change what it scans.

    ``alternatives[0]`` is always the empty set. ``is_complete``: all subsets are there.
    """

    leg: Predicate
    alternatives: tuple[frozenset[Structure], ...]
    is_complete: bool


def leg_alternatives(
    shape: QueryShape, candidates: Collection[str], index_kind: str = "inverted"
) -> tuple[LegAlternatives, ...]:
    """Return one item for each leg of a top-level OR, or one for the whole filter.

    Legs of a top-level OR scan independently (measured: an OR is the sum of its parts), so each
    votes for itself; where a LIMIT ends the query early they do not, and stay together.
    """
    whole = shape.filter
    legs = whole.children if isinstance(whole, Or) and not shape.stops_early else (whole,)
    alternatives = _inverted if index_kind == "inverted" else _sorted
    return tuple(alternatives(leg, candidates) for leg in legs)


def _inverted(leg: Predicate, candidates: Collection[str]) -> LegAlternatives:
    columns = _served_columns(leg, candidates, "inverted")
    is_complete = len(columns) <= MAX_JOINT_COLUMNS
    pairs = (2,) if len(columns) <= MAX_PAIRED_COLUMNS else ()
    sizes = range(len(columns) + 1) if is_complete else (0, 1, *pairs, len(columns))
    subsets = (subset for size in sizes for subset in combinations(columns, size))
    return LegAlternatives(
        leg, tuple(frozenset(Structure("inverted", c) for c in subset) for subset in subsets), is_complete
    )


def _sorted(leg: Predicate, candidates: Collection[str]) -> LegAlternatives:
    """A table has one order: sorting by a column excludes all others, and ends the order there is."""
    columns = _served_columns(leg, candidates, "sorted")
    single = tuple(frozenset({Structure("sorted", column)}) for column in columns)
    return LegAlternatives(leg, (frozenset(), frozenset({SORTED_BY_ANOTHER}), *single), is_complete=False)


def _served_columns(leg: Predicate, candidates: Collection[str], index_kind: str) -> tuple[str, ...]:
    asked = (f.column for f in leaves(leg) if f.column in candidates and serves(index_kind, f))
    return tuple(dict.fromkeys(asked))
