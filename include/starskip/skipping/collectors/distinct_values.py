"""The distinct values of a file up to a number and a size; beyond either no value is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from starskip.skipping.file_collector import FileCollector

MOST_VALUES = 1_000_000
MOST_BYTES = 1 << 26
"""Values of a file, or their bytes, up to which a list is kept; a longer list costs more than it saves."""
_SETTLED_AT = 1 << 16


class DistinctValues:
    """Distinct values without null; none once they are too many."""

    def __init__(self, kind: pa.DataType, most_values: int = MOST_VALUES) -> None:
        """Start empty; ``kind``: the values' type, with 32-bit or 64-bit offsets."""
        self._kind = kind
        self._most_values = most_values
        self._kept = pa.array([], kind)
        self._new: list[pa.Array] = []
        self._new_values = self._new_bytes = 0
        self._is_over = False

    @property
    def size_bytes(self) -> int:
        """The bytes in memory."""
        return int(self._kept.nbytes) + self._new_bytes

    def add(self, values: pa.Array) -> None:
        """Add values, which may repeat and be null."""
        if self._is_over:
            return
        found = _plain(values.drop_null()).unique()
        self._new.append(found)
        self._new_values += len(found)
        self._new_bytes += found.nbytes
        if self._new_values > max(_SETTLED_AT, len(self._kept)) or self._new_bytes > MOST_BYTES:
            self._settle()

    def add_all(self, others: pa.Array | None) -> None:
        """Add the values of another set, None if they were too many."""
        if others is None:
            self._give_up()
        else:
            self.add(others)

    def values(self) -> pa.Array | None:
        """Return the values, None if they are too many."""
        self._settle()
        return None if self._is_over else self._kept

    def _settle(self) -> None:
        if not self._new or self._is_over:
            return
        every = pa.chunked_array([self._kept, *self._new], self._kind)
        kept = every.unique()
        self._new, self._new_values, self._new_bytes = [], 0, 0
        if len(kept) > self._most_values or kept.nbytes > MOST_BYTES:
            self._give_up()
        else:
            self._kept = kept

    def _give_up(self) -> None:
        self._is_over, self._kept, self._new = True, self._kept.slice(0, 0), []
        self._new_values = self._new_bytes = 0


def _plain(values: pa.Array) -> pa.Array:
    # -0.0 equals 0.0 in Spark, and every NaN every other NaN; Arrow's sets distinguish them.
    if not pa.types.is_floating(values.type):
        return values
    nan, zero = (pa.scalar(each, values.type) for each in (float("nan"), 0.0))
    return pc.if_else(pc.is_nan(values), nan, pc.add(values, zero))


class ValuesCollector(FileCollector):
    """Collects a column's distinct values as one list, which is null if they are too many."""

    def __init__(self, name: str, values: DistinctValues, kind: pa.DataType) -> None:
        """Take the name of the values in rows and in the result, an empty set of them and their type."""
        self._name = name
        self._values = values
        self._kind = kind

    @property
    def size_bytes(self) -> int:
        """See FileCollector."""
        return self._values.size_bytes

    def add(self, rows: pa.RecordBatch) -> None:
        """See FileCollector."""
        self._values.add(rows.column(self._name))

    def parts(self) -> Iterator[pa.RecordBatch]:
        """See FileCollector."""
        yield pa.record_batch(self.result())

    def merge(self, part: pa.RecordBatch) -> None:
        """See FileCollector."""
        self._values.add_all(one_list(part.column(self._name)))

    def result(self) -> Mapping[str, pa.Array]:
        """See FileCollector."""
        return {self._name: as_one_list(self._values.values(), self._kind)}


def as_one_list(values: pa.Array | None, kind: pa.DataType) -> pa.ListArray:
    """Return a column of one row, the list of ``values``, or null."""
    if values is None:
        return pa.nulls(1, pa.list_(kind))
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values.cast(kind))


def one_list(lists: pa.ListArray) -> pa.Array | None:
    """Return the values of a column of one list, None for null."""
    return lists.flatten() if lists[0].is_valid else None
