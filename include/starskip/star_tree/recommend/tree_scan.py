"""One read of a tree over the dictionaries of one part of the table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

import numpy as np
import numpy.typing as npt
from sqlglot import exp

from starskip.pinot.java_hash_order import java_hash_order
from starskip.star_tree.query.conjuncts import Conjunct
from starskip.star_tree.recommend.cuboids import Cuboids, Dimensions, Flags, Predicates
from starskip.star_tree.recommend.tree_read import TreeRead
from starskip.star_tree.scalar_expressions import ScalarExpressions

_RANGES = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between)


@dataclass(frozen=True, slots=True, eq=False)
class TreeScan:
    """``used``: the dimensions that it filters or groups by. ``masks``: which of their codes pass.

    ``predicates``: a mask for each predicate that is evaluated by itself (ranges of one dimension are one),
    in Pinot's order.
    """

    used: Dimensions
    masks: dict[str, Flags]
    predicates: Predicates

    @property
    def is_empty(self) -> bool:
        """Whether no value of some dimension passes."""
        return not all(mask.any() for mask in self.masks.values())


def tree_scan(read: TreeRead, cuboids: Cuboids, number: int, expressions: ScalarExpressions) -> TreeScan:
    """Return ``read`` over part ``number`` of the table; raises UnsupportedQuery for what cannot be computed.

    What all values that there are pass asks nothing: neither Pinot nor Starskip looks at it.
    """
    found: dict[tuple[str, object], Flags] = {}
    for position, each in enumerate(read.conjuncts):
        if each.column is None:
            continue
        values = cuboids.values[each.column]
        mask = expressions.mask((number, each.column), each.column, values, each.expression)
        key = (each.column, "range" if _is_range(each) else position)
        found[key] = found[key] & mask if key in found else mask
    kept = [(name, mask) for (name, _), mask in found.items() if not _passes_all(name, mask, cuboids)]
    columns = java_hash_order(name for name, _ in kept)
    kept.sort(key=lambda item: columns.index(item[0]))
    masks = {
        column: reduce(np.logical_and, [mask for name, mask in kept if name == column]) for column in columns
    }
    return TreeScan(frozenset(masks) | {*read.group_by_columns}, masks, Predicates(tuple(kept)))


def _is_range(each: Conjunct) -> bool:
    node: exp.Expr = each.expression
    while isinstance(node, exp.Paren):
        node = node.this
    return isinstance(node, _RANGES)


def _passes_all(name: str, mask: npt.NDArray[np.bool_], cuboids: Cuboids) -> bool:
    """Tell whether every value that a row has passes; null is one where there are nulls."""
    return bool(mask[cuboids.combinations(frozenset({name})).codes[name]].all())
