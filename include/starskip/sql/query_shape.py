"""Parse a skeleton into its shape: table, filter, and the traits that decide how far Pinot scans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from sqlglot import exp

from starskip.errors import UnsupportedQuery
from starskip.sql.filter_tree import filter_tree
from starskip.sql.function_names import is_aggregation_name
from starskip.sql.parsed_query import parsed_query
from starskip.sql.pinot_dialect import PinotDialect
from starskip.sql.predicate import (
    Constant,
    Filtered,
    Or,
    Predicate,
    Slot,
    columns_of,
    leaves,
    without_indexes,
)
from starskip.sql.query_options import QueryOptions, split_options
from starskip.sql.rewrite_filter import rewrite_filter

MAX_PREDICATES = 200
"""The cost of an AND grows with the square of its scans; equalities of one column count once."""

DEFAULT_LIMIT = 10
"""Rows that Pinot returns where a query has no LIMIT."""

_PLAIN_NAME = re.compile(r'"([A-Za-z_]\w*+)"')
_FUNCTION = re.compile(r"\b\w++(?=\()")


@dataclass(frozen=True, slots=True)
class QueryShape:
    """The parts that all queries of one skeleton share.

    ``shape_id``: hash of the normal form, equal for texts that differ in case, spaces, list lengths, quotes
    of plain names or underscores in names of functions.
    ``text``: the normal form with ``?`` for literals. ``filter``: the WHERE tree after Pinot's rewrites.
    ``stops_early``: a selection without ORDER BY ends as soon as LIMIT rows are found.
    ``limit``: the slot of the LIMIT, or Pinot's default number where the text has none.
    """

    shape_id: str
    text: str
    filter: Predicate
    stops_early: bool
    limit: Slot | int | None

    @property
    def filter_columns(self) -> tuple[str, ...]:
        """Return the columns of the filter in text order."""
        return columns_of(self.filter)


def query_shape(skeleton: str) -> QueryShape:
    """Parse ``skeleton`` (see normalize_sql); raise UnsupportedQuery with a reason code.

    Reasons: parsed_query's, "several_tables", "too_many_predicates".
    """
    query = parsed_query(skeleton)
    if not isinstance(query, exp.Select):
        raise UnsupportedQuery("not a SELECT", reason="not_a_select")
    try:
        return _shape(query, split_options(skeleton)[0])
    except RecursionError as error:
        raise UnsupportedQuery("the query is nested too deeply to be read", reason="too_deep") from error


@lru_cache(maxsize=20_000)
def parsed_shape(skeleton: str) -> QueryShape:
    """Return ``query_shape(skeleton)``, from a cache of recent skeletons."""
    return query_shape(skeleton)


def _shape(select: exp.Select, options: QueryOptions) -> QueryShape:
    if len(list(select.find_all(exp.Table))) != 1 or select.find(exp.Subquery, exp.Join):
        raise UnsupportedQuery("the query reads several tables or a subquery", reason="several_tables")
    text = options.words + _normal_text(select)
    limit = _limit(select)
    tree = _filter(select)
    if options.skipped_indexes:
        tree = without_indexes(tree, options.skipped_indexes)
    if sum(1 for _ in leaves(tree)) > MAX_PREDICATES:
        raise UnsupportedQuery("the filter has too many predicates", reason="too_many_predicates")
    return QueryShape(
        shape_id=_shape_id(text),
        text=text,
        filter=tree,
        stops_early=_stops_early(select),
        limit=limit,
    )


def _shape_id(text: str) -> str:
    """Hash a text without quotes of plain names and underscores of functions, which make no other query."""
    same = _PLAIN_NAME.sub(r"\1", text)
    same = _FUNCTION.sub(lambda match: match[0].replace("_", ""), same)
    return blake2b(same.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _filter(select: exp.Select) -> Predicate:
    """Return the WHERE with the aggregations' FILTERs as Pinot 0.11 runs them.

    The WHERE is scanned once by itself. Each distinct FILTER is applied to the rows that the WHERE keeps, and
    the WHERE once more for aggregations without a FILTER (AggregationPlanNode); they scan like disjuncts of
    an OR.
    """
    where = select.args.get("where")
    main = rewrite_filter(filter_tree(where.this)) if where else Constant(True)
    clauses = [node for node in select.find_all(exp.Filter) if node.expression]
    if not clauses:
        return main
    filters: list[Predicate] = []
    for clause in clauses:
        found = filter_tree(clause.expression.this)
        if found not in filters:
            filters.append(found)
    # The broker's optimizers look at the WHERE alone.
    parts: list[Predicate] = [Filtered(main, each) for each in filters]
    if main != Constant(True):
        if any(aggregates(item) and not item.find(exp.Filter) for item in select.expressions):
            parts.append(Filtered(main, main))
        parts.insert(0, main)
    return Or(tuple(parts)) if len(parts) > 1 else parts[0]


def _normal_text(select: exp.Select) -> str:
    def anonymous(node: exp.Expression) -> exp.Expression:
        return exp.Placeholder() if isinstance(node, exp.Placeholder) else node

    # One copy is enough: by default each of the two steps would copy the tree, the most expensive part of a
    # shape.
    return select.copy().transform(anonymous, copy=False).sql(PinotDialect, copy=False, comments=False)


def _limit(select: exp.Select) -> Slot | int | None:
    limit = select.args.get("limit")
    if limit is None:
        return DEFAULT_LIMIT
    # Calcite, and so a redacted text, writes LIMIT as FETCH NEXT … ROWS ONLY.
    value = limit.expression if isinstance(limit, exp.Limit) else limit.args.get("count")
    if isinstance(value, exp.Placeholder) and value.name.startswith("p"):
        return Slot(int(value.name[1:]))
    return None


def _stops_early(select: exp.Select) -> bool:
    if select.args.get("order") or select.args.get("group"):
        return False
    if select.args.get("distinct"):
        return False
    return not any(aggregates(item) for item in select.expressions)


def aggregates(item: exp.Expression) -> bool:
    """Return whether an item of the select list needs all rows: it aggregates, or looks through a window."""
    if item.find(exp.AggFunc, exp.Window):
        return True
    # sqlglot types only the standard ones of Pinot's some hundred aggregation functions.
    return any(is_aggregation_name(call.name) for call in item.find_all(exp.Anonymous))
