"""The files of a table as an engine listed them, in columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import SourceError, printable
from starskip.storage.files.file_identity import RACY_NS

RACY_MS = RACY_NS // 1_000_000


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Distinct ``paths`` as Hadoop writes them; ``observed_ms``: a time before the listing began.

    ``observed_ms`` is by the clock that stamps the files, or earlier.
    """

    paths: pa.Array
    sizes: npt.NDArray[np.int64]
    modified_ms: npt.NDArray[np.int64]
    observed_ms: int

    @property
    def trusted(self) -> npt.NDArray[np.bool_]:
        """The files whose later changes will show in size or time (files.file_identity.is_racy)."""
        return self.modified_ms <= self.observed_ms - RACY_MS

    def without(self, paths: Collection[str]) -> TableFiles:
        """Return the listing without some paths."""
        if not paths:
            return self
        kept = pc.invert(pc.is_in(self.paths, value_set=pa.array(list(paths), self.paths.type)))
        mask = np.asarray(kept)
        return TableFiles(self.paths.filter(kept), self.sizes[mask], self.modified_ms[mask], self.observed_ms)

    def at(self, positions: npt.NDArray[np.int64]) -> pa.Table:
        """Return some files as the columns of the metadata, without ``rows``."""
        return pa.table(
            {
                "path": self.paths.take(pa.array(positions)),
                "size_bytes": self.sizes[positions],
                "modified_ms": self.modified_ms[positions],
                "trusted": self.trusted[positions],
            }
        )


class DamagedFiles(SourceError):
    """Files that cannot be read although the store can; ``reasons`` by path."""

    def __init__(self, reasons: Mapping[str, str]) -> None:
        """Name the first file and the number of others."""
        first = min(reasons)
        others = f"; nor can {len(reasons) - 1:,} more" if len(reasons) > 1 else ""
        super().__init__(f"{printable(first)}: cannot be read: {reasons[first]}{others}", source=first)
        self.reasons = reasons
