"""Notes on JSON_MATCH and TEXT_MATCH without an index, and on filters that extract from JSON."""

from __future__ import annotations

from dataclasses import replace

from starskip.advisor.selection.own_index_notes import own_index_notes
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.tables.table_overview import ColumnOverview, TableOverview

MATCH = "SELECT COUNT(*) FROM t WHERE JSON_MATCH(js, '\"$.a\"=''x''')"


def shape(sql: str, queries: int = 10, failed: int = 0, entries: int = 0) -> ShapeWorkload:
    skeleton = normalize_sql(sql).skeleton
    return ShapeWorkload("t", sql, sql, skeleton, queries, failed, entries_scanned_in_filter=entries)


def test_queries_that_fail_without_their_index_are_told_with_its_key() -> None:
    notes = own_index_notes(
        [
            shape(MATCH, 7, 7),
            shape("SELECT COUNT(*) FROM t WHERE a = 1 AND jsonMatch(\"js\", 'x')", 3, 3),
            shape("SELECT COUNT(*) FROM t WHERE TEXT_MATCH(body, 'x')", 2, 2),
        ]
    )
    assert notes == (
        "all 10 queries with JSON_MATCH on js failed: Pinot answers it with a JSON index alone"
        " (tableIndexConfig.jsonIndexColumns)",
        "all 2 queries with TEXT_MATCH on body failed: Pinot answers it with a text index alone"
        " (fieldConfigList, indexTypes TEXT)",
    )


def test_an_index_that_answers_some_query_is_there() -> None:
    assert own_index_notes([shape(MATCH, 7, 7), shape(f"{MATCH} AND a = 1", 5, 4)]) == ()


def test_values_that_a_filter_extracts_are_told_with_their_share_of_the_entries() -> None:
    extracting = "SELECT COUNT(*) FROM t WHERE JSON_EXTRACT_SCALAR(js, '$.a', 'STRING') = 'x'"
    other = shape("SELECT JSON_EXTRACT_SCALAR(js, '$.a', 'STRING') FROM t WHERE b = 1", entries=3_000)
    (note,) = own_index_notes([shape(extracting, entries=1_000), other])
    assert note == (
        "queries with 25.0 % of the entries in filters extract values of js row by row:"
        " JSON_MATCH on a JSON index needs no scan"
    )
    assert own_index_notes([shape(extracting, entries=10), other]) == (), "less than one percent"
    assert own_index_notes([other]) == own_index_notes([]) == ()


def truncating(sql: str, unit: str = "'DAY") -> ShapeWorkload:
    return replace(shape(sql, entries=1_000), instances={((unit,), ("5",)): Instance(1, 1_000)})


COLUMNS = {"ts": ColumnOverview("ts", data_type="TIMESTAMP"), "n": ColumnOverview("n", data_type="LONG")}
RANGE = "SELECT COUNT(*) FROM t WHERE DATETRUNC('DAY', ts) > 5"


def test_ranges_of_a_truncated_timestamp_ask_for_its_index() -> None:
    (note,) = own_index_notes([truncating(RANGE)], TableOverview("t", 1, 1, COLUMNS))
    assert note == (
        "queries with 100.0 % of the entries in filters ask ranges of DATETRUNC('DAY', ts): a timestamp index"
        " of that granularity (fieldConfigList, timestampConfig) answers them without a scan, but DATETRUNC"
        " then yields timestamps, not numbers"
    )


def test_truncated_columns_that_no_timestamp_index_answers() -> None:
    table = TableOverview("t", 1, 1, COLUMNS)
    assert own_index_notes([truncating(RANGE)], None) == ()
    assert own_index_notes([truncating(RANGE, "'FORTNIGHT")], table) == ()
    assert own_index_notes([truncating(RANGE.replace("ts", "n"))], table) == ()
    assert own_index_notes([truncating(RANGE.replace("> 5", "= 5"))], table) == ()
    indexed = {**COLUMNS, "$ts$DAY": ColumnOverview("$ts$DAY", data_type="TIMESTAMP")}
    assert own_index_notes([truncating(RANGE)], TableOverview("t", 1, 1, indexed)) == ()
