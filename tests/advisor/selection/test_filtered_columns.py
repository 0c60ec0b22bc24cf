"""Reasons why a filtered column has no vote.

Columns whose dictionary serves no query, and the bytes that they take without it.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from index_choice import in_force
from starskip.advisor.families.access_rules import access_rules
from starskip.advisor.families.answer import RowSource
from starskip.advisor.families.families import families_named
from starskip.advisor.families.verdict import Reason
from starskip.advisor.selection.filtered_columns import columns_without_votes
from starskip.advisor.selection.raw_columns import needing_dictionary, raw_column_notes
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_segment_facts
from starskip.pinot.table_config import table_config
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.tables.table_overview import ColumnOverview, TableOverview

PLAIN = ColumnOverview("b", cardinality=100.0)


NOT_SERVED = Reason.PREDICATE_NOT_SERVED
INDEXED = Reason.ALREADY_INDEXED
SEGMENTS = Path(__file__).parents[3] / "include" / "sample" / "segments"
ROWS = RowSource(
    lambda _label, items, function: list(map(function, items)), partial(list_segments, SEGMENTS, ["lineitem"])
)
SUM = "SELECT l_shipmode, SUM(l_extendedprice), AVG(l_tax) FROM lineitem WHERE l_suppkey = 7 GROUP BY 1"


def refusal(
    condition: str,
    kinds: str,
    column: ColumnOverview = PLAIN,
    inverted: str = "",
    ranges: str = "",
    version: str = "0.11",
) -> tuple[Reason, str]:
    shape = query_shape(normalize_sql(f"SELECT COUNT(*) FROM t WHERE {condition}").skeleton)
    table = TableOverview("t", 1, 1000, {"b": column}, in_force(inverted, ranges))
    (found,) = columns_without_votes(
        [(shape, 7)], table, (), families_named(kinds).asked, access_rules(version)
    )
    return found.reason, found.detail


@pytest.mark.parametrize(
    ("condition", "kinds", "in_force", "version", "reason"),
    [
        # The inverted index is proposed as a drop: it serves nothing, and is no reason to refuse.
        ("b > 1", "inverted", "inverted", "0.11", NOT_SERVED),
        ("b LIKE 'x%'", "inverted,range", "inverted", "0.11", NOT_SERVED),
        ("b = 1", "inverted", "inverted", "0.11", INDEXED),
        ("b = 1", "inverted,range", "inverted", "0.11", INDEXED),
        ("b = 1", "range", "range", "0.11", NOT_SERVED),
        ("b = 1", "range", "range", "1.2", INDEXED),
        ("b > 1", "inverted,range", "range", "0.11", INDEXED),
        # A range index would serve it; the inverted one in force does not.
        ("b > 1", "inverted,range", "inverted", "0.11", Reason.SAVES_NOTHING),
        ("b > 1 AND b <> 5", "inverted", "inverted", "0.11", INDEXED),
    ],
)
def test_an_index_in_force_is_a_reason_where_it_answers(
    condition: str, kinds: str, in_force: str, version: str, reason: Reason
) -> None:
    names = {"inverted": "", "ranges": ""} | {"ranges" if in_force == "range" else in_force: "b"}
    found, detail = refusal(condition, kinds, version=version, **names)
    assert found is reason
    assert detail.endswith("; 7 queries filter on it")
    assert ("in force" in detail) == (reason is INDEXED)


def test_a_sort_order_answers_what_it_serves_alone() -> None:
    ordered = replace(PLAIN, sorted_ratio=1.0)
    assert refusal("b = 1", "inverted", ordered)[0] is Reason.ALREADY_SORTED
    assert refusal("b LIKE 'x%'", "inverted", ordered)[0] is NOT_SERVED


def test_other_reasons() -> None:
    assert refusal("c = 1", "inverted")[0] is Reason.UNKNOWN_COLUMN
    assert refusal("b = 1", "inverted", replace(PLAIN, dictionary_ratio=0.0))[0] is Reason.NO_DICTIONARY
    many = replace(PLAIN, is_single_value=False)
    assert refusal("b = 1", "sorted", many)[0] is Reason.MULTI_VALUE
    assert refusal("b = 1", "inverted", many)[0] is Reason.SAVES_NOTHING


def test_a_filter_that_prunes_is_named_only_where_nothing_answers() -> None:
    raw = replace(PLAIN, dictionary_ratio=0.0)
    assert refusal("b = 1", "inverted,bloom", raw)[0] is Reason.NO_DICTIONARY
    assert refusal("b = 1", "inverted,bloom")[0] is Reason.SAVES_NOTHING
    assert refusal("b = 1", "bloom", raw)[0] is Reason.SAVES_NOTHING
    assert refusal("b = 1", "bloom")[0] == "has_dictionary"
    assert refusal("b > 1", "bloom", raw)[0] is Reason.PREDICATE_NOT_SERVED


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
    assert raw_column_notes(shapes(SUM), overview, (), RowSource(ROWS.run_tasks)) == ()
