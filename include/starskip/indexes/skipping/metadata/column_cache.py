"""Columns that were read, kept in memory up to so many bytes; the ones longest unused go first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

import pyarrow as pa


class ColumnCache:
    """May be used by several threads; a column that two of them miss at once is read twice, kept once."""

    def __init__(self, max_bytes: int) -> None:
        """Keep at most ``max_bytes`` of columns; a larger one is never kept."""
        self._max_bytes = max_bytes
        self._lock = Lock()
        self._columns: OrderedDict[Hashable, pa.Array] = OrderedDict()
        self._bytes = 0

    @property
    def size_bytes(self) -> int:
        """Bytes of the columns that are kept."""
        return self._bytes

    def clear(self) -> None:
        """Forget all columns."""
        with self._lock:
            self._columns.clear()
            self._bytes = 0

    def get(self, key: Hashable, read: Callable[[], pa.Array]) -> pa.Array:
        """Return the column of that key, read if it is not here."""
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
