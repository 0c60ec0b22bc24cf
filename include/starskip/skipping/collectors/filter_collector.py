"""Collect the Bloom filter of a file from hashes of its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from starskip.skipping.bloom_filters import bloom_filter
from starskip.skipping.collectors.distinct_hashes import DistinctHashes
from starskip.skipping.file_collector import FileCollector

_PART = 1 << 17


def hash_of(column: str) -> str:
    """Return the SQL of a value's hash, null for null: Spark would hash null, too."""
    return f"if({column} IS NULL, NULL, xxhash64({column}))"


class FilterCollector(FileCollector):
    """Collects ``hashes`` (int64) of rows as ``filter``, sized by their number."""

    def __init__(self, false_positive_ratio: float) -> None:
        """Start empty; see DistinctHashes."""
        self._ratio = false_positive_ratio
        self._hashes = DistinctHashes()

    @property
    def size_bytes(self) -> int:
        """See FileCollector."""
        return self._hashes.size_bytes

    def add(self, rows: pa.RecordBatch) -> None:
        """See FileCollector."""
        found = rows.column("hashes").drop_null().to_numpy(zero_copy_only=False)
        self._hashes.add(found.view(np.uint64))

    def parts(self) -> Iterator[pa.RecordBatch]:
        """See FileCollector."""
        for chunk in self._hashes.chunks():
            for start in range(0, len(chunk), _PART):
                piece = pa.array(chunk[start : start + _PART].view(np.int64))
                yield pa.record_batch({"hashes": piece})

    def merge(self, part: pa.RecordBatch) -> None:
        """See FileCollector."""
        self._hashes.add(part.column("hashes").to_numpy().view(np.uint64))

    def result(self) -> Mapping[str, pa.Array]:
        """See FileCollector."""
        return {"filter": bloom_filter(self._hashes.chunks(), self._hashes.count(), self._ratio)}
