"""Split a filter into the predicates of each star-tree dimension, by Pinot's rules.

StarTreeUtils.extractPredicateEvaluatorsMap: each ANDed child must be a composite predicate of one dimension;
a child that cannot be one rules all trees out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from starskip.errors import printable
from starskip.pinot.star_tree_rules import StarTreeRules
from starskip.sql.predicate import (
    PATTERNS,
    And,
    Constant,
    Filtered,
    Leaf,
    Not,
    Operator,
    Or,
    Predicate,
    columns_of,
    leaves,
)

LeafTruth = Callable[[Leaf], bool | None]
"""True or False where a segment's dictionary shows that a leaf always, or never, holds; else None."""

_NULLS = (Operator.IS_NULL, Operator.IS_NOT_NULL)
_SHOWN_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class NotServed:
    """The reason why the target version uses no star-tree: ``reason`` is a code, ``detail`` a clause."""

    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Composite:
    """Alternatives on one ``column``; ``negated``: for each, whether it must be false instead of true.

    A predicate is a leaf, or ANDed ranges of the column, which the broker merges to one range.
    """

    column: str
    predicates: tuple[Predicate, ...]
    negated: tuple[bool, ...]


def open_truth(_: Leaf) -> bool | None:
    """Return None for every leaf: no segment is looked at."""
    return None


def constant_value(node: Predicate, truth: LeafTruth) -> bool | None:
    """Return True if all rows of the segment satisfy ``node``, False if no row does, else None."""
    match node:
        case Constant(value):
            return value
        case Leaf():
            return truth(node)
        case Not(child):
            known = constant_value(child, truth)
            return None if known is None else not known
        case And(children) | Or(children):
            ends = isinstance(node, Or)
            known_of = [constant_value(child, truth) for child in children]
            if ends in known_of:
                return ends
            return None if None in known_of else not ends
        case Filtered(rows, child):
            return constant_value(And((rows, child)), truth)


def composites(
    predicate: Predicate, rules: StarTreeRules, truth: LeafTruth = open_truth
) -> tuple[Composite, ...] | NotServed:
    """Return the ANDed composites of a filter, or the first reason that rules star-trees out.

    ``predicate`` is as the broker rewrites it (sql.rewrite_filter).
    """
    found: list[Composite] = []
    waiting = [predicate]
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, And):
            waiting += node.children
            continue
        if isinstance(node, Constant):
            if not node.value:
                return NotServed("always_false", "its filter is FALSE")
            continue
        part = _composite(node, rules, truth)
        if isinstance(part, NotServed):
            return part
        if part is not None:
            found.append(part)
    return tuple(found)


def is_one_range(node: Predicate) -> bool:
    """Return whether MergeRangeFilterOptimizer merges ``node``, ANDed ranges of one column, to one range."""
    if not isinstance(node, And):
        return False
    ranges = [each for each in node.children if isinstance(each, Leaf) and each.operator is Operator.RANGE]
    return len(ranges) == len(node.children) and len({each.column for each in ranges}) == 1


def _composite(node: Predicate, rules: StarTreeRules, truth: LeafTruth) -> Composite | NotServed | None:
    """Return ``node`` as a composite, None if all rows satisfy it."""
    if isinstance(node, Or) and not rules.or_of_one_dimension:
        return NotServed("or", "its filter has an OR, which star-trees take from Pinot 0.9 on")
    parts = _alternatives(node, rules)
    if isinstance(parts, NotServed):
        return parts
    kept: list[tuple[Predicate, bool]] = []
    for each, negated in parts:
        lack = next((lack for leaf in leaves(each) if (lack := _lack(leaf, rules)) is not None), None)
        if lack is not None:
            return lack
        known = constant_value(each, truth)
        if known is not None and known != negated:
            return None
        if known is None:
            kept.append((each, negated))
    if not kept:
        return NotServed("always_false", "no row of the segment meets its filter")
    columns = tuple(dict.fromkeys(name for each, _ in kept for name in columns_of(each)))
    if len(columns) > 1:
        shown = ", ".join(printable(name, 60) for name in columns[:_SHOWN_COLUMNS])
        return NotServed("or_of_several_columns", f"its filter has an OR over several columns ({shown})")
    return Composite(columns[0], tuple(each for each, _ in kept), tuple(negated for _, negated in kept))


def _alternatives(node: Predicate, rules: StarTreeRules) -> list[tuple[Predicate, bool]] | NotServed:
    """Return the predicates of ``node``, one or an OR of them, each with whether it is negated."""
    if isinstance(node, And) and not is_one_range(node):
        return NotServed("and_in_or", "its filter has an AND inside of an OR")
    if isinstance(node, Or):
        found: list[tuple[Predicate, bool]] = []
        for child in node.children:
            parts = _alternatives(child, rules)
            if isinstance(parts, NotServed):
                return parts
            found += parts
        return found
    negated = False
    while isinstance(node, Not):
        if not rules.not_of_predicate:
            return NotServed("not", "its filter has a NOT, which star-trees take from Pinot 1.2 on")
        negated = not negated
        node = node.child
    if isinstance(node, Leaf) or is_one_range(node):
        return [(node, negated)]
    if isinstance(node, Constant):
        return NotServed("constant", "its filter has a constant inside of an OR or a NOT")
    return NotServed("not_of_several", "its filter has a NOT of an AND or an OR")


def _lack(leaf: Leaf, rules: StarTreeRules) -> NotServed | None:
    """Return why StarTreeUtils.getPredicateEvaluator refuses ``leaf``, None if it does not."""
    if leaf.operator is Operator.EXPRESSION or not leaf.column:
        own = leaf.operator is Operator.OWN_INDEX
        what = "asks an index of its own" if own else "is of an expression"
        return NotServed(
            "own_index" if own else "expression_in_filter",
            f"a predicate of its filter {what}, not of a column",
        )
    column = printable(leaf.column, 60)
    if leaf.operator in PATTERNS and not rules.patterns:
        return NotServed("pattern", f"its filter has LIKE or REGEXP_LIKE on {column}")
    if leaf.operator in _NULLS:
        return NotServed("is_null", f"its filter has IS NULL or IS NOT NULL on {column}")
    return None
