"""The sets of indexes that are worth estimating for one shape."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index
from starskip.pinot.column_indexes.sorted_column import SORTED_NAME
from starskip.sql.predicate import Leaf, Operator, Or, Predicate, leaves
from starskip.sql.query_shape import QueryShape

MAX_JOINT_INDEXES = 5
"""Up to this number of indexes in a disjunct every subset is estimated: 32 subsets."""
MAX_PAIRED_INDEXES = 12
"""Up to this number every pair is estimated: 66 pairs; beyond, single indexes, chains, and all together."""
MAX_CHAINED_INDEXES = 8
"""Length of the longest chain; by default no more indexes are recommended (settings, max_indexes)."""

SORTED_BY_ANOTHER = Index(SORTED_NAME, "")
"""The table sorted by a column that the disjunct does not filter by: this only ends the present order."""

Candidates = Mapping[str, Sequence[Index]]
"""By column, the indexes that could be built on it, and the drops of its present indexes.

Chains take the columns in this order, so the most selective columns belong first.
"""

_KEEPS_FEW = {Operator.EQUAL: 0, Operator.IN: 0, Operator.RANGE: 1}
"""Ranks of predicates in a chain: equalities, ranges, then patterns and negations."""


@dataclass(frozen=True, slots=True)
class DisjunctAlternatives:
    """An independent part of a filter, and the sets of indexes that change what it scans.

    ``alternatives[0]`` is always the empty set. ``is_complete``: all subsets are listed. ``reorders``: the
    alternatives are sort orders, of which a table has one; else they are indexes to build or to drop.
    """

    disjunct: Predicate
    alternatives: tuple[frozenset[Index], ...]
    is_complete: bool
    reorders: bool = False


def disjunct_alternatives(
    shape: QueryShape, candidates: Candidates, rules: AccessRules
) -> tuple[DisjunctAlternatives, ...]:
    """Return one item for each disjunct of a top-level OR, or one for the whole filter.

    The disjuncts of a top-level OR scan independently (measured: an OR is the sum of its parts), so each
    votes by itself. A LIMIT that ends the query early makes them dependent, and they stay together. If sort
    orders are among the candidates, each disjunct is listed once more, with the sort orders.
    """
    whole = shape.filter
    disjuncts = whole.children if isinstance(whole, Or) and not shape.stops_early else (whole,)
    orders = {rules.reorders(index.family) for of_column in candidates.values() for index in of_column}
    found: list[DisjunctAlternatives] = []
    if orders != {True}:
        found.extend(_indexes(disjunct, candidates, rules) for disjunct in disjuncts)
    if True in orders:
        found.extend(
            _orders(disjunct, _asked(disjunct, candidates, rules, reorders=True)) for disjunct in disjuncts
        )
    return tuple(found)


def without_idle_paths(
    asked: Iterable[Leaf], candidates: Candidates, rules: AccessRules
) -> dict[str, tuple[Index, ...]]:
    """Return the candidates without each index that is idle beside other indexes of its column.

    An index is idle if families that it yields to answer every predicate that it would answer. ``asked``: the
    predicates of all queries of the table.
    """
    by_column: dict[str, set[Leaf]] = {}
    for leaf in asked:
        by_column.setdefault(leaf.column, set()).add(leaf)
    return {
        column: tuple(item for item in of_column if not _is_idle(item, of_column, by_column, rules))
        for column, of_column in candidates.items()
    }


def _is_idle(
    item: Index, of_column: Sequence[Index], asked: Mapping[str, Collection[Leaf]], rules: AccessRules
) -> bool:
    beside = {other.family for other in of_column} & set(rules.yields_to(item.family))
    if not beside or item.is_drop:
        return False
    served = [leaf for leaf in asked.get(item.column, ()) if rules.helps(item.family, leaf)]
    return all(any(rules.serves(family, leaf) for family in beside) for leaf in served)


def _indexes(disjunct: Predicate, candidates: Candidates, rules: AccessRules) -> DisjunctAlternatives:
    indexes = _asked(disjunct, candidates, rules, reorders=False)
    is_complete = len(indexes) <= MAX_JOINT_INDEXES
    pairs = (2,) if len(indexes) <= MAX_PAIRED_INDEXES else ()
    sizes = range(len(indexes) + 1) if is_complete else (0, 1, *pairs)
    subsets = [frozenset(subset) for size in sizes for subset in combinations(indexes, size)]
    if not is_complete:
        subsets += [*_chains(disjunct, indexes, candidates, rules), frozenset(indexes)]
    return DisjunctAlternatives(disjunct, tuple(dict.fromkeys(subsets)), is_complete)


def _chains(
    disjunct: Predicate, indexes: Sequence[Index], candidates: Candidates, rules: AccessRules
) -> list[frozenset[Index]]:
    """Return growing sets of indexes to build: predicate by predicate, the most selective first.

    Before the estimate it is not known which further index saves most; in an AND it is the index on the most
    selective predicate. There is a chain for each family, which prefers that family, and the set of all
    indexes to build.
    """
    buildable = [index for index in indexes if index.dropped is None]
    order = {column: position for position, column in enumerate(candidates)}
    asked = sorted(
        dict.fromkeys(leaf for leaf in leaves(disjunct) if leaf.column in order),
        key=lambda leaf: (_KEEPS_FEW.get(leaf.operator, 2), order[leaf.column]),
    )
    found = []
    for kind in sorted({index.family for index in buildable}):
        chain: list[Index] = []
        for leaf in asked:
            answering = [s for s in buildable if s.column == leaf.column and rules.serves(s.family, leaf)]
            if answering and not set(answering) & set(chain):
                chain.append(min(answering, key=lambda s: s.family != kind))
        found += [frozenset(chain[:size]) for size in range(2, min(len(chain), MAX_CHAINED_INDEXES) + 1)]
    return [*found, frozenset(buildable)]


def _orders(disjunct: Predicate, indexes: Sequence[Index]) -> DisjunctAlternatives:
    """Return the sort orders as alternatives: a table has one order, so each excludes the others."""
    single = tuple(frozenset({index}) for index in indexes)
    alternatives = (frozenset[Index](), frozenset({SORTED_BY_ANOTHER}), *single)
    return DisjunctAlternatives(disjunct, alternatives, is_complete=False, reorders=True)


def _asked(disjunct: Predicate, candidates: Candidates, rules: AccessRules, *, reorders: bool) -> list[Index]:
    """Return the candidates that answer a predicate of ``disjunct``, in text order."""
    found: dict[Index, None] = {}
    for leaf in leaves(disjunct):
        for index in candidates.get(leaf.column, ()):
            if rules.reorders(index.family) is reorders and rules.helps(index.family, leaf):
                found[index] = None
    return list(found)
