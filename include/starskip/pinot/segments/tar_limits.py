"""Limits on the size and the compression of a tarred segment, against hostile ones."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TarLimits:
    """Limits of one tarred segment.

    ``decompression_ratio`` counts once ``ratio_free_bytes`` have come out: real segments stay under
    50, runs of zeros reach gzip's 1,032. ``metadata_bytes`` bounds metadata.properties and
    index_map each.
    """

    decompressed_bytes: int = 16 << 30
    decompression_ratio: int = 250
    ratio_free_bytes: int = 64 << 20
    members: int = 100_000
    metadata_bytes: int = 64 << 20
