"""The sets of structures that are worth estimating for one shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from starskip.pinot.index_rules import IndexRules
from starskip.scoring.structure import Structure
from starskip.sql.predicate import Or, Predicate, leaves
from starskip.sql.query_shape import QueryShape

MAX_JOINT_STRUCTURES = 5
"""Up to here every subset of a leg's structures is estimated: 32 of them."""
MAX_PAIRED_STRUCTURES = 12
"""Up to here every pair is: 66 of them; beyond, each structure by itself and all together."""

SORTED_BY_ANOTHER = Structure("sorted", "")
"""The table sorted by a column that the leg does not ask: all it does is end the present order."""

Candidates = Mapping[str, Sequence[Structure]]
"""By column, the structures that could be built on it, and the droppings of those that are there."""


@dataclass(frozen=True, slots=True)
class LegAlternatives:
    """An independent part of a filter, and the sets of structures that change what it scans.

    ``alternatives[0]`` is always the empty set. ``is_complete``: all subsets are there. ``reorders``: the
    alternatives are sort orders, of which a table has one; else indexes and the dropping of indexes.
    """

    leg: Predicate
    alternatives: tuple[frozenset[Structure], ...]
    is_complete: bool
    reorders: bool = False


def leg_alternatives(
    shape: QueryShape, candidates: Candidates, rules: IndexRules
) -> tuple[LegAlternatives, ...]:
    """Return one item for each leg of a top-level OR, or one for the whole filter.

    Legs of a top-level OR scan independently (measured: an OR is the sum of its parts), so each
    votes for itself; where a LIMIT ends the query early they do not, and stay together. Where sort
    orders are among the candidates, the legs come again with these.
    """
    whole = shape.filter
    legs = whole.children if isinstance(whole, Or) and not shape.stops_early else (whole,)
    kinds = {structure.kind for of_column in candidates.values() for structure in of_column}
    found: list[LegAlternatives] = []
    if kinds != {"sorted"}:
        found.extend(_indexes(leg, _asked(leg, candidates, rules, reorders=False)) for leg in legs)
    if "sorted" in kinds:
        found.extend(_orders(leg, _asked(leg, candidates, rules, reorders=True)) for leg in legs)
    return tuple(found)


def _indexes(leg: Predicate, structures: Sequence[Structure]) -> LegAlternatives:
    is_complete = len(structures) <= MAX_JOINT_STRUCTURES
    pairs = (2,) if len(structures) <= MAX_PAIRED_STRUCTURES else ()
    sizes = range(len(structures) + 1) if is_complete else (0, 1, *pairs, len(structures))
    subsets = tuple(frozenset(subset) for size in sizes for subset in combinations(structures, size))
    return LegAlternatives(leg, subsets, is_complete)


def _orders(leg: Predicate, structures: Sequence[Structure]) -> LegAlternatives:
    """A table has one order: sorting by a column excludes all others, and ends the order there is."""
    single = tuple(frozenset({structure}) for structure in structures)
    alternatives = (frozenset[Structure](), frozenset({SORTED_BY_ANOTHER}), *single)
    return LegAlternatives(leg, alternatives, is_complete=False, reorders=True)


def _asked(leg: Predicate, candidates: Candidates, rules: IndexRules, *, reorders: bool) -> list[Structure]:
    """Return the candidates that answer some predicate of ``leg``, in text order."""
    found: dict[Structure, None] = {}
    for leaf in leaves(leg):
        for structure in candidates.get(leaf.column, ()):
            kind = (structure.removed or structure).kind
            if (kind == "sorted") is reorders and rules.serves(kind, leaf):
                found[structure] = None
    return list(found)
