from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.latency.pooled_bins import merge_bins, pool_latencies
from starskip.storage.schemas import LATENCY_BINS

Queries = Callable[..., pa.RecordBatch]

# Few distinct values, so that bins are shared and latencies tie.
points = st.lists(
    st.tuples(
        st.sampled_from([0, 10, 99, 100, 150, 1_000, 1_010, 10**9]),
        st.sampled_from([0, 50, 500]),
        st.integers(0, 4),
        st.sampled_from("tu"),
    ),
    max_size=40,
)


def batch_of(queries: Queries, found: list[tuple[int, int, int, str]]) -> pa.RecordBatch:
    columns: list[Any] = [list(column) for column in zip(*found, strict=True)] or [[], [], [], []]
    return queries(columns[0], columns[1], columns[2], table=columns[3])


@given(found=points, data=st.data())
def test_order_and_cuts_change_nothing(
    queries: Queries, found: list[tuple[int, int, int, str]], data: st.DataObject
) -> None:
    expected = pool_latencies([batch_of(queries, found)])
    shuffled = data.draw(st.permutations(found))
    cut = data.draw(st.integers(0, len(found)))
    parts = [batch_of(queries, shuffled[:cut]), batch_of(queries, shuffled[cut:])]
    assert pool_latencies(parts).equals(expected)
    assert merge_bins([pool_latencies([part]) for part in parts]).equals(expected)


@given(found=points, data=st.data())
def test_merge_is_associative(
    queries: Queries, found: list[tuple[int, int, int, str]], data: st.DataObject
) -> None:
    first, second = sorted(data.draw(st.tuples(st.integers(0, len(found)), st.integers(0, len(found)))))
    slices = (found[:first], found[first:second], found[second:])
    a, b, c = (pool_latencies([batch_of(queries, part)]) for part in slices)
    assert merge_bins([merge_bins([a, b]), c]).equals(merge_bins([a, merge_bins([b, c])]))


@given(found=points)
def test_every_query_is_counted_and_the_least_latency_of_all_is_kept(
    queries: Queries, found: list[tuple[int, int, int, str]]
) -> None:
    bins = pool_latencies([batch_of(queries, found)]).to_pylist()
    assert sum(row["queries"] for row in bins) == len(found)
    seen = {(table, float(i), float(p), float(ms)) for i, p, ms, table in found}
    for row in bins:
        kept = (
            row["table"],
            row["entries_scanned_in_filter"],
            row["entries_scanned_post_filter"],
            row["latency_ms"],
        )
        assert kept in seen, "a bin keeps one real query, not a mixture"
    if found:
        assert min(row["latency_ms"] for row in bins) == min(ms for _, _, ms, _ in found)


def test_one_bin_keeps_its_quickest_query_with_that_query_s_entries(queries: Queries) -> None:
    batch = queries([10_000, 10_010, 10_020], [0, 0, 0], [9, 5, 7])
    (row,) = pool_latencies([batch]).to_pylist()
    assert (row["latency_ms"], row["entries_scanned_in_filter"], row["queries"]) == (5.0, 10_010.0, 3)


def test_bins_grow_with_the_entries(queries: Queries) -> None:
    apart = queries([100, 200, 10_000_000, 10_000_100], [0] * 4, [1] * 4)
    assert pool_latencies([apart])["queries"].to_pylist() == [1, 1, 2]


def test_failed_queries_and_missing_counters_stay_out(queries: Queries) -> None:
    batch = queries([100, 100, None, 100], [0, None, 0, 0], [1, 1, 1, None], exceptions=[1, 0, 0, 0])
    assert pool_latencies([batch]).equals(LATENCY_BINS.empty_table())


def test_exceptions_that_the_log_does_not_carry_count_as_none(queries: Queries) -> None:
    assert len(pool_latencies([queries([100], [0], [1], exceptions=[None])])) == 1


def test_no_batches() -> None:
    assert pool_latencies([]).equals(LATENCY_BINS.empty_table())
    assert merge_bins([]).equals(LATENCY_BINS.empty_table())
