"""Parse an aggregation query into predicates, group-by columns, aggregations and the steps after them.

"Star-tree index: Powering fast aggregations on Pinot", "Query execution": all columns in filters and
group-by clauses must be dimensions of the tree, all aggregations pre-aggregated. The steps after the
aggregation (HAVING, ORDER BY, LIMIT, arithmetic of aggregates) are kept as SQL over the groups.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
from sqlglot import exp

from starskip.errors import UnsupportedQuery
from starskip.sql.typed_literals import with_padded_literals
from starskip.star_tree.measure import Measure
from starskip.star_tree.query.aggregate_call import AggregateCall, is_aggregate
from starskip.star_tree.query.answer_names import answer_names
from starskip.star_tree.query.conjuncts import Conjunct, conjuncts
from starskip.star_tree.query.finishing import Finishing, finishing
from starskip.star_tree.query.group_expressions import GroupExpression, group_expressions
from starskip.star_tree.query.query_table import require_meant, single_table, table_name
from starskip.star_tree.query.rewrite_select import bound_columns, resolve_aliases
from starskip.star_tree.query.scalar_functions import known_functions
from starskip.star_tree.query.sql_select import bounded_depth, select_tokens, sql_select


@dataclass(frozen=True, slots=True)
class AggregationQuery:
    """``table``: the name in FROM. ``conjuncts``: ANDed predicates, each on at most one column.

    ``group_by`` and ``aggregates`` are distinct; ``finishing`` calls them g0, g1, … and a0, a1, …
    ``is_template``: a ``?`` stands for a literal, as in the shapes of a log.
    """

    table: str
    conjuncts: tuple[Conjunct, ...]
    group_by: tuple[GroupExpression, ...]
    aggregates: tuple[AggregateCall, ...]
    finishing: Finishing
    is_template: bool


@bounded_depth()
def aggregation_query(
    sql: str,
    dialect: str = "pinot",
    columns: Collection[str] | None = None,
    *,
    answers_to: str | None = None,
    schema: pa.Schema | None = None,
) -> AggregationQuery:
    """Parse ``sql`` in the dialect "pinot" or "spark".

    With ``columns``, the table's, names are found whatever their case and spelt as the table spells them.
    ``answers_to``: the only table that may stand in FROM; None for any. A ``?`` may stand for a literal, as
    in the shapes of a log. ``schema``: shows which columns are CHAR(n).

    Raises UnsupportedQuery, whose reason is one of sql_select's, "unknown_column", "another_table", or the
    reason why no star-tree can answer: "several_tables", "subquery", "window", "filter_clause", "function",
    "distinct", "expression", "argument", "several_columns", "aggregate_in_filter", "grouping", "not_grouped",
    "not_an_aggregation", "sample", "ordinal".
    """
    select = sql_select(sql, dialect)
    table = single_table(select)
    if answers_to is not None:
        require_meant(table_name(table), answers_to)
    known_functions(select)
    bound_columns(select, table, columns)
    names = answer_names(select, select_tokens(sql, dialect), sql, dialect)
    resolve_aliases(select, columns)
    select = select if schema is None else with_padded_literals(select, schema)
    where = select.args.get("where")
    groups = group_expressions(select)
    if not groups and not any(is_aggregate(node) for node in select.walk()):
        raise UnsupportedQuery(
            "the query selects rows: star-trees answer aggregations, GROUP BY and DISTINCT",
            reason="not_an_aggregation",
        )
    finish, aggregates = finishing(select, groups, names)
    return AggregationQuery(
        table=table.name,
        conjuncts=conjuncts(where.this) if where else (),
        group_by=groups,
        aggregates=aggregates,
        finishing=finish,
        is_template=select.find(exp.Placeholder) is not None,
    )


@dataclass(frozen=True, slots=True)
class TreeDemand:
    """Distinct columns in the order of the text; spelt as in the query, or as in the table.

    ``predicate_columns`` and ``group_by_columns`` must be in the split order (a column may be in both),
    ``measures`` in the documents.
    """

    predicate_columns: tuple[str, ...]
    group_by_columns: tuple[str, ...]
    measures: tuple[Measure, ...]


def tree_demand(query: AggregationQuery) -> TreeDemand:
    """Return the columns and measures that a tree needs to answer ``query``."""
    return TreeDemand(
        predicate_columns=tuple(dict.fromkeys(c.column for c in query.conjuncts if c.column is not None)),
        group_by_columns=tuple(dict.fromkeys(group.column for group in query.group_by)),
        measures=tuple(dict.fromkeys(item for call in query.aggregates for item in call.measures)),
    )
