"""Sample texts of indexed files, and compare their n-grams with the entries that an index has of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from starskip.indexes.secondary.build_run import build_run
from starskip.indexes.secondary.data_file import DataFileOfTable
from starskip.indexes.secondary.entries import addresses_of, entries_of, rising_bitmap
from starskip.indexes.secondary.key_range import KeyRange
from starskip.indexes.secondary.row_batches import row_batches
from starskip.indexes.secondary.secondary_index import SecondaryIndex
from starskip.indexes.secondary.table_schema import TableSchema, field_values
from starskip.indexes.skipping.metadata.metadata_files import joined
from starskip.predicates.ordered_values import valid_mask

SAMPLED_FILES, SAMPLED_ROWS, SAMPLED_BYTES = 4, 256, 1 << 16
"""Files of a segment, neighbouring rows of each, and about the bytes of their texts."""
_NONE_STOPPED = 2.0
Entry = tuple[bytes, int]


@dataclass(frozen=True, slots=True)
class TextsToSample:
    """Task that reads some rows of files; ``files``: with their positions in their segment."""

    index: SecondaryIndex
    files: Sequence[tuple[int, DataFileOfTable]]
    schema: TableSchema

    def entries(self) -> TextSample:
        """Return all entries of the rows, none of them stopped. Raises SourceError."""
        found = [self._entries(position, file) for position, file in self.files]
        rows = BitMap64.union(BitMap64(), *(each for each, _ in found)).serialize()
        return TextSample(bytes(rows), [entry for _, entries in found for entry in entries])

    def _entries(self, position: int, file: DataFileOfTable) -> tuple[BitMap64, list[Entry]]:
        (path,) = self.index.paths
        first = next(row_batches(file, [path[0]], self.schema), None)
        if first is None or not first.rows.num_rows:
            return BitMap64(), []
        texts = field_values(first.rows, path).slice(0, SAMPLED_ROWS)
        sizes = np.cumsum(pc.fill_null(pc.binary_length(texts), 0).to_numpy())
        texts = texts.slice(0, max(1, int(np.searchsorted(sizes, SAMPLED_BYTES, "right"))))
        addresses = addresses_of(position, np.arange(first.start, first.start + len(texts)))
        run = build_run(self.index, [texts], addresses, stop_share=_NONE_STOPPED)
        return rising_bitmap(addresses), _entries_of(run)


@dataclass(frozen=True, slots=True)
class TextSample:
    """The addresses of sampled rows, as a serialised bitmap, and all their entries."""

    rows: bytes
    entries: Sequence[Entry]

    def within(self, wanted: KeyRange) -> TextSample:
        """Return the entries with keys in a range, of the same rows."""
        low, high = (None if each is None else each[0].as_py() for each in (wanted.low, wanted.high))
        mine = [
            (key, address)
            for key, address in self.entries
            if (low is None or key >= low) and (high is None or key < high)
        ]
        return TextSample(self.rows, mine)


@dataclass
class SampledEntries:
    """Collects what an index has of sampled rows."""

    sample: TextSample
    found: set[Entry] = field(default_factory=set)
    stopped: set[bytes] = field(default_factory=set)

    def add(self, rows: pa.Table) -> None:
        """Take the rows of a run."""
        without = ~valid_mask(joined(rows, "address")) & ~valid_mask(joined(rows, "postings"))
        self.stopped.update(joined(rows, "key").filter(pa.array(without)).to_pylist())
        sampled = BitMap64.deserialize(self.sample.rows)
        if sampled:
            low, high = int(sampled.min()), int(sampled.max())
            single = rows["address"].fill_null(-1).to_numpy()
            near = ((single >= low) & (single <= high)) | valid_mask(joined(rows, "postings"))
            self.found.update(_entries_of(rows.filter(pa.array(near)), sampled))

    def faults(self) -> tuple[int, int]:
        """Return how many entries of the rows are missing, and how many are not theirs."""
        expected = {each for each in self.sample.entries if each[0] not in self.stopped}
        found = {each for each in self.found if each[0] not in self.stopped}
        return len(expected - found), len(found - expected)


def _entries_of(rows: pa.Table, sampled: BitMap64 | None = None) -> list[Entry]:
    at, addresses = entries_of(rows)
    if sampled is not None:
        mine = np.isin(addresses, np.array(sampled.to_array(), np.uint64))
        at, addresses = at.filter(pa.array(mine)), addresses[mine]
    keys = joined(rows, "key").take(at).to_pylist()
    return list(zip(keys, addresses.tolist(), strict=True))
