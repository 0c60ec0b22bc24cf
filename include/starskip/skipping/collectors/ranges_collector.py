"""Collect the sorted values of a file; if they are many, ranges between the widest gaps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.predicates.ordered_values import is_text, mask_of, order_keys, positions, ranked
from starskip.skipping.file_collector import FileCollector

MOST_RANGES = 100_000
"""Up to this many distinct values all gaps are kept; beyond, narrow gaps are closed as values come."""
MOST_BYTES = 1 << 26
_SETTLED_AT = 1 << 16
_PLACES = 7
"""Bytes of a text that a float can distinguish."""


class RangesCollector(FileCollector):
    """Collects ``values``, sorted, and ``joined``: whether other values may lie between one and the last."""

    def __init__(self, kind: pa.DataType) -> None:
        """Start empty; ``kind``: the type of the values."""
        self._values = pa.array([], kind)
        self._joined = np.zeros(0, np.bool_)
        self._new: list[pa.Array] = []
        self._new_values = 0

    @property
    def size_bytes(self) -> int:
        """See FileCollector."""
        return int(self._values.nbytes + sum(each.nbytes for each in self._new))

    def add(self, rows: pa.RecordBatch) -> None:
        """See FileCollector."""
        found = rows.column("values").drop_null().unique()
        self._new.append(found)
        self._new_values += len(found)
        if self._new_values > max(_SETTLED_AT, len(self._values)) or found.nbytes > MOST_BYTES:
            self._settle()

    def parts(self) -> Iterator[pa.RecordBatch]:
        """See FileCollector."""
        self._settle()
        yield pa.record_batch({"values": self._values, "joined": pa.array(self._joined)})

    def merge(self, part: pa.RecordBatch) -> None:
        """See FileCollector."""
        self._settle()
        values, joined = part.column("values"), mask_of(part.column("joined"))
        self._put(pa.concat_arrays([self._values, values]), (self._values, self._joined), (values, joined))

    def result(self) -> Mapping[str, pa.Array]:
        """See FileCollector."""
        self._settle()
        offsets = pa.array([0, len(self._values)], pa.int32())
        return {
            "values": pa.ListArray.from_arrays(offsets, self._values),
            "joined": pa.ListArray.from_arrays(offsets, pa.array(self._joined)),
        }

    def _settle(self) -> None:
        if self._new:
            every = pa.concat_arrays([self._values, *self._new])
            self._new, self._new_values = [], 0
            self._put(every, (self._values, self._joined))

    def _put(self, every: pa.Array, *known: tuple[pa.Array, npt.NDArray[np.bool_]]) -> None:
        """Keep all values that are not within a known range, and close gaps if they are too many."""
        ordered, _ = ranked(every)
        keys = order_keys(ordered)
        joined = np.zeros(len(ordered), np.bool_)
        for values, is_joined in known:
            ends = np.flatnonzero(is_joined)
            steps = np.zeros(len(ordered) + 1, np.int64)
            for at, by in ((ends - 1, 1), (ends, -1)):
                np.add.at(steps, positions(keys, order_keys(values.take(pa.array(at))), "left") + 1, by)
            joined |= np.cumsum(steps)[:-1] > 0
        most = min(MOST_RANGES, int(len(ordered) * min(1.0, MOST_BYTES / max(1, ordered.nbytes)) / 2) + 1)
        if len(ordered) > 2 * MOST_RANGES or ordered.nbytes > MOST_BYTES:
            widths = np.where(joined, -np.inf, gap_widths(ordered))
            widths[:1] = np.inf
            is_narrow = np.ones(len(ordered), np.bool_)
            is_narrow[np.argpartition(widths, -most)[-most:]] = False
            joined |= is_narrow
        # A range is kept by its ends.
        inner = joined & np.append(joined[1:], False)
        self._values = ordered.filter(pa.array(~inner))
        self._joined = joined[~inner]


def gap_widths(values: pa.Array) -> npt.NDArray[np.float64]:
    """Return the approximate distance of each sorted value from the one before it."""
    if is_text(values.type) or pa.types.is_binary(values.type) or pa.types.is_large_binary(values.type):
        numbers = _places(values)
    elif pa.types.is_decimal(values.type):
        numbers = values.cast(pa.float64()).to_numpy(zero_copy_only=False)
    elif pa.types.is_integer(values.type) or pa.types.is_floating(values.type):
        numbers = values.to_numpy(zero_copy_only=False)
    else:
        numbers = values.view(pa.int32() if values.type.bit_width == 32 else pa.int64()).to_numpy()
    with np.errstate(invalid="ignore", over="ignore"):
        found = np.diff(numbers.astype(np.float64), prepend=0.0)
    # The gap before an infinity or NaN is the widest.
    return np.asarray(np.where(np.isnan(found), np.inf, found))


def _places(values: pa.Array) -> npt.NDArray[np.float64]:
    """Return sorted texts as numbers, from the bytes after their common prefix."""
    texts = values.cast(pa.large_binary()).to_pylist()
    pairs = zip(texts[0], texts[-1], strict=False) if texts else ()
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    ends = (each[same : same + _PLACES].ljust(_PLACES, b"\0") for each in texts)
    return np.fromiter((int.from_bytes(each, "big") for each in ends), np.float64, len(texts))
