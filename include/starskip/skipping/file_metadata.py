"""The metadata of a table's files as columns: one row for each file."""

from __future__ import annotations

from typing import Protocol

import pyarrow as pa

from starskip.predicates.ordered_values import Mask

__all__ = ["FileMetadata", "Mask"]


class FileMetadata(Protocol):
    """Metadata columns by index, aligned with one another, and read on demand."""

    @property
    def files(self) -> int:
        """The number of files, that is, of rows in each column."""

    def column(self, index: str, name: str) -> pa.Array:
        """Return the metadata column ``name`` of an index, given by its specification such as ``minmax:ts``.

        Null means that the file's metadata is unknown.
        """
