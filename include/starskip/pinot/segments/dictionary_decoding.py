"""Decode a column's dictionary: all its distinct values in the segment, sorted as stored.

Layouts: fixed-width values end to end (FixedByteValueReaderWriter), or a header ``.vl;``, version,
count and start, then count + 1 offsets from the dictionary's start (VarLengthValueReader).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from starskip.pinot.segments.decoding import Decoder, require
from starskip.pinot.segments.value_arrays import number_array, number_bytes, padded_array, variable_array

_VARIABLE_LENGTH = b".vl;\0\0\0\1"
_HEADER_BYTES = 16


def decode_dictionary(data_type: str, cardinality: int, size: int, padding: int) -> Decoder[pa.Array[Any]]:
    """Ask for the whole dictionary of ``size`` bytes; return ``cardinality`` values."""
    width = number_bytes(data_type)
    require(cardinality > 0, "its dictionary has no known cardinality")
    if width is not None:
        require(size == cardinality * width, "dictionary size and cardinality disagree")
        return number_array(data_type, (yield 0, size))
    content = yield 0, size
    if size >= _HEADER_BYTES and content.startswith(_VARIABLE_LENGTH):
        count, start = (int(number) for number in np.frombuffer(content, ">i4", 2, len(_VARIABLE_LENGTH)))
        require(count == cardinality, "dictionary size and cardinality disagree")
        require(_HEADER_BYTES <= start <= size - 4 * (count + 1), "its dictionary is damaged")
        offsets = np.frombuffer(content, ">i4", count + 1, start).astype(np.int64)
        return variable_array(data_type, offsets, content)
    # Only empty strings: zero bytes for any number of values.
    require(
        size % cardinality == 0 and (size > 0 or cardinality == 1), "dictionary size and cardinality disagree"
    )
    if size == 0:
        return variable_array(data_type, np.zeros(2, dtype=np.int64), b"")
    return padded_array(data_type, size // cardinality, padding, content)
