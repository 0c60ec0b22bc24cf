"""Records of multi-stage queries shared out among their tables."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.workload.count_shapes import QUERY_COLUMNS, count_shapes
from starskip.advisor.workload.leaf_records import LEAF, LeafRecords, TableSize, leaves_by_table
from starskip.storage.schemas import LOG_RECORDS

SIZES = {"t": TableSize(900, frozenset("kab")), "u": TableSize(100, frozenset("kcd"))}
JOIN = "SELECT 1 FROM t JOIN u ON t.k = u.k WHERE {}"
SUMS = ("rows_scanned", "entries_scanned_in_filter", "entries_scanned_post_filter", "segments_processed")


def record(table: str, text: str, **counters: Any) -> dict[str, Any]:
    return {
        "kind": "query",
        "table": table,
        "query_text": text,
        "latency_ms": 7,
        "rows_total": 1_000,
        "weight": 2.0,
        "exceptions": 0,
        "line_format": "1.4.0",
        "source_position": 3,
        **counters,
    }


def shared(*records: dict[str, Any]) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pylist(list(records), schema=LOG_RECORDS)
    return LeafRecords(SIZES.get).shared(batch).to_pylist()


def entries(text: str, **counters: Any) -> dict[str, int]:
    rows = shared(record("t, u", text, **{"entries_scanned_in_filter": 1_000, **counters}))
    return {row["table"]: row["entries_scanned_in_filter"] for row in rows}


def test_entries_go_to_filtered_scans_by_rows() -> None:
    assert entries(JOIN.format("t.a = 1 AND u.c = 2")) == {"t": 900, "u": 100}
    assert entries(JOIN.format("u.c = 2")) == {"t": 0, "u": 1_000}
    assert entries(JOIN.format("t.k > u.k")) == {"t": 900, "u": 100}, "nobody says what was filtered"
    assert entries("SELECT 1 FROM t WHERE k IN (SELECT k FROM u)") == {"t": 1_000, "u": 0}, "a dynamic filter"


def test_rows_of_scans_without_a_filter_are_theirs() -> None:
    rows = shared(record("t, u", JOIN.format("t.a = 1"), rows_scanned=130))
    assert {row["table"]: row["rows_scanned"] for row in rows} == {"t": 30, "u": 100}


def test_a_table_without_facts_has_the_rows_that_the_line_leaves_over() -> None:
    text = JOIN.replace("u", "w").format("t.a = 1 AND w.c = 2")
    rows = shared(record("t, w", text, entries_scanned_in_filter=1_200, rows_total=1_200))
    assert {row["table"]: row["entries_scanned_in_filter"] for row in rows} == {"t": 900, "w": 300}


def test_a_share_is_a_query_of_its_table_alone() -> None:
    t, u = shared(record("t, u", JOIN.format("t.a IN (1, 2) AND u.c = 'x'"), entries_scanned_in_filter=10))
    assert (t["line_format"], t["latency_ms"], t["weight"], t["source_position"]) == (LEAF, 7, 2.0, 3)
    assert t["query_text"] == "SELECT * FROM t WHERE a IN (1, 2) ORDER BY 1"
    assert u["query_text"] == "SELECT * FROM u WHERE c = 'x' ORDER BY 1"
    batch = pa.RecordBatch.from_pylist([t, u], schema=LOG_RECORDS)
    assert leaves_by_table(batch) == {"t": 1, "u": 1}
    shapes = pa.Table.from_batches(
        count_shapes([batch.select(QUERY_COLUMNS)], instances_per_shape=4)
    ).to_pylist()
    assert [(shape["table"], shape["shape_id"].startswith("unparsed")) for shape in shapes] == [
        ("t", False),
        ("u", False),
    ]


@pytest.mark.parametrize(
    "text", ["SELECT brok(", "REDACTED", "FINGERPRINT_FAILED_QUERY_REDACTED", "", "SELECT 1"]
)
def test_a_text_without_leaves_stays_and_counts_for_each_table(text: str) -> None:
    rows = shared(record("t, u", text, entries_scanned_in_filter=1_000))
    assert [(row["table"], row["entries_scanned_in_filter"]) for row in rows] == [("t", 900), ("u", 100)]
    assert {(row["query_text"], row["line_format"]) for row in rows} == {(text, "1.4.0")}


@pytest.mark.parametrize(
    ("table", "text"),
    [
        ("t", "SELECT a FROM t WHERE a = 1"),
        ("t", "SELECT a FROM t WHERE b = 'join with (select'"),
        ("t", "SELECT JSON_MATCH(a, 'x') FROM t WHERE a = 1 AND \"with\" = 2"),
        ("t", "SELECT a FROM t JOIN"),
        ("t", "SELECT a FROM x JOIN y ON x.a = y.a"),
    ],
)
def test_other_records_stay_as_they_are(table: str, text: str) -> None:
    asked = record(table, text, entries_scanned_in_filter=5)
    (row,) = shared(asked)
    assert {name: row[name] for name in asked} == asked


def test_names_with_a_database() -> None:
    rows = shared(record("db.t, db.u", JOIN.format("t.a = 1"), entries_scanned_in_filter=9, rows_total=50))
    assert [row["table"] for row in rows] == ["db.t", "db.u"]
    rows = shared(record("t, u", "SELECT 1 FROM db.t JOIN db.u ON t.k = u.k WHERE t.a = 1"))
    assert [row["table"] for row in rows] == ["t", "u"]


counts = st.integers(0, 1 << 53)


@given(
    sums=st.fixed_dictionaries(dict.fromkeys(SUMS, counts)),
    rows_total=counts,
    text=st.sampled_from(
        [
            JOIN.format("t.a = 1 AND u.c = 2"),
            JOIN.format("u.c = 2"),
            JOIN.replace("u", "w").format("t.a = 1"),
            "SELECT 1 FROM v, w, t WHERE v.a = 1 AND w.b = 2",
            "REDACTED",
        ]
    ),
)
def test_nothing_is_lost_or_told_twice(sums: dict[str, int], rows_total: int, text: str) -> None:
    rows = shared(record("t, u, v, w", text, rows_total=rows_total, **sums))
    for name, total in sums.items():
        parts = [row[name] for row in rows]
        assert sum(parts) == total
        assert min(parts) >= 0


def test_a_text_may_name_a_half_of_a_table() -> None:
    text = "SELECT 1 FROM t_OFFLINE JOIN u ON t_OFFLINE.k = u.k WHERE t_OFFLINE.a = 1"
    rows = shared(record("t, u", text, entries_scanned_in_filter=1_000))
    found = {row["table"]: (row["table_type"], row["entries_scanned_in_filter"]) for row in rows}
    assert found == {"t": ("OFFLINE", 1_000), "u": (None, 0)}
