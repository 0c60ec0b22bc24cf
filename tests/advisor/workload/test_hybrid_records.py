"""Records of hybrid tables by half: counters of queries on both halves add up to what the broker counted."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.workload.hybrid_records import HybridRecords
from starskip.advisor.workload.leaf_records import TableSize
from starskip.pinot.hybrid_tables import hybrid_tables, with_halves
from starskip.storage.schemas import QUERIES

COUNTERS = ("rows_scanned", "entries_scanned_in_filter", "entries_scanned_post_filter", "segments_queried")
counts = st.none() | st.integers(0, 1 << 53)
records = st.fixed_dictionaries(
    {
        "table": st.sampled_from(["t", "u"]),
        "table_type": st.sampled_from(["OFFLINE", "REALTIME", None]),
        **dict.fromkeys(COUNTERS, counts),
    }
)
sizes = st.dictionaries(
    st.sampled_from(["t_OFFLINE", "t_REALTIME"]),
    st.integers(0, 1 << 40).map(lambda rows: TableSize(rows, frozenset("a"))),
)


def split(rows: list[dict[str, Any]], known: dict[str, TableSize]) -> list[dict[str, Any]]:
    batch = pa.RecordBatch.from_pylist(rows, QUERIES)
    return HybridRecords(frozenset({"t"}), known.get).of_halves(batch).to_pylist()


@given(st.lists(records, max_size=6), sizes)
def test_nothing_is_lost_and_nothing_twice(rows: list[dict[str, Any]], known: dict[str, TableSize]) -> None:
    found = split(rows, known)
    assert {row["table"] for row in found} <= {"u", "t_OFFLINE", "t_REALTIME"}
    of_both = [row for row in rows if row["table"] == "t" and row["table_type"] is None]
    assert len(found) == len(rows) + len(of_both)
    for name in COUNTERS:
        assert sum(row[name] or 0 for row in found) == sum(row[name] or 0 for row in rows)
        assert all((row[name] or 0) >= 0 for row in found)


def test_a_query_on_both_halves_is_shared_by_their_rows() -> None:
    known = {"t_OFFLINE": TableSize(300, frozenset()), "t_REALTIME": TableSize(100, frozenset())}
    row = {"table": "t", "entries_scanned_in_filter": 1_000, "latency_ms": 7}
    offline, realtime = split([row], known)
    assert (offline["table"], offline["entries_scanned_in_filter"], offline["latency_ms"]) == (
        "t_OFFLINE",
        750,
        7,
    )
    assert (realtime["table"], realtime["entries_scanned_in_filter"]) == ("t_REALTIME", 250)


def test_a_query_on_one_half_is_of_that_half() -> None:
    row = {"table": "t", "table_type": "REALTIME", "entries_scanned_in_filter": 1_000}
    (found,) = split([row], {})
    assert (found["table"], found["entries_scanned_in_filter"]) == ("t_REALTIME", 1_000)


def test_a_table_is_hybrid_if_both_halves_are_known() -> None:
    assert hybrid_tables({"t_OFFLINE", "t_REALTIME", "u_OFFLINE", "v"}) == {"t"}
    assert with_halves(["t", "v"], {"t"}) == ("t_OFFLINE", "t_REALTIME", "v")
