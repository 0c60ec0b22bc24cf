"""Collect the group-by expressions: GROUP BY with its ordinals resolved, or the items of SELECT DISTINCT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from starskip.errors import UnsupportedQuery
from starskip.star_tree.query.aggregate_call import is_aggregate


@dataclass(frozen=True, slots=True)
class GroupExpression:
    """``expression`` over ``column`` alone, such as ``date_trunc('month', day)``, or the column itself."""

    column: str
    expression: exp.Expr

    @property
    def is_plain(self) -> bool:
        """Return whether it is the column itself."""
        return isinstance(self.expression, exp.Column)


def group_expressions(select: exp.Select) -> tuple[GroupExpression, ...]:
    """Return the distinct expressions in their order; raises UnsupportedQuery with a reason.

    Reasons: "grouping", "ordinal", "several_columns", "distinct".
    """
    group = select.args.get("group")
    if group is not None:
        if group.find(exp.Rollup, exp.Cube, exp.GroupingSets) or group.args.get("totals"):
            raise UnsupportedQuery("no star-tree answers ROLLUP, CUBE or GROUPING SETS", reason="grouping")
        asked = (
            _all_items(select)
            if group.args.get("all")
            else [_item(node, select) for node in group.expressions]
        )
        return _distinct(_grouped(_unaliased(node)) for node in asked)
    if select.args.get("distinct") is None or _aggregates(select):
        return ()
    if select.args["distinct"].args.get("on"):
        raise UnsupportedQuery("no star-tree answers DISTINCT ON", reason="distinct")
    columns = (piece for item in select.expressions for piece in _pieces(_unaliased(item)))
    return _distinct(_grouped(piece) for piece in columns)


def _all_items(select: exp.Select) -> list[exp.Expr]:
    return [item for item in select.expressions if not any(is_aggregate(node) for node in item.walk())]


def _item(node: exp.Expr, select: exp.Select) -> exp.Expr:
    if not isinstance(node, exp.Literal):
        return node
    position = int(node.this) if not node.is_string and node.this.isdecimal() and len(node.this) < 6 else 0
    if not 1 <= position <= len(select.expressions):
        raise UnsupportedQuery(
            f"GROUP BY {node.sql()} names no item of the SELECT, which has {len(select.expressions)}",
            reason="ordinal",
        )
    item: exp.Expr = select.expressions[position - 1]
    return item


def _unaliased(node: exp.Expr) -> exp.Expr:
    while isinstance(node, (exp.Alias, exp.Paren)):
        node = node.this
    return node


def _pieces(item: exp.Expr) -> list[exp.Expr]:
    """Split an item of several columns (``a || b``): it is computed from them after the grouping."""
    columns = list(item.find_all(exp.Column))
    return [item] if len({column.name for column in columns}) == 1 else list(columns)


def _grouped(expression: exp.Expr) -> GroupExpression:
    names = {column.name for column in expression.find_all(exp.Column)}
    if expression.is_star or isinstance(expression, exp.Star):
        raise UnsupportedQuery("no star-tree answers SELECT *", reason="not_an_aggregation")
    if any(is_aggregate(node) for node in expression.walk()):
        raise UnsupportedQuery("an aggregation in GROUP BY", reason="grouping")
    if len(names) != 1:
        what = "no column" if not names else "several columns"
        raise UnsupportedQuery(
            f"GROUP BY of an expression over {what}: a star-tree groups by expressions of one dimension each",
            reason="several_columns",
        )
    return GroupExpression(names.pop(), expression)


def _distinct(groups: Iterable[GroupExpression]) -> tuple[GroupExpression, ...]:
    return tuple(dict.fromkeys(groups))


def _aggregates(select: exp.Select) -> bool:
    having = select.args.get("having")
    nodes = [*select.expressions, *([having] if having else [])]
    return any(is_aggregate(node) for item in nodes for node in item.walk())
