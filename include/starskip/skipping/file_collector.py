"""Base class of collectors of one file's metadata from batches of its rows, in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa


class FileCollector:
    """The state of one index and one file, which is small however many rows the file has.

    Each task adds the rows that it reads of a file, and hands on the state in parts; one task merges the
    parts of a file, in any order, and asks for the result. Rows are never held.
    """

    @property
    def size_bytes(self) -> int:
        """The size of the state; with more than some megabytes the parts are handed on before the end."""
        return 0

    def add(self, rows: pa.RecordBatch) -> None:
        """Take some rows: their values by the names of ``SkippingIndex.row_values``, timestamps in UTC."""
        raise NotImplementedError

    def parts(self) -> Iterator[pa.RecordBatch]:
        """Yield the state in batches of some megabytes at most; the collector is not used afterwards."""
        raise NotImplementedError

    def merge(self, part: pa.RecordBatch) -> None:
        """Take a part of another collector of the same file."""
        raise NotImplementedError

    def result(self) -> Mapping[str, pa.Array]:
        """Return columns of one row each, which ``SkippingIndex.finish`` gets for several files at once."""
        raise NotImplementedError
