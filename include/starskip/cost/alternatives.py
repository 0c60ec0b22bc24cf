"""The sets of structures that are worth estimating for one shape."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from starskip.indexes.index import Structure
from starskip.pinot.index_rules import IndexRules
from starskip.sql.predicate import Leaf, Operator, Or, Predicate, leaves
from starskip.sql.query_shape import QueryShape

MAX_JOINT_STRUCTURES = 5
"""Up to here every subset of a leg's structures is estimated: 32 of them."""
MAX_PAIRED_STRUCTURES = 12
"""Up to here every pair is: 66 of them; beyond, each structure by itself, chains, and all together."""
MAX_CHAINED_STRUCTURES = 8
"""A chain goes on up to here; no more indexes are recommended by default (settings, max_indexes)."""

SORTED_BY_ANOTHER = Structure("sorted", "")
"""The table sorted by a column that the leg does not ask: all it does is end the present order."""

Candidates = Mapping[str, Sequence[Structure]]
"""By column, the structures that could be built on it, and the droppings of those that are there.

Chains take the columns in this order, so the most selective ones belong first.
"""

_KEEPS_FEW = {Operator.EQUAL: 0, Operator.IN: 0, Operator.RANGE: 1}
"""How early a chain takes a predicate: equalities, ranges, then patterns and negations."""


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
        found.extend(_indexes(leg, candidates, rules) for leg in legs)
    if "sorted" in kinds:
        found.extend(_orders(leg, _asked(leg, candidates, rules, reorders=True)) for leg in legs)
    return tuple(found)


def without_idle_ranges(
    asked: Iterable[Leaf], candidates: Candidates, rules: IndexRules
) -> dict[str, tuple[Structure, ...]]:
    """Return the candidates without range indexes that would answer only what an inverted index answers.

    From 1.0 on a range index answers an equality too. Where some query asks a range of the column, one
    index may do for both; where none does, it would only stand beside the inverted one in every set.
    ``asked``: the predicates of all queries of the table.
    """
    needed = {
        leaf.column for leaf in asked if rules.serves("range", leaf) and not rules.serves("inverted", leaf)
    }
    return {column: _without_idle_range(of_column, needed) for column, of_column in candidates.items()}


def _without_idle_range(
    of_column: Sequence[Structure], range_columns: Collection[str]
) -> tuple[Structure, ...]:
    has_inverted = any((structure.removed or structure).kind == "inverted" for structure in of_column)
    return tuple(s for s in of_column if s.kind != "range" or not has_inverted or s.column in range_columns)


def _indexes(leg: Predicate, candidates: Candidates, rules: IndexRules) -> LegAlternatives:
    structures = _asked(leg, candidates, rules, reorders=False)
    is_complete = len(structures) <= MAX_JOINT_STRUCTURES
    pairs = (2,) if len(structures) <= MAX_PAIRED_STRUCTURES else ()
    sizes = range(len(structures) + 1) if is_complete else (0, 1, *pairs)
    subsets = [frozenset(subset) for size in sizes for subset in combinations(structures, size)]
    if not is_complete:
        subsets += [*_chains(leg, structures, candidates, rules), frozenset(structures)]
    return LegAlternatives(leg, tuple(dict.fromkeys(subsets)), is_complete)


def _chains(
    leg: Predicate, structures: Sequence[Structure], candidates: Candidates, rules: IndexRules
) -> list[frozenset[Structure]]:
    """Return ever larger sets of structures to build, predicate by predicate, those that keep few rows first.

    Which further index saves most is not known before the estimate; in an AND it is the most selective
    one. For each kind there is a chain that prefers it, and the set of all structures to build.
    """
    buildable = [structure for structure in structures if structure.removed is None]
    order = {column: position for position, column in enumerate(candidates)}
    asked = sorted(
        dict.fromkeys(leaf for leaf in leaves(leg) if leaf.column in order),
        key=lambda leaf: (_KEEPS_FEW.get(leaf.operator, 2), order[leaf.column]),
    )
    found = []
    for kind in sorted({structure.kind for structure in buildable}):
        chain: list[Structure] = []
        for leaf in asked:
            answering = [s for s in buildable if s.column == leaf.column and rules.serves(s.kind, leaf)]
            if answering and not set(answering) & set(chain):
                chain.append(min(answering, key=lambda s: s.kind != kind))
        found += [frozenset(chain[:size]) for size in range(2, min(len(chain), MAX_CHAINED_STRUCTURES) + 1)]
    return [*found, frozenset(buildable)]


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
