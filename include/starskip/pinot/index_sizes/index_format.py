"""Traits of a Pinot version's index format that decide the size of an index.

Read in the source of the release tags: run containers are allowed in inverted indexes from 0.9 on
(commit a3f17fe2332); range indexes are bit-sliced by default from 0.10 on
(IndexingConfig.DEFAULT_RANGE_INDEX_VERSION), but range indexes of multi-value columns in no version.
"""

from __future__ import annotations

from dataclasses import dataclass

from starskip.pinot.target_version import release_number

MAGIC_BYTES = 8
"""Stands before every index in a v3 segment's columns.psf and counts as part of it."""


@dataclass(frozen=True, slots=True)
class IndexFormat:
    """``has_run_containers``: in inverted indexes; ``has_bit_slices``: in range indexes."""

    has_run_containers: bool = True
    has_bit_slices: bool = True


def index_format(pinot_version: str) -> IndexFormat:
    """Return the format of ``pinot_version`` (such as 0.11 or 1.2.0)."""
    release = release_number(pinot_version)
    return IndexFormat(has_run_containers=release >= (0, 9), has_bit_slices=release >= (0, 10))
