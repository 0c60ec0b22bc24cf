"""Counting shapes: the same workload whatever the order of the log and however it is cut."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.workload.count_shapes import count_shapes, merge_shapes
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.storage.schemas import WORKLOAD

pytestmark = pytest.mark.slow

Record = dict[str, Any]
TRUTH = Path(__file__).parents[2] / "data" / "truth"

FEW_INSTANCES = 3
"""Few, so that the sample of literals has to choose."""

SPELLINGS = [
    "select count(*) from lineitem where l_suppkey = {}",
    "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = {}",
    "SET timeoutMs = 5; select  count(*) from lineitem where l_suppkey={}",
    "select count(*) from lineitem where l_suppkey = {} option(timeoutMs=9000)",
    "select count(*) from lineitem where l_suppkey in ({}, 5)",
    "select count(*) from lineitem where l_suppkey in (1, {}, -3) -- a list",
    "select l_tax from lineitem where l_shipmode = 'it''s {}' limit 3",
    "drop table lineitem {}",
    "select '",
]


def sample_records(record: Callable[..., Record]) -> list[Record]:
    """Real queries of both sample tables, and spellings that meet in one shape or in none."""
    found = []
    for table in ("lineitem", "airlineStats"):
        for number, query in enumerate(json.loads((TRUTH / f"{table}.json").read_text())["queries"]):
            counters = {"entries_scanned_in_filter": query["entries"], "exceptions": int(number % 11 == 0)}
            found.append(record(query["sql"], table=table, latency_ms=number % 7, **counters))
    for number in range(60):
        text = SPELLINGS[number % len(SPELLINGS)].format(number)
        found.append(record(text, entries_scanned_in_filter=number * 1000, exceptions=int(number % 13 == 0)))
    return found


@pytest.fixture(scope="session")
def records(record: Callable[..., Record]) -> list[Record]:
    return sample_records(record)


def counted(batches: list[pa.RecordBatch], instances: int = FEW_INSTANCES) -> pa.Table:
    return pa.Table.from_batches(count_shapes(batches, instances_per_shape=instances), schema=WORKLOAD)


def merged(tables: list[pa.Table], instances: int = FEW_INSTANCES) -> pa.Table:
    batches = [batch for table in tables for batch in table.to_batches()]
    return pa.Table.from_batches(merge_shapes(batches, instances_per_shape=instances), schema=WORKLOAD)


def shapes_of(table: pa.Table) -> list[ShapeWorkload]:
    return list(workload_shapes(table))


@settings(max_examples=40)
@given(data=st.data())
def test_order_and_cuts_of_the_log_change_nothing(
    records: list[Record], batch: Callable[[list[Record]], pa.RecordBatch], data: st.DataObject
) -> None:
    expected = counted([batch(records)])
    shuffled = data.draw(st.permutations(records))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), max_size=6)))
    parts = [shuffled[a:b] for a, b in zip([0, *cuts], [*cuts, len(records)], strict=True)]
    assert counted([batch(part) for part in parts]).equals(expected), "batches of one task"
    assert merged([counted([batch(part)]) for part in parts]).equals(expected), "tasks merged"


@settings(max_examples=40)
@given(data=st.data())
def test_merge_is_associative(
    records: list[Record], batch: Callable[[list[Record]], pa.RecordBatch], data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(records)), min_size=2, max_size=2)))
    a, b, c = (counted([batch(records[i:j])]) for i, j in [(0, cuts[0]), (cuts[0], cuts[1]), (cuts[1], None)])
    assert merged([merged([a, b]), c]).equals(merged([a, merged([b, c])]))
    assert merged([a]).equals(a)


def test_sums_over_all_shapes_are_the_sums_of_the_log(
    records: list[Record], batch: Callable[[list[Record]], pa.RecordBatch]
) -> None:
    shapes = shapes_of(counted([batch(records)]))
    failed = [r for r in records if r["exceptions"]]
    assert sum(s.queries for s in shapes) == len(records)
    assert sum(s.failed for s in shapes) == len(failed)
    for name in ("entries_scanned_in_filter", "entries_scanned_post_filter"):
        assert sum(getattr(s, name) for s in shapes) == sum(r[name] for r in records)
    assert sum(s.latency_ms_sum for s in shapes) == sum(r["latency_ms"] for r in records)
    assert sum(s.failed_entries_scanned_in_filter for s in shapes) == sum(
        r["entries_scanned_in_filter"] for r in failed
    )
    squares = sum(r["entries_scanned_in_filter"] ** 2 for r in records)
    assert sum(s.entries_scanned_in_filter_squared for s in shapes) == pytest.approx(squares)


def test_spellings_of_one_query_share_a_shape_and_their_literals_fit_its_slots(
    record: Callable[..., Record], batch: Callable[[list[Record]], pa.RecordBatch]
) -> None:
    texts = [spelling.format(17) for spelling in SPELLINGS[:4]]
    (shape,) = shapes_of(counted([batch([record(text) for text in texts])]))
    # A slot that the SET had shifted would look for the timeout among the suppliers.
    assert shape.instances.keys() == {(("17",),)}
    assert shape.instances[("17",),].queries == 4
    assert "timeout" not in shape.skeleton


def test_sample_is_of_the_smallest_hashes_and_its_counts_are_whole(
    record: Callable[..., Record], batch: Callable[[list[Record]], pa.RecordBatch]
) -> None:
    text = "select count(*) from lineitem where l_suppkey = {}"
    records = [record(text.format(number % 40)) for number in range(400)]
    (full,) = shapes_of(counted([batch(records)], instances=1000))
    (sampled,) = shapes_of(counted([batch(records)], instances=5))
    assert len(full.instances) == 40
    assert len(sampled.instances) == 5
    for literals, instance in sampled.instances.items():
        assert instance == full.instances[literals]
        assert instance.queries == 10


def test_failed_queries_count_but_lend_no_literals(
    record: Callable[..., Record], batch: Callable[[list[Record]], pa.RecordBatch]
) -> None:
    text = "select count(*) from lineitem where l_suppkey = 1"
    (shape,) = shapes_of(counted([batch([record(text, exceptions=1), record(text)])]))
    assert (shape.queries, shape.failed) == (2, 1)
    assert shape.entries_scanned_in_filter == 200
    assert shape.failed_entries_scanned_in_filter == 100
    assert [i.queries for i in shape.instances.values()] == [1]


@pytest.mark.parametrize(
    ("text", "shape_id"),
    [
        ("drop table t", "unparsed:not_a_select"),
        ("select from where", "unparsed:syntax"),
        ("select a from t join u on t.a = u.a", "unparsed:several_tables"),
        ("select a from t where " + "(" * 100 + "a = 1" + ")" * 100, "unparsed:too_deep"),
        ("select " + "a" * 1_000_000, "unparsed:too_long"),
        ("", "unparsed:not_a_select"),
        (None, "unparsed:not_a_select"),
    ],
)
def test_text_without_a_shape_is_counted_under_its_reason(
    record: Callable[..., Record],
    batch: Callable[[list[Record]], pa.RecordBatch],
    text: str | None,
    shape_id: str,
) -> None:
    (shape,) = shapes_of(counted([batch([record(text), record(text, exceptions=1)])]))
    assert shape.shape_id == shape_id
    assert not shape.is_parsed
    assert (shape.queries, shape.failed, shape.instances) == (2, 1, {})
    assert len(shape.skeleton) < 100, "nothing of the text is kept"


def test_missing_counters_count_as_nothing(
    record: Callable[..., Record], batch: Callable[[list[Record]], pa.RecordBatch]
) -> None:
    empty = dict.fromkeys(
        (
            "latency_ms",
            "rows_scanned",
            "segments_queried",
            "segments_processed",
            "segments_matched",
            "entries_scanned_in_filter",
            "entries_scanned_post_filter",
            "exceptions",
        )
    )
    (shape,) = shapes_of(counted([batch([record("select a from t where b = 1", **empty)])]))
    assert (shape.queries, shape.entries_scanned_in_filter, shape.latency_ms_sum) == (1, 0, 0)


def test_a_literal_list_that_outgrows_all_other_shapes_stays_out_of_the_sample(
    record: Callable[..., Record], batch: Callable[[list[Record]], pa.RecordBatch]
) -> None:
    values = ", ".join(f"'{'x' * 1000}{number}'" for number in range(200))
    text = f"select count(*) from lineitem where l_comment in ({values})"
    (shape,) = shapes_of(counted([batch([record(text)])]))
    assert (shape.queries, shape.instances) == (1, {})


def test_an_empty_log_gives_no_rows() -> None:
    assert len(counted([])) == 0
    assert len(merged([])) == 0


def test_weights_add_what_was_not_logged_and_leave_counts_of_records(
    record: Callable[..., Record], batch: Callable[[list[Record]], pa.RecordBatch]
) -> None:
    text = "select count(*) from lineitem where l_suppkey = 7"
    records = [
        record(text, entries_scanned_in_filter=100, latency_ms=10, weight=4.0),
        record(text, entries_scanned_in_filter=300, latency_ms=20, weight=1.5),
        record(text, entries_scanned_in_filter=50, latency_ms=2000),
        record(text, entries_scanned_in_filter=70, exceptions=1),
    ]
    (shape,) = shapes_of(counted([batch(records)]))
    assert (shape.queries, shape.failed, shape.entries_scanned_in_filter) == (4, 1, 520)
    assert (shape.unlogged_queries, shape.unlogged_entries_scanned_in_filter) == (3.5, 450.0)
    assert (shape.estimated_queries, shape.estimated_entries) == (7.5, 970.0)
    assert shape.estimated_entries_squared == 16 * 100**2 + 1.5**2 * 300**2 + 50**2 + 70**2
    assert shape.latency_ms_mean == pytest.approx((4 * 10 + 1.5 * 20 + 2000 + 3) / 7.5)
    (instance,) = shape.instances.values()
    assert (instance.queries, instance.entries_scanned_in_filter) == (3, 450)
    assert (instance.estimated_queries, instance.estimated_entries) == (6.5, 900.0)


@settings(max_examples=25)
@given(weights=st.lists(st.floats(1, 50), min_size=12, max_size=12), cut=st.integers(0, 12))
def test_weighted_sums_merge(
    record: Callable[..., Record],
    batch: Callable[[list[Record]], pa.RecordBatch],
    weights: list[float],
    cut: int,
) -> None:
    text = "select count(*) from t where a = {}"
    records = [
        record(text.format(n % 4), weight=w, entries_scanned_in_filter=n) for n, w in enumerate(weights)
    ]
    (whole,) = shapes_of(counted([batch(records)]))
    (parts,) = shapes_of(merged([counted([batch(records[:cut])]), counted([batch(records[cut:])])]))
    assert parts.queries == whole.queries == 12
    assert parts.estimated_queries == pytest.approx(whole.estimated_queries) == pytest.approx(sum(weights))
    assert parts.estimated_entries == pytest.approx(whole.estimated_entries)
    assert parts.estimated_entries_squared == pytest.approx(whole.estimated_entries_squared)


@pytest.mark.parametrize(
    ("line_format", "is_literal"),
    [
        *[(form, True) for form in ("2016-12", "2018-09", "0.1.0", "0.8.0-pql", "0.5.0", "json-event")],
        *[(form, False) for form in ("0.8.0-sql", "0.11.0", "1.5.0", None)],
    ],
)
def test_double_quotes_hold_a_literal_where_the_line_can_be_pql(
    record: Callable[..., Record],
    batch: Callable[[list[Record]], pa.RecordBatch],
    line_format: str | None,
    is_literal: bool,
) -> None:
    records = [record('select count(*) from t where a = "secret"', line_format=line_format)]
    (shape,) = shapes_of(counted([batch(records)]))
    assert ("secret" not in shape.text) is is_literal
    assert (list(shape.instances) == [(("'secret",),)]) is is_literal


def test_a_column_in_double_quotes_stays_one_where_only_the_text_can_tell(
    record: Callable[..., Record], batch: Callable[[list[Record]], pa.RecordBatch]
) -> None:
    records = [record("select count(*) from t where \"a\" = 'secret'", line_format="0.5.0")]
    (shape,) = shapes_of(counted([batch(records)]))
    assert shape.text == 'SELECT COUNT(*) FROM t WHERE "a" = ?'


def test_segments_of_queries_are_summed_over_all_records(
    record: Callable[..., Record], batch: Callable[[list[Record]], pa.RecordBatch]
) -> None:
    text = "select count(*) from lineitem where l_tax = 1"
    parts = [counted([batch([record(text), record(text, exceptions=1, segments_queried=None)])])]
    parts.append(
        counted([batch([record(text, segments_queried=9, segments_processed=0, segments_matched=0)])])
    )
    (shape,) = shapes_of(merged(parts))
    assert (shape.segments_queried, shape.segments_processed, shape.segments_matched) == (14, 8, 4)
