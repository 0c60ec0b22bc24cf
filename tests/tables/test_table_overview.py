from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.families.families import segment_indexes
from starskip.storage.schemas import TABLE_FACTS
from starskip.tables.table_overview import column_sums, merge_column_sums, table_overviews


def fact(table: str, segment: str, column: str, rows: int = 100, **changed: Any) -> dict[str, Any]:
    plain = {
        "version": "v3",
        "data_type": "STRING",
        "column_type": "DIMENSION",
        "cardinality": 10,
        "entries": rows,
        "is_sorted": False,
        "has_dictionary": True,
        "is_single_value": True,
        "max_values_per_row": 0,
        "index_bytes": {"dictionary": 8, "forward_index": 20},
    }
    return {**plain, "table": table, "segment": segment, "column": column, "rows": rows, **changed}


def batch(facts: list[dict[str, Any]]) -> pa.RecordBatch:
    rows = [{**each, "index_bytes": list(each["index_bytes"].items())} for each in facts]
    return pa.RecordBatch.from_pylist(rows, schema=TABLE_FACTS)


FACTS = [
    fact("t", "0", "a", rows=100, cardinality=10, is_sorted=True),
    fact("t", "1", "a", rows=300, cardinality=50, index_bytes={"inverted_index": 7, "dictionary": 1}),
    fact("t", "0", "many", rows=100, entries=250, is_single_value=False),
    fact("t", "1", "many", rows=300, entries=750, is_single_value=False),
    fact("t", "0", "raw", rows=100, cardinality=None, has_dictionary=False, index_bytes={}),
    fact("t", "1", "raw", rows=300, cardinality=8, has_dictionary=False, index_bytes={}),
    fact("t", "1", "late", rows=300, cardinality=2),
    fact("u", "0", "a", rows=5),
]


def test_overview_of_two_tables() -> None:
    found = table_overviews(column_sums([batch(FACTS)]), segment_indexes())
    assert sorted(found) == ["t", "u"]
    table = found["t"]
    assert (table.segments, table.rows) == (2, 400)
    a = table.columns["a"]
    assert a.cardinality == pytest.approx((10 * 100 + 50 * 300) / 400)
    assert (a.sorted_ratio, a.dictionary_ratio, a.is_single_value, a.entries_per_row) == (0.5, 1.0, True, 1.0)
    assert a.index_bytes == {"dictionary": 9, "forward_index": 20, "inverted_index": 7}
    assert (table.columns["many"].entries_per_row, table.columns["many"].is_single_value) == (2.5, False)
    assert table.columns["raw"].dictionary_ratio == 0.0
    assert table.columns["raw"].cardinality == 8, "of the segments that know it"
    assert table.indexed("inverted") == {"a"}
    assert found["u"].indexed("inverted") == frozenset()


def test_the_current_config_says_which_indexes_are_in_force() -> None:
    found = table_overviews(
        column_sums([batch(FACTS)]), segment_indexes(), {"t": {"inverted": ["many"], "range": ["a"]}, "u": {}}
    )
    assert found["t"].indexed("inverted") == {"many"}
    assert found["t"].indexed("range") == {"a"}
    assert found["u"].indexed("inverted") == frozenset()


@given(order=st.permutations(FACTS), cuts=st.lists(st.integers(0, len(FACTS)), max_size=4))
def test_order_and_cuts_change_nothing(order: list[dict[str, Any]], cuts: list[int]) -> None:
    expected = column_sums([batch(FACTS)])
    ends = sorted(cuts)
    parts = [order[i:j] for i, j in zip([0, *ends], [*ends, len(order)], strict=True)]
    assert column_sums([batch(part) for part in parts]).equals(expected)
    assert merge_column_sums([column_sums([batch(part)]) for part in parts]).equals(expected)


def test_a_slice_of_a_batch_keeps_its_own_indexes() -> None:
    whole = batch(FACTS)
    assert column_sums([whole.slice(1, 1)]).equals(column_sums([batch(FACTS[1:2])]))


def test_no_segments() -> None:
    assert table_overviews(column_sums([]), segment_indexes()) == {}
    assert table_overviews(merge_column_sums([]), segment_indexes()) == {}
