"""Simulate one read of a tree over the dictionaries of one part of the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from starskip.advisor.families.star_tree.recommend.cuboids import Cuboids, Dimensions, Flags, Predicates
from starskip.advisor.families.star_tree.recommend.tree_read import TreeRead
from starskip.sql.java_hash_order import java_hash_order
from starskip.star_tree.scalar_expressions import ScalarExpressions

_RANGES = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


@dataclass(frozen=True, slots=True, eq=False)
class TreeScan:
    """``used``: the dimensions that it filters or groups by. ``masks``: by dimension, which codes pass.

    ``predicates``: a mask for each predicate that is evaluated by itself (ranges of one dimension are one),
    in Pinot's order. ``evaluators``: for each predicate, the parts of its OR. ``is_empty``: a predicate that
    no code passes.
    """

    used: Dimensions
    masks: dict[str, Flags]
    predicates: Predicates
    evaluators: tuple[tuple[Flags, ...], ...]
    is_empty: bool


@dataclass(slots=True)
class _Predicate:
    column: str
    mask: Flags
    evaluators: tuple[Flags, ...]
    passes_all: bool


def tree_scan(
    read: TreeRead, cuboids: Cuboids, number: int, expressions: ScalarExpressions, *, as_pinot: bool = False
) -> TreeScan:
    """Return ``read`` over part ``number`` of the table; raises UnsupportedQuery if it cannot be computed.

    A predicate that all present values pass is ignored, as Pinot and Starskip ignore it. ``as_pinot``: Pinot
    looks at each part of an OR by itself.
    """
    found: dict[tuple[str, object], _Predicate] = {}
    for position, each in enumerate(read.conjuncts):
        if each.column is None:
            continue
        masks = [
            expressions.mask((number, each.column), each.column, cuboids.values[each.column], part)
            for part in (_evaluators(each.expression) if as_pinot else [each.expression])
        ]
        mask = reduce(np.logical_or, masks)
        key = (each.column, "range" if _is_range(each.expression) else position)
        if key in found:
            found[key].mask = mask = found[key].mask & mask
            found[key].passes_all = _passes_all(each.column, mask, cuboids)
            continue
        passes_all = any(_passes_all(each.column, part, cuboids) for part in masks)
        found[key] = _Predicate(each.column, mask, tuple(masks), passes_all)
    kept = [each for each in found.values() if not each.passes_all]
    columns = java_hash_order((each.column for each in kept), newest_first=True)
    # AndDocIdSet scans first, one column after the other, and then leaps between the rest and the ORs.
    kept.sort(key=lambda each: (len(each.evaluators) > 1, columns.index(each.column)))
    masks_of = {
        column: reduce(np.logical_and, [each.mask for each in kept if each.column == column])
        for column in columns
    }
    return TreeScan(
        frozenset(masks_of) | {*read.group_by_columns},
        masks_of,
        Predicates(tuple((each.column, each.mask) for each in kept)),
        tuple(each.evaluators for each in kept),
        is_empty=not all(each.mask.any() for each in kept),
    )


def _evaluators(expression: exp.Expr) -> list[exp.Expr]:
    """Return the parts of an OR; equalities are merged into one part (MergeEqInFilterOptimizer)."""
    parts: list[exp.Expr] = []
    waiting = [expression]
    while waiting:
        node = waiting.pop().unnest()
        if isinstance(node, exp.Or):
            waiting += [node.expression, node.this]
        else:
            parts.append(node)
    equal = [part for part in parts if isinstance(part, (exp.EQ, exp.In))]
    if len(equal) < 2:
        return parts
    return [exp.or_(*equal), *(part for part in parts if not isinstance(part, (exp.EQ, exp.In)))]


def _is_range(expression: exp.Expr) -> bool:
    node = expression.unnest()
    if isinstance(node, exp.And):
        return _is_range(node.this) and _is_range(node.expression)
    return isinstance(node, _RANGES)


def _passes_all(name: str, mask: npt.NDArray[np.bool_], cuboids: Cuboids) -> bool:
    """Return whether every value that a row has passes; null counts as a value if there are nulls."""
    return bool(mask[cuboids.combinations(frozenset({name})).codes[name]].all())
