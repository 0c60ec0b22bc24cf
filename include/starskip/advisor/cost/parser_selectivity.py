"""S(p) and key(p) of parser-based scoring.

Automated Inverted Index Recommendation, II.2. Selectivity here is the share s of rows that survives; the S of
that page is 1/s. Unlike the original tool, literals are counted without repetition, multi-value columns use
the hypergeometric form, and an OR has a key only if every disjunct has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, lgamma

from starskip.advisor.workload.shape_workload import Literals
from starskip.pinot.column_indexes.inverted import INVERTED_NAME
from starskip.sql.predicate import EQUALITIES, NEGATIONS, And, Leaf, Not, Or, Predicate
from starskip.tables.table_overview import ColumnOverview, TableOverview

INVERTED_ORDER = 2
SORTED_ORDER = 3
"""Number of children of an AND that keep their vote; the only difference between the original's two modes."""


@dataclass(frozen=True, slots=True)
class Key:
    """A set of columns that would have to be indexed together, and the share of rows they leave."""

    columns: frozenset[str]
    surviving_ratio: float


def parser_keys(
    predicate: Predicate, literals: Literals, table: TableOverview, *, order: int = INVERTED_ORDER
) -> tuple[Key, ...]:
    """Return the keys that a filter votes for, the most selective first."""
    return _keys(predicate, literals, table, order)[:order]


def _keys(predicate: Predicate, literals: Literals, table: TableOverview, order: int) -> tuple[Key, ...]:
    match predicate:
        case Leaf():
            return _leaf_key(predicate, literals, table)
        case And(children):
            keys = [key for child in children for key in _keys(child, literals, table, order)]
            return tuple(sorted(keys, key=lambda key: key.surviving_ratio)[:order])
        case Or(children):
            disjuncts = [_keys(child, literals, table, order) for child in children]
            if not all(disjuncts):
                # A disjunct that must be scanned anyway leaves the others nothing to bound.
                return ()
            missed = 1.0
            for disjunct in disjuncts:
                missed *= 1.0 - disjunct[0].surviving_ratio
            return (Key(frozenset().union(*(disjunct[0].columns for disjunct in disjuncts)), 1.0 - missed),)
        case Not():
            return ()
    return ()


def _leaf_key(leaf: Leaf, literals: Literals, table: TableOverview) -> tuple[Key, ...]:
    column = table.columns.get(leaf.column)
    if column is None or leaf.operator not in EQUALITIES or leaf.column in table.indexed(INVERTED_NAME):
        return ()
    distinct = distinct_literals(leaf, literals)
    ratio = surviving_ratio(column, distinct, negated=leaf.operator in NEGATIONS)
    return (Key(frozenset({leaf.column}), ratio),) if ratio < 1.0 else ()


def distinct_literals(leaf: Leaf, literals: Literals) -> int:
    """Return k, the number of values that an equality asks for, each counted once."""
    texts = {text for slot in leaf.slots for text in literals[slot.position]} | set(leaf.constants)
    # An equality with an expression, ``c = lower('X')``, asks for one value that the text does not show.
    return max(len(texts), 1)


def surviving_ratio(column: ColumnOverview, literals: int, *, negated: bool) -> float:
    """Return s for ``literals`` distinct values of ``column``; 1.0 if unknown or if an index gains nothing.

    The cardinality counts only in the share of segments where the column is not sorted: a sorted column needs
    no index.
    """
    if column.cardinality is None:
        return 1.0
    values = column.cardinality * (1.0 - column.sorted_ratio)
    return _surviving(column, values, literals, negated=negated) if values > 1.0 else 1.0


def equality_ratio(column: ColumnOverview, literals: int, *, negated: bool) -> float:
    """Return the share of rows that hold one of ``literals`` distinct values, whatever the sort order."""
    return _surviving(column, max(column.cardinality or 1.0, 1.0), literals, negated=negated)


def _surviving(column: ColumnOverview, values: float, literals: int, *, negated: bool) -> float:
    kept = min(1.0, literals / values)
    if not column.is_single_value and literals > 0:
        kept = _multi_value_ratio(values, max(column.entries_per_row, 1.0), literals)
    return 1.0 - kept if negated else kept


def _multi_value_ratio(values: float, values_per_row: float, literals: int) -> float:
    """Return the chance that a row with r of n values holds one of k: 1 - prod_{i<k} (n-r-i)/(n-i)."""
    if literals + values_per_row > values:
        return 1.0
    # The product as a ratio of factorials: lists of literals may be long.
    logarithm = (
        lgamma(values - values_per_row + 1)
        - lgamma(values - values_per_row - literals + 1)
        - lgamma(values + 1)
        + lgamma(values - literals + 1)
    )
    return min(max(1.0 - exp(logarithm), 0.0), 1.0)


def best_keys(keys: Sequence[Key]) -> dict[str, Key]:
    """Return each column with the first key that names it: it votes once a query."""
    first: dict[str, Key] = {}
    for key in keys:
        for column in sorted(key.columns):
            first.setdefault(column, key)
    return first
