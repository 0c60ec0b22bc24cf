"""The predicate tree of a filter: comparisons of columns with slots in the places of literals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum


class Operator(Enum):
    """The comparison of a leaf; the groups follow which index can serve it."""

    EQUAL = "="
    NOT_EQUAL = "<>"
    IN = "in"
    NOT_IN = "not in"
    RANGE = "range"
    LIKE = "like"
    REGEXP_LIKE = "regexp_like"
    IS_NULL = "is null"
    IS_NOT_NULL = "is not null"
    OWN_INDEX = "own index"
    EXPRESSION = "expression"


NEGATIONS = frozenset({Operator.NOT_EQUAL, Operator.NOT_IN})
PATTERNS = frozenset({Operator.LIKE, Operator.REGEXP_LIKE})
"""Operators that compare texts with a pattern."""
EQUALITIES = frozenset({Operator.EQUAL, Operator.IN}) | NEGATIONS
"""Comparisons with single values of a column, or with all but these."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The literal or literal list ``position`` of the query; ``negative``: a minus stood before it."""

    position: int
    negative: bool = False


@dataclass(frozen=True, slots=True)
class Bound:
    """One end of a range."""

    slot: Slot | None
    inclusive: bool


@dataclass(frozen=True, slots=True)
class Leaf:
    """One predicate.

    OWN_INDEX stands for TEXT_MATCH, JSON_MATCH and the like, which run on an index of their own or not
    at all. ``column`` is the column that is compared; for EXPRESSION and OWN_INDEX, which compare functions
    or several columns, it is empty and ``columns`` names them all. ``slots``: literals of EQUAL … NOT_IN
    (several slots where an OR of equalities was merged), LIKE and REGEXP_LIKE (pattern and flags). A bound
    whose value is not a plain literal has slot None. ``constants``: TRUE or FALSE, which are part of the
    text. ``is_merged``: a range of two comparisons; in a multi-value column other values may satisfy each of
    them. ``expression``: the text of an EXPRESSION, or of a comparison with ``7 * 24``, with ``:p0`` for slot
    0. ``skipped_indexes``: the types of indexes that the query does without (query_options).
    """

    operator: Operator
    column: str = ""
    slots: tuple[Slot, ...] = ()
    low: Bound | None = None
    high: Bound | None = None
    columns: tuple[str, ...] = ()
    constants: tuple[str, ...] = ()
    is_merged: bool = False
    expression: str = ""
    skipped_indexes: frozenset[str] = frozenset()

    def __hash__(self) -> int:
        # Leaves are looked up for each query of the night: numbers and texts are quick to hash.
        slot = self.slots[0].position if self.slots else -1
        return hash((self.column, self.expression, self.columns, slot))


@dataclass(frozen=True, slots=True)
class And:
    """A conjunction: every child holds."""

    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """At least one child holds."""

    children: tuple[Predicate, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The child does not hold."""

    child: Predicate


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE or FALSE."""

    value: bool


@dataclass(frozen=True, slots=True)
class Filtered:
    """An aggregation's FILTER: ``predicate``, applied to the rows that a finished scan of ``rows`` kept."""

    rows: Predicate
    predicate: Predicate


Predicate = Leaf | And | Or | Not | Constant | Filtered


def leaves(predicate: Predicate) -> Iterator[Leaf]:
    """Yield the leaves in text order."""
    match predicate:
        case Leaf():
            yield predicate
        case And(children) | Or(children):
            for child in children:
                yield from leaves(child)
        case Not(child):
            yield from leaves(child)
        case Filtered(rows, child):
            yield from leaves(rows)
            yield from leaves(child)


def without_indexes(predicate: Predicate, skipped: Mapping[str, frozenset[str]]) -> Predicate:
    """Return the predicate with the types of indexes, by column, that its leaves do without."""
    match predicate:
        case Leaf() if predicate.column in skipped:
            return replace(predicate, skipped_indexes=skipped[predicate.column])
        case And(children) | Or(children):
            return type(predicate)(tuple(without_indexes(child, skipped) for child in children))
        case Not(child):
            return Not(without_indexes(child, skipped))
        case Filtered(rows, child):
            return Filtered(without_indexes(rows, skipped), without_indexes(child, skipped))
    return predicate


def columns_of(predicate: Predicate) -> tuple[str, ...]:
    """Return the distinct columns of all leaves, in text order."""
    names = (name for leaf in leaves(predicate) for name in ((leaf.column,) if leaf.column else leaf.columns))
    return tuple(dict.fromkeys(names))
