"""Check the entries of a part of an index, and gather by rows what parts have found: tasks of a check.

A row of a b-tree may have its entry under any key. So a part gives the addresses that it has as bitmaps of
windows of rows, which are brought together by window; the points of a file come beside them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from starskip.indexes.secondary.check_blocks import (
    BlockFaults,
    block_faults,
    disordered_blocks,
    torn_lists,
)
from starskip.indexes.secondary.check_sample import SampledEntries, TextSample
from starskip.indexes.secondary.data_file import DataFileOfTable
from starskip.indexes.secondary.entries import (
    Addresses,
    addresses_in,
    addresses_of,
    entries_of,
    file_of,
    serialised,
)
from starskip.indexes.secondary.merge_cuts import RunFiles
from starskip.indexes.secondary.merge_segments import DisorderedKeys, MergePart
from starskip.indexes.secondary.row_batches import row_batches
from starskip.indexes.secondary.run_reader import RunReader
from starskip.indexes.secondary.secondary_index import Kind, SecondaryIndex, secondary_index
from starskip.indexes.secondary.table_schema import TableSchema, field_values
from starskip.indexes.skipping.metadata.metadata_files import joined
from starskip.predicates.ordered_values import equal, order_keys, valid_mask
from starskip.storage.storage import Storage

FAULTS = ("disordered_keys", "keys_out_of_bounds", "unlike_counts", "rows_without_entry", "entries_too_many")
"""Blocks with keys in no order, with keys or points outside their bounds, with counts, reach or bitmaps
unlike their entries; then live rows without an entry, and entries beyond one a row, or of no row."""
_KEY = [("index", pa.string()), ("segment", pa.string()), ("window", pa.int64())]
_COUNTS = [(name, pa.int64()) for name in FAULTS]
FOUND = pa.schema([*_KEY, *_COUNTS, ("expected", pa.bool_()), ("entries", pa.int64()), ("rows", pa.binary())])
TOTALS = pa.schema([*_KEY, *_COUNTS])
WINDOW_ROWS = 1 << 22
"""Rows of neighbouring files whose entries are gathered together; a file has one window."""
_NO_WINDOW = -1


@dataclass(frozen=True)
class SegmentFiles:
    """A segment's ``file_rows`` by position, and the ``live`` files, of which rows are expected."""

    file_rows: npt.NDArray[np.int64]
    live: npt.NDArray[np.bool_]

    @property
    def windows(self) -> npt.NDArray[np.int64]:
        """The first file of each window, of which there is one at least."""
        numbers = (np.cumsum(self.file_rows) - self.file_rows) // WINDOW_ROWS
        return np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))


@dataclass(frozen=True, slots=True)
class PartToCheck:
    """Task that reads a part of an index's entries in a segment; ``windows``: the first file of each."""

    segment: str
    part: MergePart
    windows: npt.NDArray[np.int64]
    sample: TextSample | None = None

    def found(self) -> Iterator[pa.RecordBatch]:
        """Yield the faults of the part, and the addresses of its rows. Raises StorageError."""
        index, within = self.part.index, self.part.within
        blocks = _Blocks(index)
        rows = _Windows(self.windows)
        sampled = None if self.sample is None else SampledEntries(self.sample)
        twice = disordered = 0
        try:
            for piece in self.part.merged(blocks.see):
                if index.kind_of_index is Kind.NGRAM:
                    twice += _doubled(piece)
                    if sampled is not None:
                        sampled.add(piece)
                else:
                    rows.add(entries_of(piece)[1])
        except DisorderedKeys:
            disordered = 1
        counts = blocks.counts()
        counts["disordered_keys"] += disordered
        if index.kind_of_index is not Kind.RTREE and within.low is None:
            readers = (blocks.reader(self.part.storage, run) for run in self.part.runs)
            counts["disordered_keys"] += sum(map(disordered_blocks, readers))
        missing, strange = (0, 0) if sampled is None else sampled.faults()
        counts |= {"rows_without_entry": missing, "entries_too_many": twice + strange}
        of = {"index": index.specification, "segment": self.segment}
        yield _batch([{**of, "window": _NO_WINDOW, **counts}])
        if within.low is None and index.kind_of_index is not Kind.NGRAM:
            # Of a window without an entry no other row tells.
            yield _batch([{**of, "window": window} for window in range(len(self.windows))])
        for each in rows.batches():
            yield _batch([{**of, **each}])


@dataclass(frozen=True, slots=True)
class PointsToCheck:
    """Task that reads which rows of some files have a value of both coordinates.

    ``files``: with their positions in the segment.
    """

    segment: str
    index: SecondaryIndex
    files: Sequence[tuple[int, DataFileOfTable]]
    schema: TableSchema
    windows: npt.NDArray[np.int64]

    def found(self) -> Iterator[pa.RecordBatch]:
        """Yield the addresses of the points that an index must have. Raises SourceError."""
        of = {"index": self.index.specification, "segment": self.segment, "expected": True}
        rows = _Windows(self.windows)
        for position, file in self.files:
            for points in self._points(position, file):
                rows.add(points)
        for each in rows.batches():
            yield _batch([{**of, **each}])

    def _points(self, position: int, file: DataFileOfTable) -> Iterator[Addresses]:
        names = sorted({path[0] for path in self.index.paths})
        for batch in row_batches(file, names, self.schema):
            columns = [field_values(batch.rows, path) for path in self.index.paths]
            values = [each.cast(pa.float64()).fill_null(np.nan).to_numpy() for each in columns]
            at = np.flatnonzero(~(np.isnan(values[0]) | np.isnan(values[1])))
            yield addresses_of(position, batch.start + at)


@dataclass
class _Blocks:
    index: SecondaryIndex
    key_type: pa.DataType | None = None
    _readers: dict[str, RunReader] = field(default_factory=dict)
    _faults: dict[str, dict[int, BlockFaults]] = field(default_factory=dict)

    def see(self, reader: RunReader, number: int, rows: pa.Table) -> None:
        self.key_type = reader.key_type
        self._readers[reader.rows.name] = reader
        of_run = self._faults.setdefault(reader.rows.name, {})
        if number not in of_run:
            of_run[number] = block_faults(self.index, reader, number, rows)

    def reader(self, storage: Storage, run: RunFiles) -> RunReader:
        """Return the reader that the run was read by, if some block of it was."""
        return self._readers.get(run.rows.name) or run.reader(storage, self.key_type)

    def counts(self) -> dict[str, int]:
        found = [each for of_run in self._faults.values() for each in of_run.values()]
        torn = 0
        if self.index.kind_of_index is not Kind.RTREE:
            torn = sum(torn_lists(reader, self._faults[name]) for name, reader in self._readers.items())
        return {
            "disordered_keys": sum(each.disordered for each in found),
            "keys_out_of_bounds": sum(each.outside for each in found),
            "unlike_counts": torn + sum(each.unlike for each in found),
        }


@dataclass
class _Windows:
    """Bitmaps of addresses by window, and the number of entries that gave them."""

    files: npt.NDArray[np.int64]
    found: dict[int, BitMap64] = field(default_factory=dict)
    entries: dict[int, int] = field(default_factory=dict)

    def add(self, addresses: Addresses) -> None:
        of = np.searchsorted(self.files, file_of(addresses), "right") - 1
        for window in np.unique(of).tolist():
            mine = addresses[of == window]
            self.found.setdefault(window, BitMap64()).update(BitMap64(np.sort(mine)))
            self.entries[window] = self.entries.get(window, 0) + len(mine)

    def batches(self) -> Iterator[dict[str, Any]]:
        for window, rows in self.found.items():
            yield {"window": window, "entries": self.entries[window], "rows": serialised(rows)}


def _doubled(rows: pa.Table) -> int:
    """Return the entries of a piece that it has twice: lists with more entries than rows, equal singles."""
    lists = rows.filter(pa.array(valid_mask(joined(rows, "postings"))))
    lengths = [len(BitMap64.deserialize(each)) for each in lists["postings"].to_pylist()]
    single = rows.filter(pa.array(valid_mask(joined(rows, "address"))))
    keys = order_keys(joined(single, "key"))
    of_key = np.cumsum(np.concatenate([[0], ~equal(keys[1:], keys[:-1])])[: len(single)])
    addresses = single["address"].to_numpy()
    order = np.lexsort((addresses, of_key))
    again = (np.diff(of_key[order]) == 0) & (np.diff(addresses[order]) == 0)
    return int(lists["entries"].to_numpy().sum()) - sum(lengths) + int(np.count_nonzero(again))


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    empty: dict[str, Any] = {**dict.fromkeys(FAULTS, 0), "expected": False, "entries": 0, "rows": b""}
    return pa.RecordBatch.from_pylist([empty | row for row in rows], schema=FOUND)


@dataclass(frozen=True)
class Totals:
    """Brings together what tasks have found in a window of rows.

    ``files``: those of each segment; ``readable``: of which only those are live whose points were read.
    """

    files: Mapping[str, SegmentFiles]
    readable: Mapping[str, SegmentFiles]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the faults of each index, segment and window; see Rows.merge."""
        found: dict[tuple[str, str, int], _Window] = {}
        for batch in batches:
            for row in batch.to_pylist():
                key = row["index"], row["segment"], row["window"]
                found.setdefault(key, _Window()).add(row)
        for (index, segment, window), of in found.items():
            if window != _NO_WINDOW:
                is_points = secondary_index(index).kind_of_index is Kind.RTREE
                files = (self.readable if is_points else self.files)[segment]
                of.compare(files, window, is_points=is_points)
            row = {"index": index, "segment": segment, "window": window, **of.counts}
            yield pa.RecordBatch.from_pylist([row], schema=TOTALS)


@dataclass
class _Window:
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAULTS, 0))
    entries: int = 0
    rows: BitMap64 = field(default_factory=BitMap64)
    expected: BitMap64 = field(default_factory=BitMap64)

    def add(self, row: Mapping[str, Any]) -> None:
        for name in FAULTS:
            self.counts[name] += row[name]
        if row["rows"]:
            (self.expected if row["expected"] else self.rows).update(BitMap64.deserialize(row["rows"]))
        self.entries += 0 if row["expected"] else row["entries"]

    def compare(self, of: SegmentFiles, window: int, *, is_points: bool) -> None:
        files = np.append(of.windows, len(of.live))
        mine = np.arange(files[window], files[window + 1])
        live_rows = BitMap64()
        for file in mine[of.live[mine]].tolist():
            live_rows.add_range(file << 32, (file << 32) + int(of.file_rows[file]))
        expected = self.expected if is_points else live_rows
        self.counts["rows_without_entry"] += expected.difference_cardinality(self.rows)
        # Entries of dead files stay until they are optimized away.
        files_beside = file_of(addresses_in(self.rows - live_rows))
        known = files_beside < len(of.live)
        is_dead = known & ~of.live[np.where(known, files_beside, 0)]
        strange = int(np.count_nonzero(~is_dead)) + (self.rows & live_rows).difference_cardinality(expected)
        self.counts["entries_too_many"] += self.entries - len(self.rows) + strange
