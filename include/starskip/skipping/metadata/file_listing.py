"""The files of a table as an engine listed them, as whole columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.files.file_identity import RACY_NS

RACY_MS = RACY_NS // 1_000_000


@dataclass(frozen=True, slots=True)
class FileListing:
    """``paths`` as Hadoop writes them, each once; ``observed_ms``: a time before the listing began.

    It is told by the clock that stamps the files, or an earlier one.
    """

    paths: pa.Array
    sizes: npt.NDArray[np.int64]
    modified_ms: npt.NDArray[np.int64]
    observed_ms: int

    @property
    def trusted(self) -> npt.NDArray[np.bool_]:
        """Which files a later change of would show (files.file_identity.is_racy)."""
        return self.modified_ms <= self.observed_ms - RACY_MS

    def at(self, positions: npt.NDArray[np.int64]) -> pa.Table:
        """Return some of the files as the columns that metadata keeps, but for ``rows``."""
        return pa.table(
            {
                "path": self.paths.take(pa.array(positions)),
                "size_bytes": self.sizes[positions],
                "modified_ms": self.modified_ms[positions],
                "trusted": self.trusted[positions],
            }
        )
