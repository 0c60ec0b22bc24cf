"""Compare each entry of secondary indexes with the rows of the table, however large the indexes are.

The hashes of entries, each of a key and a row, are summed by windows of rows: once for the entries of the
runs, which are read block by block, and once for the rows of the files. Only where two sums differ are the
entries of that window themselves compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from starskip.errors import StorageError, StorageOutage
from starskip.file_metadata.column_cache import ColumnCache
from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import each_below, equal, valid_mask
from starskip.secondary.data_file import DataFileOfTable
from starskip.secondary.entries import Addresses, bitmaps_of, file_of, row_of
from starskip.secondary.entry_hashes import (
    Entries,
    entries_of_block,
    entries_of_file,
    stopped_keys,
)
from starskip.secondary.lifecycle import existing_indexes
from starskip.secondary.postings import IndexedSegment
from starskip.secondary.range_reads import fences_in
from starskip.secondary.run_reader import RunReader
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.secondary.table_files import listed_table
from starskip.secondary.table_schema import TableSchema
from starskip.secondary.table_to_index import FORMAT
from starskip.secondary.table_view import table_view
from starskip.skipping.splitmix64 import Hashes, mixed

WINDOW_ROWS = 1 << 12
"""Neighbouring rows of a file whose entries have one sum."""
_KEPT_BYTES = 16 << 20
"""Cache for the run that is being read: the bitmaps of neighbouring blocks lie together."""
_MEND = "`starskip secondary refresh --full` makes the indexes anew"
Files = Mapping[int, DataFileOfTable]
"""The files of a segment that did not change since they were indexed, by their positions."""


DISORDERED = "its keys are not in order"
OUTSIDE = "a key or point lies outside its bounds"
TORN = "a key has entries beside its list"
UNLIKE = "its counts, fences, reach or bitmap do not fit its entries"


def check_indexes(
    path: str,
    *,
    root: str | None = None,
    watched: Callable[[Sequence[int]], Iterable[int]] = iter,
) -> Mapping[str, int]:
    """Return the number of entries by index, for the indexes that queries use; all agree with the rows.

    Entries of files that are gone or changed are not compared, since no query uses them. ``watched`` wraps
    the positions of files, and may show progress. Raises StorageError for the first fault, and SourceError
    naming a file of the table that cannot be read.
    """
    metadata = existing_indexes(path, root)
    if metadata.why_outdated is not None:
        raise StorageError(metadata.why_outdated, location=metadata.storage.place)
    state = table_view(metadata, listed_table(path, metadata.source.options.get(FORMAT)))
    indexes = [each for each in state.indexes if each.kind_of_index is not Kind.PRIMARY]
    counts = dict.fromkeys((index.specification for index in indexes), 0)
    for segment in state.segments:
        files = {position: file for (name, position), file in state.files.items() if name == segment.name}
        checks = {index: _SegmentCheck(index, segment, state.schema, files) for index in indexes}
        for index, check in checks.items():
            with _naming(index):
                counts[index.specification] += check.add_runs()
        for position in watched(list(files)):
            for index, entries in entries_of_file(indexes, position, files[position], state.schema):
                checks[index].subtract(entries)
        for index, check in checks.items():
            with _naming(index):
                check.require_equal_sums()
    return counts


class _SegmentCheck:
    """An index in a segment: by window, the sum of its entries' hashes minus the sum that the rows give."""

    def __init__(
        self, index: SecondaryIndex, segment: IndexedSegment, schema: TableSchema, files: Files
    ) -> None:
        self._index, self._segment, self._schema, self._files = index, segment, schema, files
        windows = np.where(segment.live, segment.file_rows // WINDOW_ROWS + 1, 0)
        self._ends = np.cumsum(windows)
        self._firsts = self._ends - windows
        self._sums = np.zeros(int(windows.sum()), np.uint64)
        self._stopped: Hashes = np.empty(0, np.uint64)

    def add_runs(self) -> int:
        """Add the entries of all runs, and return their number. Raises StorageError for a fault."""
        if self._index.kind_of_index is Kind.NGRAM:
            of_runs = (
                stopped_keys(reader, reader.block(number))
                for reader in self._readers()
                for number in range(reader.row_groups)
            )
            self._stopped = np.unique(np.concatenate([self._stopped, *of_runs]))
        count = 0
        for entries in self._entries():
            count += len(entries[0])
            windows, hashes = self._hashes_by_window(entries)
            np.add.at(self._sums, windows, hashes)
        return count

    def subtract(self, entries: Entries) -> None:
        """Subtract entries that rows should have."""
        windows, hashes = self._hashes_by_window(entries)
        np.subtract.at(self._sums, windows, hashes)

    def require_equal_sums(self) -> None:
        """Raise StorageError for the first row whose entries differ from its values."""
        different = np.flatnonzero(self._sums)
        if not len(different):
            return
        window = int(different[0])
        position = int(np.searchsorted(self._ends, window, "right"))
        file = self._files[position]
        of_rows = entries_of_file([self._index], position, file, self._schema)
        expected = self._in_window(window, (entries for _, entries in of_rows))
        found = self._in_window(window, self._entries())
        address, what = _first_difference(found, expected)
        _raise(f"row {address & 0xFFFFFFFF:,} (the first is 0) of {file.path} {what}", file.path)

    def _in_window(self, window: int, source: Iterable[Entries]) -> Counter[tuple[int, int]]:
        found = Counter[tuple[int, int]]()
        for entries in source:
            addresses, keys = self._compared(entries)
            mine = self._windows(addresses) == window
            found.update(zip(addresses[mine].tolist(), keys[mine].tolist(), strict=True))
        return found

    def _hashes_by_window(self, entries: Entries) -> tuple[npt.NDArray[np.int64], Hashes]:
        addresses, keys = self._compared(entries)
        return self._windows(addresses), mixed(keys ^ mixed(addresses))

    def _compared(self, entries: Entries) -> Entries:
        """Leave out entries of files that are gone or changed, and of stopped keys."""
        addresses, keys = entries
        live = self._segment.live
        files = file_of(addresses)
        if len(files) and files.max() >= len(live):
            what = f"an entry is of file number {files.max():,}, and its segment has {len(live):,} files"
            _raise(what, self._segment.name)
        kept = live[files]
        if len(self._stopped):
            kept &= ~np.isin(keys, self._stopped)
        return addresses[kept], keys[kept]

    def _windows(self, addresses: Addresses) -> npt.NDArray[np.int64]:
        files = file_of(addresses)
        # An entry behind the end of a file counts for the file's last window, whose sum then differs.
        windows = self._firsts[files] + row_of(addresses) // WINDOW_ROWS
        return np.asarray(np.minimum(windows, self._ends[files] - 1))

    def _entries(self) -> Iterator[Entries]:
        """Yield the entries of all runs. Raises StorageError for a block that differs from its bounds."""
        for reader in self._readers():
            before = reader.empty
            for number in range(reader.row_groups):
                rows = reader.block(number)
                fault = block_fault(self._index, reader, number, rows, before)
                if fault is not None:
                    _raise(f"block {number:,} of {reader.rows.name}: {fault}", reader.rows.name)
                keyed = rows.num_rows - rows.column(0).null_count
                before = rows.slice(keyed - 1, 1) if keyed else before
                yield from entries_of_block(reader, rows)

    def _readers(self) -> Iterator[RunReader]:
        """Yield a reader of each run; its cache is freed before the next one."""
        for run in self._segment.runs[self._index.specification]:
            yield replace(run, cache=ColumnCache(_KEPT_BYTES))


def _first_difference(found: Counter[tuple[int, int]], expected: Counter[tuple[int, int]]) -> tuple[int, str]:
    """Return the least address whose entries differ, and the difference."""
    beside, missing = found - expected, expected - found
    address = min(each for each, _ in (*beside, *missing))
    of_row = [entry for entry in beside if entry[0] == address]
    if any(entry in expected for entry in of_row):
        return address, "has an entry twice"
    if not of_row:
        return address, "lacks an entry"
    is_replaced = any(each == address for each, _ in missing)
    return address, "has an entry under another key" if is_replaced else "has an entry too many"


@contextmanager
def _naming(index: SecondaryIndex) -> Iterator[None]:
    """Add the index's name to an error of its runs."""
    try:
        yield
    except StorageOutage:
        raise
    except StorageError as error:
        raise StorageError(f"{index.specification}: {error}", location=error.location) from error


def _raise(fault: str, location: str) -> NoReturn:
    raise StorageError(f"{fault}; {_MEND}", location=location)


def block_fault(
    index: SecondaryIndex, reader: RunReader, number: int, rows: pa.Table, before: pa.Table
) -> str | None:
    """Return the fault of a block, None for a sound one.

    ``rows``: as ``reader`` reads them, null's included. ``before``: the last row of the block before.
    """
    keyed = rows.slice(0, rows.num_rows - rows.column(0).null_count)
    null = rows.slice(keyed.num_rows)
    if null.num_rows and _is_unlike(index, reader, reader.keyed_blocks, null):
        return UNLIKE
    if not keyed.num_rows:
        return None
    if number >= reader.keyed_blocks:
        # If the bounds name only null, other keys in the block would never be found.
        return OUTSIDE
    if index.kind_of_index is Kind.RTREE:
        fault = OUTSIDE if _has_point_outside(reader, number, keyed) else None
    else:
        fault = _fault_of_keys(reader, number, keyed, before)
    return fault or (UNLIKE if _is_unlike(index, reader, number, keyed) else None)


def _fault_of_keys(reader: RunReader, number: int, rows: pa.Table, before: pa.Table) -> str | None:
    keys = reader.keys_of(joined(rows, "key"))
    for key, bounds in zip((keys[:1], keys[-1:]), reader.key_bounds, strict=True):
        if not equal(key, bounds[number : number + 1]).all():
            return OUTSIDE
    together = pa.concat_tables([before, rows])
    keys = reader.keys_of(joined(together, "key"))
    if each_below(keys[1:], keys[:-1]).any():
        return DISORDERED
    is_list = ~valid_mask(joined(together, "address"))
    return TORN if (equal(keys[1:], keys[:-1]) & (is_list[1:] | is_list[:-1])).any() else None


def _has_point_outside(reader: RunReader, number: int, rows: pa.Table) -> bool:
    for name, (lows, highs) in zip(("x", "y"), reader.boxes, strict=True):
        values: Any = rows[name].to_numpy()
        if not ((values >= lows[number]) & (values <= highs[number])).all():
            return True
    return False


def _is_unlike(index: SecondaryIndex, reader: RunReader, number: int, rows: pa.Table) -> bool:
    entries: Any = rows["entries"].to_numpy()
    if int(entries.sum()) != int(reader.entries_of_each_block[number]):
        return True
    single, postings = valid_mask(joined(rows, "address")), joined(rows, "postings")
    if (entries[single] != 1).any() or (single & valid_mask(postings)).any():
        return True
    stopped = ~single & ~valid_mask(postings)
    if (entries[stopped] < 1).any() or (stopped.any() and index.kind_of_index is not Kind.NGRAM):
        return True
    lists = [BitMap64.deserialize(content) for content in postings.drop_null().to_pylist()]
    if [len(each) for each in lists] != entries[valid_mask(postings)].tolist():
        return True
    if index.kind_of_index is Kind.NGRAM:
        return False
    fences = fences_in(reader, number) if index.kind_of_index is Kind.BTREE else None
    if fences is not None and not fences.fit(reader.keys_of(joined(rows, "key")), entries):
        return True
    found = BitMap64.union(BitMap64(), *bitmaps_of(rows.filter(pa.array(single))), *lists)
    low, high = reader.reach
    if found and not (low[number] <= int(found.min()) and int(found.max()) <= high[number]):
        return True
    bitmap = reader.bitmap(number)
    return bitmap is not None and bitmap != found
