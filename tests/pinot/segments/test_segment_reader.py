"""Facts and windows of segments that a real Pinot 0.11.0 built, against the rows they were built from."""

from __future__ import annotations

import decimal
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as cases
from hypothesis import strategies as st
from starskip.pinot.segments.decompressed_stream import TarLimits
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_layout import read_segment_layout
from starskip.pinot.segments.segment_reader import (
    RUN_ROWS,
    read_row_window,
    read_segment_facts,
    segment_facts,
    spread_runs,
)
from starskip.pinot.segments.window_reader import read_window
from starskip.tables.row_window import ColumnWindow, RowWindow
from starskip.tables.segment_facts import ColumnFacts

Rows = Callable[[str], list[dict[str, Any]]]
Files = dict[str, SegmentFile]

TINY = [
    "tiny_allraw",
    "tiny_fmt1",
    "tiny_indexed",
    "tiny_indexed_fmt1",
    "tiny_lz4",
    "tiny_pass",
    "tiny_raw_w3",
    "tiny_raw_w4",
    "tiny_snappy",
    "tiny_startree",
    "tiny_text",
    "tiny_varlen",
    "tiny_zstd",
]


def decoded(window: ColumnWindow) -> list[Any]:
    values = window.values if window.dictionary is None else window.dictionary
    assert values is not None
    flat = values.take(pa.array(window.codes)).to_pylist()
    if window.offsets is None:
        return flat
    bounds = window.offsets.tolist()
    return [flat[a:b] for a, b in pairwise(bounds)]


def expected(rows: list[dict[str, Any]], column: str) -> list[Any]:
    values = [row[column] for row in rows]
    if column == "y_bytes":
        return [bytes.fromhex(value) for value in values]
    if column == "bd_dec":
        return [decimal.Decimal(value) for value in values]
    if column == "f_float":
        return [float(np.float32(value)) for value in values]
    if column == "t_ts":
        return pa.array(values, pa.int64()).cast(pa.timestamp("ms")).to_pylist()
    return values


def column_of(files: Files, segment: str, name: str) -> ColumnFacts:
    facts = read_segment_facts(files[segment])
    return next(column for column in facts.columns if column.name == name)


@pytest.mark.parametrize("segment", TINY)
def test_every_column_of_a_whole_segment_equals_its_source(
    segment: str, segment_files: Files, source_rows: Rows
) -> None:
    rows = source_rows("tiny")
    window = read_row_window(segment_files[segment], rows[0], max_rows=10_000)
    assert window.unreadable == {}
    assert (window.segment, window.segment_rows, window.rows) == (segment, 500, 500)
    for column in rows[0]:
        assert decoded(window.columns[column]) == expected(rows, column), column


def window_of(
    file: SegmentFile, columns: Iterable[str], first_row: int, rows: int, max_column_bytes: int = 1 << 20
) -> RowWindow:
    layout = read_segment_layout(file, TarLimits(), whole=False)
    some = range(layout.metadata.rows)[first_row : first_row + rows]
    return read_window(file, layout, tuple(columns), [some], max_column_bytes, TarLimits())


@pytest.mark.parametrize("segment", TINY)
@pytest.mark.parametrize(
    ("first_row", "max_rows"), [(0, 1), (1, 8), (63, 130), (333, 100), (499, 9), (500, 3)]
)
def test_a_window_equals_the_same_rows_of_its_source(
    segment: str, first_row: int, max_rows: int, segment_files: Files, source_rows: Rows
) -> None:
    rows = source_rows("tiny")
    window = window_of(segment_files[segment], rows[0], first_row, max_rows)
    part = rows[first_row : first_row + max_rows]
    assert window.unreadable == {}
    assert window.rows == len(part)
    for column in rows[0]:
        assert decoded(window.columns[column]) == expected(part, column), column


@pytest.mark.parametrize(("place", "first_row"), [(0.0, 0), (0.25, 122), (1.0, 488)])
def test_a_part_of_a_segment_lies_where_it_was_asked_for(
    place: float, first_row: int, segment_files: Files, source_rows: Rows
) -> None:
    rows = source_rows("tiny")[first_row : first_row + 12]
    window = read_row_window(segment_files[TINY[0]], ["i_int", "mv_str"], max_rows=12, place=place)
    assert decoded(window.columns["i_int"]) == expected(rows, "i_int")
    assert decoded(window.columns["mv_str"]) == expected(rows, "mv_str")


@cases(max_examples=40, deadline=None)
@given(
    segment=st.sampled_from(TINY), ends=st.lists(st.integers(0, 500), min_size=2, max_size=12, unique=True)
)
def test_runs_of_rows_equal_the_same_rows_of_their_source(
    segment: str, ends: list[int], segment_files: Files, source_rows: Rows
) -> None:
    file, rows = segment_files[segment], source_rows("tiny")
    bounds = sorted(ends)
    runs = [range(*each) for each in zip(bounds[::2], bounds[1::2], strict=False)]
    layout = read_segment_layout(file, TarLimits(), whole=False)
    window = read_window(file, layout, tuple(rows[0]), runs, 1 << 20, TarLimits())
    part = [rows[place] for run in runs for place in run]
    assert (window.unreadable, window.rows) == ({}, len(part))
    for column in rows[0]:
        assert decoded(window.columns[column]) == expected(part, column), column


def test_null_rows_of_several_runs(segment_files: Files, source_rows: Rows) -> None:
    file, rows = segment_files["tiny_nulls"], source_rows("tiny_nulls")
    layout = read_segment_layout(file, TarLimits(), whole=False)
    runs = [range(3, 40), range(40, 41), range(300, 500)]
    column = read_window(file, layout, ["i_int"], runs, 1 << 20, TarLimits()).columns["i_int"]
    assert column.nulls is not None
    assert column.nulls.tolist() == [rows[place].get("i_int") is None for run in runs for place in run]


@given(segment_rows=st.integers(0, 50_000_000), max_rows=st.integers(1, 1 << 21), place=st.floats(0, 1))
def test_runs_are_spread_over_all_of_a_segment(segment_rows: int, max_rows: int, place: float) -> None:
    runs = spread_runs(segment_rows, max_rows, place)
    assert sum(map(len, runs)) == min(segment_rows, max_rows)
    assert all(before.stop <= after.start for before, after in pairwise(runs))
    assert runs[0].start >= 0
    assert runs[-1].stop <= segment_rows
    if len(runs) > 1:
        share = segment_rows / len(runs)
        assert all(len(run) >= RUN_ROWS for run in runs)
        assert all(n * share - 2 <= run.start < (n + 1) * share + 2 for n, run in enumerate(runs))


def test_column_names_with_dots(segment_files: Files, source_rows: Rows) -> None:
    rows = source_rows("tiny")
    window = read_row_window(segment_files["tiny_dot"], ["a.b", "s.city.name"], max_rows=500)
    assert decoded(window.columns["a.b"]) == expected(rows, "i_int")
    assert decoded(window.columns["s.city.name"]) == expected(rows, "s_city")


def test_null_rows_hold_the_default_value(segment_files: Files, source_rows: Rows) -> None:
    rows = source_rows("tiny_nulls")
    window = read_row_window(segment_files["tiny_nulls"], ["i_int", "mv_str", "raw_str"], max_rows=500)
    found = (
        decoded(window.columns["i_int"]),
        decoded(window.columns["mv_str"]),
        decoded(window.columns["raw_str"]),
    )
    assert found[0] == [-(2**31) if row.get("i_int") is None else row["i_int"] for row in rows]
    assert found[1] == [row.get("mv_str") or ["null"] for row in rows]
    assert found[2] == ["null" if row.get("raw_str") is None else row["raw_str"] for row in rows]
    assert "nullvalue_vector" in column_of(segment_files, "tiny_nulls", "i_int").index_bytes


def test_a_segment_of_one_row(segment_files: Files, source_rows: Rows) -> None:
    rows = source_rows("tiny")[:1]
    window = read_row_window(segment_files["tiny_onerow"], rows[0], max_rows=500)
    assert window.unreadable == {}
    assert all(decoded(window.columns[column]) == expected(rows, column) for column in rows[0])


def test_dictionaries_are_sorted_and_complete_even_for_a_small_window(segment_files: Files) -> None:
    window = read_row_window(segment_files["tiny_fmt1"], ["l_long", "d_double"], max_rows=1)
    for column, cardinality in (("l_long", 246), ("d_double", 338)):
        dictionary = window.columns[column].dictionary
        assert dictionary is not None
        assert len(dictionary) == cardinality
        assert dictionary.to_pylist() == sorted(dictionary.to_pylist())


def test_every_column_of_airline_stats_agrees_with_its_metadata(segment_files: Files) -> None:
    file = segment_files["airlineStats_OFFLINE_16071_16071_0"]
    facts = read_segment_facts(file)
    assert (facts.table, facts.version, facts.rows, len(facts.columns)) == ("airlineStats", "v3", 289, 84)
    window = read_row_window(file, [column.name for column in facts.columns], max_rows=facts.rows)
    assert window.unreadable == {}
    for column in facts.columns:
        found = window.columns[column.name]
        assert found.dictionary is not None
        assert len(found.codes) == column.entries
        assert len(np.unique(found.codes)) == len(found.dictionary) == column.cardinality
        if found.offsets is not None:
            values_per_row = np.diff(found.offsets)
            assert values_per_row.max() == column.max_values_per_row
            assert values_per_row.min() >= 1


@pytest.mark.parametrize("segment", ["tiny_indexed", "tiny_indexed_fmt1"])
def test_index_sizes_are_found_in_the_index_map_and_in_loose_files(
    segment: str, segment_files: Files
) -> None:
    assert set(column_of(segment_files, segment, "s_city").index_bytes) == {
        "dictionary",
        "forward_index",
        "inverted_index",
        "bloom_filter",
    }
    assert "range_index" in column_of(segment_files, segment, "l_long").index_bytes
    assert "inverted_index" not in column_of(segment_files, segment, "sorted_grp").index_bytes


def test_sizes_in_the_index_map_count_eight_bytes_of_magic(segment_files: Files) -> None:
    in_v3 = column_of(segment_files, "tiny_indexed", "i_int").index_bytes
    in_v1 = column_of(segment_files, "tiny_indexed_fmt1", "i_int").index_bytes
    assert {index: size + 8 for index, size in in_v1.items()} == in_v3


def test_text_index_folders_are_sized(segment_files: Files) -> None:
    assert column_of(segment_files, "tiny_text", "raw_str").index_bytes["text_index"] > 500
    assert column_of(segment_files, "tiny_text", "s_city").index_bytes["fst_index"] == 413


def test_facts_of_single_and_multi_value_raw_and_sorted_columns(segment_files: Files) -> None:
    multi = column_of(segment_files, "tiny_fmt1", "mv_int")
    assert (multi.is_single_value, multi.entries, multi.max_values_per_row, multi.cardinality) == (
        False,
        994,
        4,
        35,
    )
    raw = column_of(segment_files, "tiny_fmt1", "raw_str")
    assert (raw.has_dictionary, raw.min_value, raw.max_value) == (False, None, "event 99 of 東京 ababab")
    city = column_of(segment_files, "tiny_fmt1", "s_city")
    assert (city.min_value, city.max_value, city.entries, city.max_values_per_row) == ("", "東京", 500, 1)
    day = column_of(segment_files, "tiny_fmt1", "day")
    assert (day.is_sorted, day.column_type) == (True, "DATE_TIME")


def test_unknown_columns_and_columns_over_the_budget_are_named(segment_files: Files) -> None:
    window = window_of(segment_files["tiny_indexed"], ["nope", "id", "raw_str"], 0, 500, 3000)
    assert window.unreadable == {
        "nope": "the segment has no such column",
        "id": "its window needs more than 3000 bytes",
        "raw_str": "its window needs more than 3000 bytes",
    }
    assert window.columns == {}


def test_facts_alone_can_stop_at_the_metadata(segment_files: Files) -> None:
    file = segment_files["tiny_lz4"]
    layout = read_segment_layout(file, TarLimits(), whole=False)
    assert segment_facts(file, layout) == read_segment_facts(file)


def test_same_window_whatever_the_order_of_the_columns(segment_files: Files, source_rows: Rows) -> None:
    names = list(source_rows("tiny")[0])
    one = window_of(segment_files["tiny_indexed"], names, 5, 77)
    two = window_of(segment_files["tiny_indexed"], reversed(names), 5, 77)
    assert all((one.columns[name].codes == two.columns[name].codes).all() for name in names)
