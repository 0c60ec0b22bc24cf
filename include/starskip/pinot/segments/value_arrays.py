"""Decode stored bytes of Pinot's data types into Arrow arrays, whole columns at once.

BOOLEAN is stored as INT, TIMESTAMP as LONG in milliseconds, JSON as STRING, BIG_DECIMAL as a
2-byte scale and a big-endian unscaled number (BigDecimalUtils).
"""

from __future__ import annotations

import decimal
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.pinot.segments.decoding import UnreadableColumn, require

_NUMBERS = {
    "INT": (">i4", pa.int32()),
    "LONG": (">i8", pa.int64()),
    "FLOAT": (">f4", pa.float32()),
    "DOUBLE": (">f8", pa.float64()),
    "BOOLEAN": (">i4", pa.bool_()),
    "TIMESTAMP": (">i8", pa.timestamp("ms")),
}
_VARIABLE = ("STRING", "JSON", "BYTES", "BIG_DECIMAL")
_LONGEST_DECIMAL_BYTES = 33
_EXACT = decimal.Context(prec=100, Emin=-100_000, Emax=100_000)
_INT32_MAX = 2**31 - 1


def number_bytes(data_type: str) -> int | None:
    """Return the stored width of one value, None for types of variable length."""
    if data_type in _NUMBERS:
        return np.dtype(_NUMBERS[data_type][0]).itemsize
    require(data_type in _VARIABLE, f"data type {data_type} is not read")
    return None


def number_array(data_type: str, content: bytes) -> pa.Array[Any]:
    """Return big-endian numbers as an array of the type's Arrow form."""
    stored, arrow_type = _NUMBERS[data_type]
    values = np.frombuffer(content, dtype=stored)
    native = values.astype(values.dtype.newbyteorder("="))
    if data_type == "BOOLEAN":
        native = native != 0
    numbers: pa.Array[Any] = pa.array(native).cast(arrow_type)
    return numbers


def variable_array(data_type: str, offsets: npt.NDArray[np.int64], content: bytes) -> pa.Array[Any]:
    """Return values ``content[offsets[i]:offsets[i + 1]]`` as string, binary or decimal array."""
    count = offsets.size - 1
    require(
        bool(count >= 0 and offsets[0] >= 0 and offsets[-1] <= min(len(content), _INT32_MAX))
        and bool((np.diff(offsets) >= 0).all()),
        "offsets of its values are not in order",
    )
    buffers = [None, pa.py_buffer(offsets.astype(np.int32).data), pa.py_buffer(content)]
    binary: pa.Array[Any] = pa.Array.from_buffers(pa.binary(), count, buffers)
    if data_type == "BYTES":
        return binary
    if data_type == "BIG_DECIMAL":
        stored: list[Any] = binary.to_pylist()
        decimals: pa.Array[Any] = pa.array([_big_decimal(value) for value in stored])
        return decimals
    try:
        strings: pa.Array[Any] = binary.cast(pa.string())
    except pa.ArrowInvalid:
        # Java reads bytes that are no UTF-8 as replacement characters, too.
        values: list[Any] = binary.to_pylist()
        strings = pa.array([value.decode("utf-8", "replace") for value in values], pa.string())
    return strings


def padded_array(data_type: str, width: int, padding: int, content: bytes) -> pa.Array[Any]:
    """Return values of ``width`` bytes; strings end at their first ``padding`` byte."""
    count = len(content) // width
    if data_type in ("BYTES", "BIG_DECIMAL"):
        return variable_array(data_type, np.arange(count + 1, dtype=np.int64) * width, content)
    matrix = np.frombuffer(content, dtype=np.uint8).reshape(count, width)
    is_padding = matrix == padding
    lengths = np.where(is_padding.any(axis=1), is_padding.argmax(axis=1), width)
    kept = matrix[np.arange(width) < lengths[:, None]].tobytes()
    return variable_array(data_type, np.concatenate(([0], np.cumsum(lengths))), kept)


def _big_decimal(stored: bytes) -> decimal.Decimal:
    if not 3 <= len(stored) <= _LONGEST_DECIMAL_BYTES:
        raise UnreadableColumn("a BIG_DECIMAL is over 76 digits or empty")
    scale = int.from_bytes(stored[:2], "big", signed=True)
    return decimal.Decimal(int.from_bytes(stored[2:], "big", signed=True)).scaleb(-scale, _EXACT)
