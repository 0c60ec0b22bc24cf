"""Entries of a typical query in the advice on a sorted column."""

from __future__ import annotations

import index_choice
import pytest
from settings_with import settings_with
from starskip.advisor.cost.estimation_votes import estimation_votes
from starskip.advisor.cost.planned_votes import candidate_indexes
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.families import families_named
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.tables.table_overview import ColumnOverview, TableOverview

TABLE = TableOverview("t", 10, 1000, {name: ColumnOverview(name, cardinality=100.0) for name in "ab"})


def shape(column: str, queries: int) -> ShapeWorkload:
    sql = f"SELECT COUNT(*) FROM t WHERE {column} = 1"
    cut = normalize_sql(sql)
    entries = 1000 * queries
    return ShapeWorkload(
        "t",
        query_shape(cut.skeleton).shape_id,
        sql,
        cut.skeleton,
        queries=queries,
        entries_scanned_in_filter=entries,
        entries_scanned_in_filter_squared=1e6 * queries,
        instances={cut.literals: Instance(queries, entries, 1e6 * queries)},
    )


@pytest.mark.parametrize("index_kind", ["inverted", "sorted"])
@pytest.mark.parametrize(("queries_of_b", "advised"), [(1, 0.0), (30, 1000.0)])
def test_the_advised_column_takes_the_entries_of_its_queries(
    index_kind: str, queries_of_b: int, advised: float
) -> None:
    shapes = [shape("a", 60), shape("b", queries_of_b)]
    settings = settings_with(max_indexes=1)
    candidates = candidate_indexes(TABLE, families_named(index_kind).asked, settings)
    votes = estimation_votes(shapes, TABLE, candidates, (), AccessRules())
    advice = index_choice.advised("t", shapes, votes, TABLE, settings, index_kind)
    assert [item.index.column for item in advice.recommendation.chosen] == ["a"]
    assert advice.typical is not None
    assert (advice.typical.today, advice.typical.advised) == (1000.0, advised)
