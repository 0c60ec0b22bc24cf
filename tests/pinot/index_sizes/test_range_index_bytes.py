"""Against sizes that RangeBitmap.Appender of RoaringBitmap 0.9.28 (Pinot 0.11's) gave for the same values."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from pyroaring import BitMap
from starskip.pinot.index_sizes.index_format import IndexFormat, index_format
from starskip.pinot.index_sizes.range_index_bytes import ordinals, range_index_bytes
from starskip.tables.row_window import ColumnWindow

ROWS = 150_000
ROW = np.arange(ROWS)


def coded(codes: npt.NDArray[np.int64], cardinality: int) -> ColumnWindow:
    return ColumnWindow(codes.astype(np.int32), pa.array(range(cardinality)))


def raw(values: pa.Array) -> ColumnWindow:
    encoded = values.dictionary_encode()
    return ColumnWindow(encoded.indices.to_numpy().astype(np.int32), values=encoded.dictionary)


@pytest.mark.parametrize(
    ("column", "written_bytes"),
    [
        pytest.param(coded(ROW * 7919 % 700, 700), 245_878, id="spread"),
        pytest.param(coded(ROW // 300, 500), 2_139, id="sorted"),
        pytest.param(coded(ROW // 40 % 37, 37), 14_719, id="clustered"),
        pytest.param(coded(ROW * 0, 1), 46, id="one value"),
        pytest.param(coded(ROW % 2, 2), 24_610, id="two values in turn"),
        pytest.param(coded(ROW[::-1], ROWS), 132_613, id="all different"),
        pytest.param(coded(np.where(ROW % 997 == 0, 40, 3), 41), 2_535, id="a rare value"),
        pytest.param(coded(np.where(ROW % 20 == 0, 15, 31), 32), 20_202, id="a low bit stays a bitmap"),
        pytest.param(coded(np.where(ROW % 20 == 0, 31, 63), 64), 15_034, id="a high bit becomes an array"),
        pytest.param(raw(pa.array(ROW * 7919 % 100_003 - 50_000, pa.int32())), 405_688, id="raw int"),
        pytest.param(raw(pa.array(ROW * ROW * 7919 - 10**12, pa.int64())), 867_364, id="raw long"),
        pytest.param(raw(pa.array((ROW * 7919 % 100_003) / 4 - 9000)), 1_472_482, id="raw double"),
        pytest.param(raw(pa.array((ROW * 31 % 1013 / 8).astype(np.float32))), 321_533, id="raw float"),
        pytest.param(
            raw(pa.array(np.array([0.0, -0.0, np.inf, -np.inf, 1.5, -2.5])[ROW % 6])), 1_573_486, id="signs"
        ),
    ],
)
def test_bit_slices_take_the_bytes_that_are_written(column: ColumnWindow, written_bytes: int) -> None:
    assert range_index_bytes(column, ROWS, ROWS, IndexFormat()) == written_bytes


def test_a_window_stands_for_the_rest_of_its_segment() -> None:
    codes = np.random.default_rng(3).integers(0, 5_000, 300_000)
    for version in ("0.11", "0.9.3"):
        index_format_ = index_format(version)
        whole = range_index_bytes(coded(codes, 5_000), 300_000, 300_000, index_format_)
        window = range_index_bytes(coded(codes[:100_000], 5_000), 100_000, 300_000, index_format_)
        assert window == pytest.approx(whole, rel=0.01)


@pytest.mark.parametrize(
    "values", [pa.array([b"a"]), pa.array(["x"]), pa.array([True])], ids=["bytes", "text", "boolean"]
)
def test_raw_values_that_are_no_numbers_have_no_range_index(values: pa.Array) -> None:
    assert range_index_bytes(raw(values), 1, 1, IndexFormat()) is None


def test_floats_keep_their_order_as_ordinals() -> None:
    in_order = [-np.inf, -1e300, -2.5, -1e-300, 0.0, 5e-324, 1.5, 1e300, np.inf]
    for kind in (np.float32, np.float64):
        with np.errstate(over="ignore"):
            found = ordinals(pa.array(np.array(in_order).astype(kind)))
        assert found is not None
        assert (np.diff(found[0].astype(object)) >= 0).all()
        assert found[1] == 8 * np.dtype(kind).itemsize
    nan = ordinals(pa.array([np.nan, -0.0, 0.0]))
    assert nan is not None
    assert nan[0].tolist() == [0, 1 << 63, 1 << 63]


@pytest.mark.parametrize("cardinality", [1, 7, 19, 400, 30_000])
def test_ranges_of_versions_before_0_10_are_bitmaps_of_equally_many_entries(cardinality: int) -> None:
    codes = np.random.default_rng(cardinality).integers(0, cardinality, 90_000)
    assert range_index_bytes(
        coded(codes, cardinality), 90_000, 90_000, index_format("0.9.3")
    ) == legacy_bytes(codes)


def test_multi_value_columns_keep_the_ranges_of_old() -> None:
    column = coded(np.arange(60_000) % 50, 50)
    offsets = np.arange(0, 60_001, 3, dtype=np.int32)
    column = ColumnWindow(column.codes, column.dictionary, offsets)
    new, old = (range_index_bytes(column, 20_000, 20_000, index_format(v)) for v in ("0.11", "0.9.3"))
    assert new == old


def legacy_bytes(codes: npt.NDArray[np.int64]) -> int:
    """The loop of Pinot's RangeIndexCreator.seal, entry by entry."""
    rows = np.argsort(codes, kind="stable")
    boundary, start, ranges = -(-len(codes) // 20), 0, []
    for entry in range(len(codes)):
        if entry > start + boundary and codes[rows[entry]] != codes[rows[entry - 1]]:
            ranges.append(rows[start:entry])
            start = entry
    ranges.append(rows[start:])
    header = 4 + 4 + len("INT") + 4 + 4 * (len(ranges) + 1) + 8 * (len(ranges) + 1)
    return header + sum(len(BitMap(np.sort(r).astype(np.uint32), optimize=False).serialize()) for r in ranges)
