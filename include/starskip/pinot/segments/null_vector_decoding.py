"""Decode the null value vector of a segment, a roaring bitmap of its rows, for the rows of a window."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap

from starskip.pinot.segments.decoding import Decoder


def decode_null_vector(size: int, rows: range) -> Decoder[npt.NDArray[np.bool_]]:
    """Return which of ``rows`` are null; ``size``: bytes of the vector."""
    found = BitMap.deserialize((yield 0, size)) if size else BitMap()
    nulls = np.zeros(len(rows), dtype=bool)
    nulls[np.array(found & BitMap(rows), dtype=np.int64) - rows.start] = True
    return nulls
