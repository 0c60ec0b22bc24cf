"""Plan each predicate of a query shape as Pinot answers it: today, and with the advised indexes."""

from __future__ import annotations

from collections.abc import Collection

from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index
from starskip.errors import UnsupportedQuery
from starskip.reports.log_values import PlannedPredicate
from starskip.sql.predicate import Leaf, Operator, leaves
from starskip.sql.query_shape import parsed_shape

MAX_PREDICATES = 12
"""Predicates of one shape that a report shows."""
_COMPARISONS = {
    Operator.EQUAL: "equal to a value",
    Operator.NOT_EQUAL: "other than a value",
    Operator.IN: "in a list",
    Operator.NOT_IN: "not in a list",
    Operator.RANGE: "in a range",
    Operator.LIKE: "like a pattern",
    Operator.REGEXP_LIKE: "like a regular expression",
    Operator.IS_NULL: "is null",
    Operator.IS_NOT_NULL: "is not null",
    Operator.OWN_INDEX: "by an index of its own",
    Operator.EXPRESSION: "within an expression",
}


def shape_plan(
    skeleton: str,
    rules: AccessRules,
    sorted_columns: Collection[str],
    in_force: Collection[Index],
    chosen: Collection[Index],
) -> tuple[PlannedPredicate, ...]:
    """Return the first predicates of a shape, in the order of its text; none if it is not understood."""
    try:
        found = list(leaves(parsed_shape(skeleton).filter))
    except UnsupportedQuery:
        return ()

    def served(leaf: Leaf, indexes: Collection[Index]) -> str | None:
        orders = [each.name for each in rules.families if rules.reorders(each.name)]
        of_order = orders if leaf.column in sorted_columns else []
        of_column = sorted(index.family for index in indexes if index.column == leaf.column)
        return next((family for family in (*of_order, *of_column) if rules.serves(family, leaf)), None)

    return tuple(
        PlannedPredicate(
            leaf.column or ", ".join(leaf.columns),
            _COMPARISONS[leaf.operator],
            served(leaf, in_force),
            served(leaf, in_force) or served(leaf, chosen),
        )
        for leaf in found[:MAX_PREDICATES]
    )
