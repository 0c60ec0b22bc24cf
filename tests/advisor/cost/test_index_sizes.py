"""Against the index_map of real Pinot 0.11 segments that had the indexes built."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.cost.index_sizes import merge_index_sizes, metadata_sizes, sizes_of, window_sizes
from starskip.advisor.families.index import Index
from starskip.pinot.index_sizes.index_format import IndexFormat
from starskip.pinot.segments.facts_table import facts_rows
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window, read_segment_facts
from starskip.storage.schemas import INDEX_SIZES, TABLE_FACTS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "include" / "sample" / "segments"
HELD_OUT = ROOT / "benchmarks" / "data" / "heldout" / "segments"
TRUTH = ROOT / "benchmarks" / "data" / "truth"
TABLES = {"lineitem": SAMPLE, "airlineStats": SAMPLE, "baseballStats": HELD_OUT, "ghEvents": HELD_OUT}


@cache
def real_sizes(table: str) -> Mapping[Index, int]:
    found: dict[Index, int] = {}
    for path in TRUTH.glob(f"{table}*.json"):
        for name, size in json.loads(path.read_text())["index_bytes_all_segments"].items():
            kind, _, column = name.rpartition(":")
            found[Index(kind or "inverted", column)] = size
    return found


@cache
def segment_sizes(table: str, max_rows: int = 1 << 20) -> list[tuple[pa.RecordBatch, pa.RecordBatch]]:
    """For each segment: what its metadata says of sizes, and what its rows do."""
    columns = sorted({index.column for index in real_sizes(table)})
    found = []
    for file in list_segments(str(TABLES[table]), [table]):
        facts = facts_rows(file, read_segment_facts(file)).to_batches()[0]
        window = read_row_window(file, columns, max_rows=max_rows)
        found.append((metadata_sizes(facts, IndexFormat()), window_sizes(window, facts, IndexFormat())))
    return found


def predicted(table: str, sampled: Sequence[int], max_rows: int = 1 << 20) -> Mapping[Index, int]:
    segments = segment_sizes(table, max_rows)
    batches = [metadata for metadata, _ in segments] + [segments[position][1] for position in sampled]
    return sizes_of(pa.Table.from_batches(merge_index_sizes(batches), INDEX_SIZES))


def errors(table: str, sampled: Sequence[int], max_rows: int = 1 << 20) -> dict[Index, float]:
    sizes = predicted(table, sampled, max_rows)
    return {index: abs(sizes[index] / real - 1) for index, real in real_sizes(table).items()}


@pytest.mark.parametrize("table", TABLES)
def test_reading_every_segment_gives_the_real_sizes_to_the_byte(table: str) -> None:
    everything = range(len(segment_sizes(table)))
    sizes = predicted(table, everything)
    assert {index: sizes[index] for index in real_sizes(table)} == real_sizes(table)


@pytest.mark.parametrize("table", TABLES)
def test_eight_segments_are_within_a_fifth_of_the_real_sizes(table: str) -> None:
    segments = len(segment_sizes(table))
    count = min(segments, 8)
    found = errors(table, [position * segments // count for position in range(count)])
    assert max(found.values()) < 0.2


def test_a_part_of_each_segment_is_within_a_fifth_of_the_real_sizes() -> None:
    assert max(errors("lineitem", range(4), max_rows=70_000).values()) < 0.2


@pytest.mark.parametrize("table", TABLES)
def test_metadata_alone_is_close_where_values_are_even_and_too_high_where_they_are_not(table: str) -> None:
    sizes = predicted(table, [])
    ratios = np.array([sizes[index] / real for index, real in real_sizes(table).items()])
    assert ratios.min() > 0.99
    assert np.median(ratios) < {"baseballStats": 1.5}.get(table, 1.2)


def fact(**overrides: object) -> pa.RecordBatch:
    row = {
        "table": "t",
        "segment": "s",
        "version": "v3",
        "rows": 1_000,
        "column": "c",
        "data_type": "INT",
        "cardinality": 10,
        "entries": 1_000,
        "is_sorted": False,
        "has_dictionary": True,
        "is_single_value": True,
        "index_bytes": [("forward_index", 508)],
    } | overrides
    return pa.RecordBatch.from_pylist([row], TABLE_FACTS)


def of_facts(*facts: pa.RecordBatch) -> Mapping[Index, int]:
    batches = [metadata_sizes(batch, IndexFormat()) for batch in facts]
    return sizes_of(pa.Table.from_batches(merge_index_sizes(batches), INDEX_SIZES))


INVERTED = Index("inverted", "c")
RANGE = Index("range", "c")
BLOOM = Index("bloom", "c")
SORTED = Index("sorted", "c")


def test_what_a_segment_has_already_counts_as_it_is() -> None:
    built = [("inverted_index", 777), ("forward_index", 508)]
    without = of_facts(fact())
    assert of_facts(fact(index_bytes=built)) == without | {INVERTED: 777}
    assert of_facts(fact(), fact(segment="u", index_bytes=built))[INVERTED] == without[INVERTED] + 777


def test_a_sorted_segment_gets_no_index() -> None:
    assert of_facts(fact(is_sorted=True)) == {}
    assert of_facts(fact(is_sorted=True), fact(segment="u")) == of_facts(fact())


def test_sorting_replaces_the_forward_index() -> None:
    assert of_facts(fact())[SORTED] == 0  # 88 bytes for 508
    assert of_facts(fact(cardinality=900))[SORTED] == 900 * 8 + 8 - 508
    assert SORTED not in of_facts(fact(is_single_value=False, entries=3_000))


def test_a_segment_without_index_map_has_no_magic_markers() -> None:
    assert of_facts(fact())[INVERTED] - of_facts(fact(version="v1"))[INVERTED] == 8


def test_a_raw_column_of_numbers_can_have_a_range_index_or_a_bloom_filter() -> None:
    whole = fact(has_dictionary=False, min_value="-3", max_value="252", rows=65_536)
    assert of_facts(whole) == {RANGE: 8 + 22 + 1 + 8 * 8_195, BLOOM: 224}
    for unknown in ({"data_type": "DOUBLE"}, {"data_type": "LONG", "min_value": "x"}):
        sizes = of_facts(fact(has_dictionary=False, cardinality=None, rows=65_536, **unknown))
        assert sizes == {RANGE: 8 + 22 + 8 + 64 * 8_195}
    assert of_facts(fact(has_dictionary=False, data_type="STRING")).keys() == {BLOOM}
    assert of_facts(fact(has_dictionary=False, is_single_value=False)).keys() == {BLOOM}


def test_a_dictionary_of_unknown_cardinality_has_no_size() -> None:
    assert of_facts(fact(cardinality=None)) == {}
    assert of_facts(fact(cardinality=0)) == {}


@given(st.permutations(range(31)), st.integers(0, 31))
def test_rows_merge_in_any_order_and_grouping(order: Sequence[int], cut: int) -> None:
    batches = [batch for pair in segment_sizes("airlineStats") for batch in pair]
    shuffled = [batches[2 * position + side] for position in order for side in (1, 0)]
    once = pa.Table.from_batches(merge_index_sizes(batches), INDEX_SIZES)
    left, right = merge_index_sizes(shuffled[:cut]), merge_index_sizes(shuffled[cut:])
    twice = pa.Table.from_batches(merge_index_sizes([*left, *right]), INDEX_SIZES)
    assert sizes_of(once) == sizes_of(twice)
