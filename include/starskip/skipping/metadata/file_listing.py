"""The files of a table as an engine listed them, as whole columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.files.file_identity import RACY_NS

RACY_MS = RACY_NS // 1_000_000
_FEW = 8


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


def match_paths(paths: pa.Array, among: pa.Array) -> npt.NDArray[np.int64]:
    """Return for each path its position in ``among``, where each is once; -1 if it is not there.

    Of a million in half a second, of a few among a million, or where both are the same, in milliseconds.
    """
    if len(paths) == len(among) and not paths.null_count and paths.equals(among):
        return np.arange(len(paths))
    if len(paths) * _FEW < len(among):
        few = pc.unique(paths.drop_null())
        at = _index_in(among, few)
        places = np.full(len(few) + 1, -1, np.int64)
        places[at[at >= 0]] = np.flatnonzero(at >= 0)
        # The last place is that of what is not among the few: null.
        return places[_index_in(paths, few)]
    return np.where(np.asarray(paths.is_valid()), _index_in(paths, among), -1)


def _index_in(values: pa.Array, among: pa.Array) -> npt.NDArray[np.int64]:
    found: npt.NDArray[np.int64] = (
        pc.fill_null(pc.index_in(values, value_set=among), -1).to_numpy().astype(np.int64)
    )
    return found
