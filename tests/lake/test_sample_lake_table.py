"""The sample's lineitem in the lake against its Pinot segments: the same rows, once read with the casts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from starskip.pinot.segments.segment_files import list_segments
from starskip.pinot.segments.segment_reader import read_row_window

SEGMENTS = Path(__file__).parents[2] / "include" / "sample" / "segments"
CENTS = ("l_extendedprice", "l_discount", "l_tax")
"""Decimals in the lake, where sums are exact; in Pinot the doubles nearest to them."""


@pytest.fixture(scope="module")
def lake(sample_lake: Path, sample_casts: dict[str, str]) -> pa.Table:
    rows = pq.read_table(sample_lake)
    # In the segments they lie in the order of their keys, in the lake in that of their arrival.
    rows = rows.sort_by([("l_orderkey", "ascending"), ("l_linenumber", "ascending")])
    for column, name in sample_casts.items():
        place = rows.schema.get_field_index(column)
        rows = rows.set_column(place, column, rows[column].cast(pa.type_for_alias(name)))
    return rows


@pytest.fixture(scope="module")
def segments(lake: pa.Table) -> pa.Table:
    parts = []
    for file in list_segments(SEGMENTS, ["lineitem"]):
        window = read_row_window(file, lake.column_names, max_rows=1_000_000)
        assert not window.unreadable
        columns = {}
        for name, column in window.columns.items():
            values = column.dictionary if column.dictionary is not None else column.values
            assert values is not None
            columns[name] = values.take(pa.array(column.codes))
        parts.append(pa.table(columns))
    return pa.concat_tables(parts).select(lake.column_names)


def test_both_have_as_many_rows(lake: pa.Table, segments: pa.Table) -> None:
    assert lake.num_rows == segments.num_rows == 299_814


def test_every_value_of_every_row_is_the_same_in_the_same_order(lake: pa.Table, segments: pa.Table) -> None:
    for name in lake.column_names:
        ours, theirs = lake[name].combine_chunks(), segments[name].combine_chunks()
        if name in CENTS:
            cents = np.array([int(value.scaleb(2)) for value in ours.to_pylist()])
            assert (cents == np.rint(theirs.to_numpy() * 100)).all(), name
            # Divided, an integer of cents gives the double that is nearest to the decimal.
            assert (cents / 100 == theirs.to_numpy()).all(), name
        else:
            assert ours.cast(theirs.type).equals(theirs), name


def test_only_the_columns_that_are_cast_would_else_read_otherwise(
    sample_lake: Path, sample_casts: dict[str, str], segments: pa.Table
) -> None:
    """Text against dates, and decimals for whole numbers; wider integers make no other answer."""
    raw = pq.read_schema(sample_lake / "part-00000.parquet")

    def kind(of: pa.DataType) -> str:
        if pa.types.is_integer(of):
            return "integer"
        return (
            "number" if pa.types.is_decimal(of) or pa.types.is_floating(of) else str(of).removesuffix("_view")
        )

    unlike = {f.name for f in segments.schema if kind(raw.field(f.name).type) != kind(f.type)}
    assert unlike == sample_casts.keys()


def test_counts_sums_and_distinct_values_agree(lake: pa.Table, segments: pa.Table) -> None:
    seen = {
        name: (pc.count_distinct(lake[name]).as_py(), pc.count_distinct(segments[name]).as_py())
        for name in lake.column_names
    }
    assert all(ours == theirs for ours, theirs in seen.values()), seen
    assert seen["l_orderkey"] == (75_000, 75_000)
    assert seen["l_shipdate"] == (2_524, 2_524)
    assert pc.sum(lake["l_quantity"]).as_py() == pc.sum(segments["l_quantity"]).as_py() == 7_653_796
