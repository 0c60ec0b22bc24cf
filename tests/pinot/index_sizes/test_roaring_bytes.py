"""Against pyroaring, which writes the same portable format."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap
from starskip.pinot.index_sizes.index_format import IndexFormat, index_format
from starskip.pinot.index_sizes.inverted_index_bytes import inverted_index_bytes
from starskip.pinot.index_sizes.roaring_bytes import container_counts, roaring_bytes
from starskip.tables.row_window import ColumnWindow

Codes = npt.NDArray[np.int32]


def written_bytes(column: ColumnWindow, bitmaps: int, *, with_runs: bool) -> int:
    rows = np.arange(len(column.codes))
    if column.offsets is not None:
        rows = np.repeat(np.arange(len(column.offsets) - 1), np.diff(column.offsets))
    total = 0
    for code in range(bitmaps):
        bitmap = BitMap(rows[column.codes == code].astype(np.uint32), optimize=with_runs)
        total += len(bitmap.serialize())
    return total


def sized_bytes(column: ColumnWindow, bitmaps: int, *, with_runs: bool) -> int:
    found = roaring_bytes(container_counts(column, bitmaps), bitmaps, has_run_containers=with_runs)
    return found.headers + found.bodies


@st.composite
def columns(draw: st.DrawFn) -> tuple[ColumnWindow, int]:
    """Random columns: even or skewed values, in any order, in runs or sorted, one value a row or some."""
    rows = draw(st.sampled_from([1, 5, 900, 4_097, 20_000, 65_536, 65_537, 140_000, 400_000]))
    cardinality = draw(st.sampled_from([1, 2, 3, 17, 60]))
    random = np.random.default_rng(draw(st.integers(0, 1 << 30)))
    codes = random.integers(0, cardinality, rows)
    if draw(st.booleans()):
        codes = (cardinality * random.random(rows) ** draw(st.sampled_from([3, 9]))).astype(np.int64)
    order = draw(st.sampled_from(["any", "runs", "sorted"]))
    if order == "runs":
        codes = np.repeat(codes, draw(st.sampled_from([2, 7, 300])))[:rows]
    elif order == "sorted":
        codes = np.sort(codes)
    offsets = None
    if draw(st.booleans()):
        lengths = random.integers(1, 4, rows)
        offsets = np.append(0, np.cumsum(lengths[np.cumsum(lengths) <= rows])).astype(np.int32)
        codes = codes[: offsets[-1]]
    return ColumnWindow(codes.astype(np.int32), pa.array(range(cardinality)), offsets), cardinality


@settings(max_examples=60, deadline=None)
@given(columns(), st.booleans())
def test_random_columns_take_the_bytes_that_are_written(
    drawn: tuple[ColumnWindow, int], with_runs: bool
) -> None:
    column, cardinality = drawn
    assert sized_bytes(column, cardinality, with_runs=with_runs) == written_bytes(
        column, cardinality, with_runs=with_runs
    )


@pytest.mark.parametrize(
    ("codes", "bitmaps"),
    [
        (np.zeros(0, np.int32), 3),
        (np.zeros(65_536, np.int32), 1),
        (np.arange(8_192, dtype=np.int32) % 2, 2),  # 4,096 values: the last array
        (np.arange(8_194, dtype=np.int32) % 2, 2),  # 4,097 values: the first bitmap
        (np.arange(300_000, dtype=np.int32) // 65_536, 5),
        (np.arange(300_000, dtype=np.int32) // 100 % 2, 2),  # runs in five containers: with offsets
        (np.arange(70_000, dtype=np.int32), 70_000),
    ],
)
def test_the_borders_of_the_format(codes: Codes, bitmaps: int) -> None:
    column = ColumnWindow(codes, pa.array(range(bitmaps)))
    for with_runs in (False, True):
        sized = sized_bytes(column, bitmaps, with_runs=with_runs)
        if bitmaps < 100:
            assert sized == written_bytes(column, bitmaps, with_runs=with_runs)
        else:
            assert sized == bitmaps * 18


def test_a_value_that_a_row_holds_twice_is_one_entry() -> None:
    column = ColumnWindow(np.array([0, 0, 1], np.int32), pa.array([1, 2]), np.array([0, 3], np.int32))
    assert sized_bytes(column, 2, with_runs=True) == 2 * (16 + 2)


def test_versions_before_0_9_write_no_runs() -> None:
    column = ColumnWindow(np.repeat(np.arange(10, dtype=np.int32), 5_000), pa.array(range(10)))
    with_runs = inverted_index_bytes(column, 50_000, 50_000, index_format("0.11"))
    without = inverted_index_bytes(column, 50_000, 50_000, index_format("0.8.0"))
    assert with_runs == 44 + 10 * (9 + 6)
    assert without == 44 + 10 * (16 + 8_192)


@pytest.mark.parametrize("kind", ["even", "each row its own", "clustered"])
def test_a_window_stands_for_the_rest_of_its_segment(kind: str) -> None:
    rows = 4 * 65_536 + 20_000
    random = np.random.default_rng(5)
    codes = {
        "even": random.integers(0, 5_000, rows),
        "each row its own": random.permutation(rows),
        "clustered": np.arange(rows) // 9 + random.integers(0, 3, rows),
    }[kind].astype(np.int32)
    dictionary = pa.array(range(int(codes.max()) + 1))
    whole = inverted_index_bytes(ColumnWindow(codes, dictionary), rows, rows, IndexFormat())
    for read in (65_536, 150_000, rows - 1):
        sized = inverted_index_bytes(ColumnWindow(codes[:read], dictionary), read, rows, IndexFormat())
        assert sized == pytest.approx(whole, rel=0.03)
    too_few = ColumnWindow(codes[:65_535], dictionary)
    assert inverted_index_bytes(too_few, 65_535, rows, IndexFormat()) is None


def test_a_raw_column_has_no_inverted_index() -> None:
    column = ColumnWindow(np.zeros(4, np.int32), values=pa.array([7]))
    assert inverted_index_bytes(column, 4, 4, IndexFormat()) is None
