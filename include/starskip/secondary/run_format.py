"""The format of a run's two files, as ``run_files`` writes them and ``run_reader`` reads them."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.storage.manifest import DataFile

FIRST, LAST = "first_address", "last_address"
"""The least and the greatest address of a block; null for n-grams, whose blocks are read for single lists."""
BITMAPS_TOGETHER = 16
"""Bitmaps of neighbouring blocks in one row group."""


def paired(files: Sequence[DataFile]) -> list[tuple[DataFile, DataFile]]:
    """Return the files of a group in pairs, one for each run: rows and blocks."""
    return list(zip(files[::2], files[1::2], strict=True))
