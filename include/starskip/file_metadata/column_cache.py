"""A least-recently-used cache of metadata columns, bounded by bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

import pyarrow as pa


class ColumnCache:
    """Thread-safe; a column that two threads miss at once is read twice and kept once."""

    def __init__(self, max_bytes: int) -> None:
        """Keep at most ``max_bytes`` of columns; a larger column is never kept."""
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._columns: OrderedDict[Hashable, pa.Array] = OrderedDict()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of the cached columns."""
        return self._bytes

    def clear(self) -> None:
        """Remove all columns."""
        with self._lock:
            self._columns.clear()
            self._bytes = 0

    def holds(self, key: Hashable) -> bool:
        """Return whether a column is cached."""
        with self._lock:
            return key in self._columns

    def get(self, key: Hashable, read: Callable[[], pa.Array]) -> pa.Array:
        """Return the column of a key, read on a miss."""
        with self._lock:
            if key in self._columns:
                self._columns.move_to_end(key)
                return self._columns[key]
        column = read()
        with self._lock:
            if key not in self._columns and column.nbytes <= self._max_bytes:
                self._columns[key] = column
                self._bytes += column.nbytes
                while self._bytes > self._max_bytes:
                    self._bytes -= self._columns.popitem(last=False)[1].nbytes
        return column
