"""Columns whose dictionary serves no query, and the bytes that they take without it."""

from __future__ import annotations

from pathlib import Path

import pytest
from starskip.advisor.families.answer import RowSource
from starskip.advisor.selection.raw_columns import needing_dictionary, raw_column_notes
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_segment_facts
from starskip.pinot.table_config import table_config
from starskip.sql.normalize_sql import normalize_sql
from starskip.tables.table_overview import ColumnOverview, TableOverview

SEGMENTS = Path(__file__).parents[3] / "include" / "sample" / "segments"
ROWS = RowSource(lambda _label, items, function: list(map(function, items)), str(SEGMENTS))
SUM = "SELECT l_shipmode, SUM(l_extendedprice), AVG(l_tax) FROM lineitem WHERE l_suppkey = 7 GROUP BY 1"


def shapes(*texts: str) -> list[ShapeWorkload]:
    return [ShapeWorkload("lineitem", sql, sql, normalize_sql(sql).skeleton, 100) for sql in texts]


@pytest.fixture(scope="module")
def overview() -> TableOverview:
    """The sample's first segment as the whole table."""
    facts = read_segment_facts(list_segments(str(SEGMENTS), ["lineitem"])[0])
    columns = {
        each.name: ColumnOverview(
            each.name,
            each.data_type,
            is_single_value=each.is_single_value,
            sorted_ratio=float(each.is_sorted),
            index_bytes=dict(each.index_bytes),
            column_type=each.column_type or "",
        )
        for each in facts.columns
    }
    return TableOverview("lineitem", 1, facts.rows, columns)


@pytest.mark.parametrize(
    ("query", "needed"),
    [
        (SUM, {"l_shipmode", "l_suppkey"}),
        ("SELECT a, SUM(l_tax) FROM t WHERE c = 1 ORDER BY 1", {"a", "c"}),
        ("SELECT DISTINCT a, b FROM t", {"a", "b"}),
        ("SELECT a AS x FROM t ORDER BY x", {"a", "x"}),
        ("SELECT COUNT(*), MIN(a), DISTINCTCOUNT(b), SUM(c + d) FROM t HAVING SUM(e) > 1", {"a", "b", "e"}),
        ("SELECT UPPER(a), SUM(b) FILTER (WHERE c = 1) FROM t", {"a", "c"}),
        ("SELECT t.a FROM t JOIN u ON t.b = u.c WHERE u.d = 1", {"b", "c", "d"}),
        ("SELECT FROM", set()),
    ],
)
def test_columns_that_a_query_needs_the_dictionary_of(query: str, needed: set[str]) -> None:
    assert needing_dictionary(shapes(query)) >= needed
    assert not {"l_extendedprice", "l_tax"} & needing_dictionary(shapes(query))


def test_a_text_of_its_own_in_each_row_is_told_with_both_sizes(overview: TableOverview) -> None:
    (note,) = raw_column_notes(shapes(SUM), overview, (), ROWS)
    assert note == (
        "no query filters, groups or orders by l_comment: it takes 3.29 MB, and about 1.24 MB in new segments"
        " without a dictionary (tableIndexConfig.noDictionaryColumns)"
    )


def test_a_column_that_something_needs_is_left_alone(overview: TableOverview) -> None:
    asked = shapes(SUM, "SELECT COUNT(*) FROM lineitem WHERE L_COMMENT LIKE '%x%'")
    assert raw_column_notes(asked, overview, (), ROWS) == ()
    assert raw_column_notes(shapes(SUM), overview, (), ROWS, {"l_comment"}) == ()
    indexed = {"fieldConfigList": [{"name": "l_comment", "indexTypes": ["TEXT"]}]}
    config = table_config({"tableName": "lineitem", **indexed})
    assert raw_column_notes(shapes(SUM), overview, [config], ROWS) == ()
    in_force = TableOverview(
        "lineitem", 1, overview.rows, overview.columns, {"fst": frozenset({"l_comment"})}
    )
    assert raw_column_notes(shapes(SUM), in_force, (), ROWS) == ()


def test_nothing_is_said_where_no_rows_can_be_read(overview: TableOverview, tmp_path: Path) -> None:
    assert raw_column_notes(shapes(SUM), overview, (), RowSource(ROWS.run_tasks, "")) == ()
