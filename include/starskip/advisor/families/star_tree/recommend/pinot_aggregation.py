"""Parse an aggregation query into the form that Pinot's star-tree matcher checks."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from starskip.errors import UnsupportedQuery
from starskip.pinot.star_tree_matching import Aggregation, PinotAggregation
from starskip.sql.filter_tree import filter_tree
from starskip.sql.function_names import is_aggregation_name
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.predicate import Constant, Predicate
from starskip.sql.query_options import split_options
from starskip.sql.rewrite_filter import rewrite_filter
from starskip.star_tree.query.aggregate_call import is_aggregate
from starskip.star_tree.query.query_table import single_table
from starskip.star_tree.query.rewrite_select import bound_columns, resolve_aliases
from starskip.star_tree.query.sql_select import bounded_depth, sql_select

_PERCENTILE = re.compile(r"(PERCENTILE[A-Z]*?)(\d{1,3})")
_NAMES = {"COUNTDISTINCT": "DISTINCTCOUNT", "APPROXDISTINCT": "DISTINCTCOUNTHLL"}
_DISTINCT = {"COUNT": "DISTINCTCOUNT", "SUM": "DISTINCTSUM", "AVG": "DISTINCTAVG"}


@dataclass(frozen=True, slots=True)
class PinotQuery:
    """``aggregation`` is the matcher's input; ``where`` and ``conditions`` are its filters as SQL.

    ``conditions``: the condition of each FILTER, by its predicate in ``aggregation``. ``literals``: the
    literals of ``where``, which the slots of its predicate count.
    """

    aggregation: PinotAggregation
    where: exp.Expr | None
    conditions: Mapping[Predicate, exp.Expr]
    literals: tuple[exp.Expr, ...] = ()


@bounded_depth()
def pinot_query(sql: str, columns: Collection[str] | None = None) -> PinotQuery:
    """Parse ``sql`` in Pinot's dialect; ``columns``: the columns of the table.

    A ``?`` may stand for a literal. Raises UnsupportedQuery, as aggregation_query does, unless ``sql`` is one
    SELECT of one table.
    """
    select = sql_select(sql, "pinot")
    table = single_table(select)
    bound_columns(select, table, columns)
    resolve_aliases(select, columns)
    conditions: dict[Predicate, exp.Expr] = {}
    nodes = list(_aggregate_nodes(select))
    calls = tuple(dict.fromkeys(_aggregation(node, conditions) for node in nodes))
    group = select.args.get("group")
    grouped = _group_by_columns(select)
    where = select.args.get("where")
    is_distinct = select.args.get("distinct") is not None or (group is not None and not calls)
    return PinotQuery(
        PinotAggregation(
            aggregations=calls,
            filter=_predicate(where.this) if where else Constant(True),
            group_by_columns=grouped,
            is_grouped=group is not None,
            is_distinct=is_distinct,
            options=split_options(normalize_sql(sql).skeleton)[0],
            aggregated_columns=tuple(column.name for node in nodes for column in node.find_all(exp.Column)),
        ),
        where.this if where else None,
        conditions,
        tuple(_literals(where.this)) if where else (),
    )


def _predicate(expression: exp.Expr) -> Predicate:
    """Return the filter as the broker rewrites it, its literals numbered."""
    open_text = expression.copy()
    for number, literal in enumerate(_literals(open_text)):
        slot = exp.Placeholder(this=f"p{number}")
        if literal is open_text:
            open_text = slot
        else:
            literal.replace(slot)
    assert isinstance(open_text, exp.Expression)
    return rewrite_filter(filter_tree(open_text))


def _literals(expression: exp.Expr) -> list[exp.Expr]:
    return [*expression.find_all(exp.Literal), *expression.find_all(exp.Placeholder)]


def _aggregate_nodes(select: exp.Select) -> Iterator[exp.Expr]:
    clauses = [select.args.get("having"), select.args.get("order")]
    for root in [*select.expressions, *(clause for clause in clauses if clause is not None)]:
        for node in root.walk(prune=_is_called):
            if isinstance(node, exp.Window):
                raise UnsupportedQuery("no star-tree answers a window function", reason="window")
            if _is_called(node):
                yield node


def _is_called(node: exp.Expr) -> bool:
    named = isinstance(node, exp.Anonymous) and is_aggregation_name(node.name)
    return isinstance(node, exp.Filter) or is_aggregate(node) or named


def _aggregation(node: exp.Expr, conditions: dict[Predicate, exp.Expr]) -> Aggregation:
    if isinstance(node, exp.Filter):
        condition = node.expression.this
        predicate = _predicate(condition)
        conditions[predicate] = condition
        call = _aggregation(node.this, conditions)
        return Aggregation(call.function, call.column, call.parameter, predicate)
    name = node.name if isinstance(node, exp.Anonymous) else _typed_name(node)
    function = name.upper().replace("_", "")
    match = _PERCENTILE.fullmatch(function)
    function = match[1] if match else _NAMES.get(function, function)
    arguments = node.expressions if isinstance(node, exp.Anonymous) else [node.this, *node.expressions]
    first = arguments[0] if arguments else None
    if isinstance(first, exp.Distinct):
        function, arguments = _DISTINCT.get(function, f"DISTINCT{function}"), first.expressions
        first = arguments[0] if len(arguments) == 1 else None
    if function == "COUNT":
        return Aggregation(function, "*")
    return Aggregation(function, _column(first), _parameter(function, arguments, match is not None))


def _typed_name(node: exp.Expr) -> str:
    return node.sql_name() if isinstance(node, exp.Func) else node.key


def _column(node: object) -> str | None:
    while isinstance(node, exp.Paren):
        node = node.this
    return node.name if isinstance(node, exp.Column) and not isinstance(node.this, exp.Star) else None


def _parameter(function: str, arguments: Sequence[exp.Expr], has_percentile: bool) -> float | None:
    """Return log2m, or the compression behind the percentile."""
    at = 2 if function.startswith("PERCENTILE") and not has_percentile else 1
    literal = arguments[at] if len(arguments) > at else None
    if not isinstance(literal, exp.Literal):
        return None
    try:
        return float(literal.this)
    except ValueError:
        return None


def _group_by_columns(select: exp.Select) -> tuple[str, ...]:
    group = select.args.get("group")
    found: dict[str, None] = {}
    for node in group.expressions if group else ():
        item = node
        if isinstance(node, exp.Literal) and node.this.isdecimal():
            position = int(node.this[:6])
            if not 1 <= position <= len(select.expressions):
                raise UnsupportedQuery("GROUP BY names no item of the SELECT", reason="ordinal")
            item = select.expressions[position - 1]
        found.update(dict.fromkeys(column.name for column in item.find_all(exp.Column)))
    return tuple(found)
