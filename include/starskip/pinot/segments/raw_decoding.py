"""Decode a window of a raw (no-dictionary) forward index into values (multi-value: ArraySerDeUtils)."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.pinot.segments.decoding import Decoder, require
from starskip.pinot.segments.raw_chunks import RawRows, decode_fixed_width_rows, decode_variable_rows
from starskip.pinot.segments.value_arrays import number_array, number_bytes, variable_array

_WITHOUT_COUNT_VERSION = 5
_DAMAGED = "a multi-value row of its raw values is damaged"


def decode_raw(
    data_type: str, size: int, segment_rows: int, rows: range, max_bytes: int
) -> Decoder[pa.Array[Any]]:
    """Values of a single-value column, one a row."""
    width = number_bytes(data_type)
    if width is not None:
        raw = yield from decode_fixed_width_rows(width, size, segment_rows, rows, max_bytes)
        return number_array(data_type, raw.content)
    raw = yield from decode_variable_rows(size, segment_rows, rows, max_bytes)
    return variable_array(data_type, raw.offsets, raw.content)


def decode_raw_multi_value(
    data_type: str, size: int, segment_rows: int, rows: range, max_bytes: int
) -> Decoder[tuple[pa.Array[Any], npt.NDArray[np.int32]]]:
    """Values of a multi-value column and the row offsets into them."""
    width = number_bytes(data_type)
    raw = yield from decode_variable_rows(size, segment_rows, rows, max_bytes)
    if width is None:
        return _variable_length_lists(data_type, raw)
    return _number_lists(data_type, width, raw)


def _number_lists(data_type: str, width: int, raw: RawRows) -> tuple[pa.Array[Any], npt.NDArray[np.int32]]:
    """Rows are numbers end to end; up to version 4 a count stands in front."""
    prefix_bytes = 0 if raw.version >= _WITHOUT_COUNT_VERSION else 4
    value_bytes = np.diff(raw.offsets) - prefix_bytes
    require(bool((value_bytes >= 0).all() and (value_bytes % width == 0).all()), _DAMAGED)
    is_value = np.ones(len(raw.content), dtype=np.bool_)
    for position in range(prefix_bytes):
        is_value[raw.offsets[:-1] + position] = False
    values = np.frombuffer(raw.content, dtype=np.uint8)[is_value].tobytes()
    return number_array(data_type, values), _row_offsets(value_bytes // width)


def _variable_length_lists(data_type: str, raw: RawRows) -> tuple[pa.Array[Any], npt.NDArray[np.int32]]:
    """Rows are a count, that many lengths, then the values."""
    counts, lengths, contents = [], [np.empty(0, dtype=np.int64)], []
    bounds = raw.offsets.tolist()
    for start, end in pairwise(bounds):
        count = int.from_bytes(raw.content[start : start + 4], "big", signed=True)
        values_start = start + 4 + 4 * count
        require(count >= 0 and values_start <= end, _DAMAGED)
        counts.append(count)
        lengths.append(np.frombuffer(raw.content, ">i4", count, start + 4).astype(np.int64))
        contents.append(raw.content[values_start:end])
    offsets = np.concatenate(([0], np.cumsum(np.concatenate(lengths))))
    return (
        variable_array(data_type, offsets, b"".join(contents)),
        _row_offsets(np.array(counts, dtype=np.int64)),
    )


def _row_offsets(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
