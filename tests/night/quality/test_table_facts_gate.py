"""Each expectation of the gate behind collect_segment_metadata stops its fault, and it alone does."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.quality
STAGE = "collect_segment_metadata"


def _of_first_segment(rows):
    return [row for row in rows if row["segment"] == rows[0]["segment"]]


def no_segment(lab):
    lab.publish("table_facts", [])


def no_rows(lab):
    lab.spoil("table_facts", lambda rows: [row.update(rows=0, entries=0, cardinality=0) for row in rows])


def damaged_segments(lab):
    bad = {"table": "lineitem", "source_file": "a.tar.gz", "reason": "truncated", "detail": ""}
    lab.publish("damaged_segments", [bad, bad])


def segment_twice(lab):
    lab.spoil("table_facts", lambda rows: rows.extend(_of_first_segment(rows)))


def row_of_another_table(lab):
    lab.spoil("table_facts", lambda rows: rows[0].update(table="orders"))


def column_without_name(lab):
    lab.spoil("table_facts", lambda rows: [r.update(column=" ") for r in rows if r["column"] == "l_tax"])


def rows_of_one_column_differ(lab):
    lab.spoil(
        "table_facts", lambda rows: rows[0].update(rows=rows[0]["rows"] - 1, entries=rows[0]["entries"] - 1)
    )


def multi_value_segment(rows_of_segment, **values):
    return lambda rows: [
        row.update(rows=rows_of_segment, is_single_value=False, cardinality=None, **values)
        for row in _of_first_segment(rows)
    ]


def negative_rows(lab):
    lab.spoil("table_facts", multi_value_segment(-5, entries=0, max_values_per_row=0))


def too_many_rows(lab):
    lab.spoil("table_facts", multi_value_segment(2**31, entries=10, max_values_per_row=1))


def multi_value(**values):
    return lambda rows: rows[0].update(is_single_value=False, cardinality=None, **values)


def negative_entries(lab):
    lab.spoil("table_facts", multi_value(entries=-1))


def too_many_entries(lab):
    lab.spoil("table_facts", multi_value(entries=2**31, max_values_per_row=2**31))


def single_value_entries_differ(lab):
    lab.spoil("table_facts", lambda rows: rows[0].update(entries=rows[0]["entries"] + 1))


def multi_value_entries_too_many(lab):
    lab.spoil(
        "table_facts", lambda rows: multi_value(entries=rows[0]["rows"] * 2, max_values_per_row=1)(rows)
    )


def negative_cardinality(lab):
    lab.spoil("table_facts", lambda rows: rows[0].update(cardinality=-1))


def more_values_than_entries(lab):
    lab.spoil("table_facts", lambda rows: rows[0].update(cardinality=rows[0]["entries"] + 1))


def negative_index_size(lab):
    lab.spoil("table_facts", lambda rows: rows[0].update(index_bytes=[("inverted_index", -1)]))


def type_missing(lab):
    lab.spoil("table_facts", lambda rows: rows[0].update(data_type=None))


CASES = {
    "readable segments of {table}": no_segment,
    "rows of {table}: all segments together": no_rows,
    "damaged segments of {table}: share": damaged_segments,
    "segments of {table}: columns given twice of one segment": segment_twice,
    "facts of {table}: rows of other tables": row_of_another_table,
    "columns of {table}: whether named": column_without_name,
    "rows of {table}: columns that differ from the others": rows_of_one_column_differ,
    "rows of {table}: minimum in each segment": negative_rows,
    "rows of {table}: maximum in each segment": too_many_rows,
    "entries of columns of {table}: minimum in each segment": negative_entries,
    "entries of columns of {table}: maximum in each segment": too_many_entries,
    "single-value columns of {table}: segments with entries unequal to rows": single_value_entries_differ,
    "multi-value columns of {table}: segments with more entries than rows hold": multi_value_entries_too_many,
    "cardinality of columns of {table}: minimum in each segment": negative_cardinality,
    "cardinality of columns of {table}: segments with more values than entries": more_values_than_entries,
    "inverted indexes of {table}: bytes, minimum": negative_index_size,
    "facts of {table}: fields with missing values": type_missing,
}


@pytest.mark.parametrize("check", CASES, ids=lambda check: CASES[check].__name__)
def test_spoilt_facts_are_stopped_by_one_expectation(lab, check):
    CASES[check](lab)
    lab.assert_stopped(STAGE, check)


def test_every_expectation_has_a_case(assert_all_covered):
    assert_all_covered(STAGE, CASES)


def test_all_segments_damaged_so_that_the_table_has_no_facts(lab):
    lab.tables = None
    store, night = lab.night.store, lab.night
    facts = dict(store.snapshot("table_facts", night.date_text).parts())
    del facts["lineitem"]
    night.publish("table_facts", facts)
    damaged_segments(lab)
    assert lab.failed(STAGE) == ["readable segments of {table}", "damaged segments of {table}: share"]


def test_a_column_that_some_segments_lack_is_only_told(lab):
    first = lab.rows("table_facts")[0]
    lab.spoil("table_facts", lambda rows: rows.remove(first))
    assert lab.failed(STAGE) == []
