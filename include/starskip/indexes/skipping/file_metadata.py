"""What is known of the files of a table, as whole columns: one row a file."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]


class FileMetadata(Protocol):
    """Metadata columns of the indexes, aligned with one another; read when they are asked for."""

    @property
    def files(self) -> int:
        """The number of files, which is that of the rows of each column."""

    def column(self, index: str, name: str) -> pa.Array:
        """Return metadata column ``name`` of an index, by its specification such as ``minmax:ts``.

        Null where nothing is known of the file.
        """
