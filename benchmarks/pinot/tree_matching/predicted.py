"""Predicted reads of Pinot for a query, from the rows' combinations of dimensions, segment by segment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pinot.tree_matching.fitting_tree import fitting_tree
from sqlglot import exp
from starskip.advisor.families.star_tree.recommend.combinations import distinct_combinations, value_codes
from starskip.advisor.families.star_tree.recommend.cuboids import Cuboids
from starskip.advisor.families.star_tree.recommend.pinot_aggregation import PinotQuery, pinot_query
from starskip.advisor.families.star_tree.recommend.simulated_tree import SimulatedTree, TreeLayout
from starskip.advisor.families.star_tree.recommend.tree_read import TreeRead
from starskip.advisor.families.star_tree.recommend.tree_scan import tree_scan
from starskip.errors import UnsupportedQuery
from starskip.pinot.star_tree_filter import Composite, NotServed
from starskip.pinot.star_tree_matching import SegmentColumns, tree_parts
from starskip.pinot.star_tree_rules import StarTreeRules, star_tree_rules
from starskip.sql.predicate import EQUALITIES, NEGATIONS, Bound, Leaf, Operator, leaves
from starskip.sql.sandboxed_duckdb import locked_database
from starskip.star_tree.query.conjuncts import Conjunct
from starskip.star_tree.scalar_expressions import ScalarExpressions
from starskip.star_tree.star_tree_config import StarTreeConfig


@dataclass(frozen=True, slots=True)
class Predicted:
    """``reason``: why no tree is used, "" where one is in some segment. Counters are as Pinot names them.

    ``by_trees_alone``: whether no segment is read without a tree.
    """

    reason: str
    documents_scanned: float = 0.0
    entries_in_filter: float = 0.0
    entries_post_filter: float = 0.0
    by_trees_alone: bool = True


class TablePrediction:
    """Predicts queries of one table."""

    def __init__(
        self,
        segments: Sequence[pa.Table],
        trees: Sequence[StarTreeConfig],
        pinot_version: str,
        *,
        columns: Sequence[str],
        raw: Sequence[str] = (),
        inverted: Sequence[str] = (),
    ) -> None:
        """Take the trees in the order of the configuration, and the rows of each segment.

        ``columns``: all of the table; of the rows only the dimensions of trees are needed.
        """
        self._columns = list(columns)
        self._rules: StarTreeRules = star_tree_rules(pinot_version)
        self._raw, self._inverted = frozenset(raw), frozenset(inverted)
        self._pairs = [
            (
                config.dimensions_split_order,
                [(p.function.value, p.column) for p in config.function_column_pairs],
            )
            for config in trees
        ]
        self._cuboids = [_cuboids(segment) for segment in segments]
        self._trees = [
            [SimulatedTree(_of(cuboids, config), _layout(config), as_pinot=True) for config in trees]
            for cuboids in self._cuboids
        ]
        self._expressions = ScalarExpressions(locked_database())

    def predicted(self, sql: str) -> Predicted:
        """Return what ``sql`` reads; a query that Pinot's trees do not answer has no counters."""
        try:
            query = pinot_query(sql, self._columns)
        except UnsupportedQuery as error:
            return Predicted(error.reason)
        found = [self._of_segment(query, number) for number in range(len(self._cuboids))]
        used = [each for each in found if not each.reason]
        if not used:
            return found[0]
        return Predicted(
            "",
            sum(each.documents_scanned for each in used),
            sum(each.entries_in_filter for each in used),
            sum(each.entries_post_filter for each in used),
            all(each.reason in ("", "always_false") for each in found),
        )

    def _of_segment(self, query: PinotQuery, number: int) -> Predicted:
        facts = SegmentColumns(
            raw=self._raw,
            by_bitmap=lambda leaf: leaf.column in self._inverted and leaf.operator in EQUALITIES,
            truth=lambda leaf: self._truth(query, leaf, number),
        )
        parts = tree_parts(query.aggregation, self._rules, facts)
        if isinstance(parts, NotServed):
            return Predicted(parts.reason)
        taken = fitting_tree(parts, self._pairs, self._rules)
        if isinstance(taken, NotServed):
            return Predicted(taken.reason)
        tree = self._trees[number][taken[0]]
        read = TreeRead(
            tuple(_conjunct(each, query.literals) for each in parts[0].composites), parts[0].group_by_columns
        )
        reading = tree.reading(tree_scan(read, tree.cuboids, number, self._expressions, as_pinot=True))
        projected = len(parts[0].group_by_columns) + len(parts[0].pairs)
        scanned = reading.documents_scanned
        return Predicted("", scanned, reading.entries_in_filter, scanned * projected)

    def _truth(self, query: PinotQuery, leaf: Leaf, number: int) -> bool | None:
        values = self._cuboids[number].values.get(leaf.column)
        expression = _expression(leaf, query.literals)
        if values is None or expression is None:
            return None
        mask = self._expressions.mask((number, leaf.column), leaf.column, values, expression)[:-1]
        return True if mask.all() else False if not mask.any() else None


def _conjunct(composite: Composite, literals: Sequence[exp.Expr]) -> Conjunct:
    alternatives = []
    for predicate, negated in zip(composite.predicates, composite.negated, strict=True):
        parts = [_expression(leaf, literals) for leaf in leaves(predicate)]
        expression = exp.and_(*(part for part in parts if part is not None))
        alternatives.append(exp.Not(this=exp.paren(expression)) if negated else expression)
    joined = alternatives[0] if len(alternatives) == 1 else exp.or_(*alternatives)
    return Conjunct(composite.column, joined)


def _expression(leaf: Leaf, literals: Sequence[exp.Expr]) -> exp.Expr | None:
    """Return what ``leaf`` asks, as SQL; None for what is no comparison with literals."""
    column = exp.column(leaf.column)
    if leaf.operator in EQUALITIES:
        listed = exp.In(this=column, expressions=[literals[slot.position].copy() for slot in leaf.slots])
        return exp.Not(this=listed) if leaf.operator in NEGATIONS else listed
    if leaf.operator is not Operator.RANGE:
        return None
    sides = [_side(column, leaf.low, exp.GTE, exp.GT, literals)]
    sides.append(_side(column, leaf.high, exp.LTE, exp.LT, literals))
    return exp.and_(*(side for side in sides if side is not None))


def _side(
    column: exp.Column,
    bound: Bound | None,
    inclusive: type[exp.Binary],
    exclusive: type[exp.Binary],
    literals: Sequence[exp.Expr],
) -> exp.Expr | None:
    if bound is None or bound.slot is None:
        return None
    kind = inclusive if bound.inclusive else exclusive
    return kind(this=column.copy(), expression=literals[bound.slot.position].copy())


def _cuboids(segment: pa.Table) -> Cuboids:
    values, codes = {}, {}
    for name in segment.column_names:
        found = segment[name].combine_chunks().unique()
        values[name] = found.take(pc.array_sort_indices(found))
        codes[name] = value_codes(segment[name].combine_chunks(), values[name])
    whole = distinct_combinations(codes, np.ones(segment.num_rows, np.int64))
    return Cuboids({frozenset(codes): whole}, values)


def _of(cuboids: Cuboids, config: StarTreeConfig) -> Cuboids:
    order = frozenset(config.dimensions_split_order)
    return Cuboids({order: cuboids.combinations(order)}, {name: cuboids.values[name] for name in order})


def _layout(config: StarTreeConfig) -> TreeLayout:
    skipped = frozenset(config.skip_star_node_creation_for_dimensions)
    return TreeLayout(config.dimensions_split_order, config.max_leaf_records, skipped)
