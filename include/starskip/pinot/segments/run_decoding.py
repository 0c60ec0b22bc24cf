"""Decode several runs of rows of one index in one pass over its bytes, with a decoder for each run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.pinot.segments.decoding import Decoder, require


def decode_runs(decoders: Sequence[Decoder[Any]], max_bytes: int) -> Decoder[Any]:
    """Return the values of all runs behind one another; the decoders, of one index, are in the order of rows.

    Bytes that several decoders ask for, such as a header, are asked for once. ``max_bytes``: of all values.
    """
    asked = {place: next(decoder) for place, decoder in enumerate(decoders)}
    found: list[Any] = [None] * len(decoders)
    start, content, found_bytes = 0, b"", 0
    while asked:
        place = min(asked, key=asked.__getitem__)
        offset, length = asked.pop(place)
        require(offset >= start and length >= 0, "its index is damaged")
        # Each decoder asks for ascending bytes: what lies before this offset is not asked for again.
        content = content[max(offset - start, 0) :]
        start = offset
        missing = length - len(content)
        if missing > 0 or not length:
            content += yield offset + len(content), max(missing, 0)
        try:
            asked[place] = decoders[place].send(content[:length])
        except StopIteration as ended:
            found[place] = ended.value
            found_bytes += _bytes_of(ended.value)
            require(found_bytes <= max_bytes, f"its window needs more than {max_bytes} bytes")
    return _joined(found)


def _bytes_of(values: Any) -> int:
    return sum(map(_bytes_of, values)) if isinstance(values, tuple) else int(values.nbytes)


def _joined(runs: Sequence[Any]) -> Any:
    """Return codes or values of all runs; of several values a row, with the offsets of all rows."""
    if len(runs) == 1:
        return runs[0]
    if isinstance(runs[0], tuple):
        lengths = np.concatenate([np.diff(offsets) for _, offsets in runs])
        return _joined([values for values, _ in runs]), np.append(0, np.cumsum(lengths)).astype(np.int32)
    if isinstance(runs[0], pa.Array):
        # The decimals of each run have the precision that its own values need.
        tables = [pa.table({"values": values}) for values in runs]
        return pa.concat_tables(tables, promote_options="permissive")["values"].combine_chunks()
    return np.concatenate(runs)
