"""Merge the runs of all segments of an index into few, in memory that does not grow with them.

Runs of keys are merged as sorted streams: what is below the last key that each has read is complete.
Points of r-trees are merged slice by slice of x. The keys, or slices, of a written run follow those of the
one before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from starskip.indexes.secondary.build_run import merge_runs
from starskip.indexes.secondary.collect_entries import RUN_BYTES
from starskip.indexes.secondary.entries import addresses_in, bitmap_of, file_of, serialised
from starskip.indexes.secondary.run_files import write_run
from starskip.indexes.secondary.run_reader import RunReader
from starskip.indexes.secondary.secondary_index import Kind, SecondaryIndex
from starskip.indexes.skipping.metadata.column_cache import ColumnCache
from starskip.indexes.skipping.metadata.metadata_files import joined
from starskip.predicates.ordered_values import Keys, order_keys, positions, sorted_keys, valid_mask
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite

Places = npt.NDArray[np.int64]
"""The new number of each file of a segment, -1 of a dead one."""
_SHARE = 4
"""All that streams have read ahead, or a slice of points, is this part of a run."""
_NOTHING_KEPT = ColumnCache(0)


@dataclass(frozen=True, slots=True)
class RunToMerge:
    """A run of a segment and the new numbers of the segment's files."""

    rows: DataFile
    blocks: DataFile
    places: Places


@dataclass(frozen=True, slots=True)
class MergeSegments:
    """Task that merges the runs of an index; it may run in another process."""

    aside: StagedWrite
    index: SecondaryIndex
    runs: tuple[RunToMerge, ...]

    def written(self) -> tuple[DataFile, ...]:
        """Write the live entries of all runs as runs of about RUN_BYTES each.

        Raises StorageError naming a run that is gone or damaged.
        """
        streams = [
            _Stream(RunReader(self.aside.storage, run.rows, run.blocks, cache=_NOTHING_KEPT), run.places)
            for run in self.runs
        ]
        # Files of older segments had a narrower type.
        schema = pa.unify_schemas(
            [stream.reader.empty.schema for stream in streams], promote_options="permissive"
        )
        for stream in streams:
            stream.schema = schema
        if self.index.kind_of_index is Kind.RTREE:
            return self._written(_points(streams))
        return self._written(_merged(self.index, streams))

    def _written(self, pieces: Iterable[pa.Table]) -> tuple[DataFile, ...]:
        files: list[DataFile] = []
        held: list[pa.Table] = []
        held_bytes = 0
        for piece in pieces:
            held.append(piece)
            held_bytes += piece.nbytes
            if held_bytes >= RUN_BYTES:
                files.extend(self._run(held))
                held, held_bytes = [], 0
        if held:
            files.extend(self._run(held))
        return tuple(files)

    def _run(self, pieces: Sequence[pa.Table]) -> tuple[DataFile, ...]:
        if self.index.kind_of_index is Kind.RTREE:
            return write_run(self.aside, self.index, merge_runs(self.index, pieces))
        return write_run(self.aside, self.index, pa.concat_tables(pieces).combine_chunks())


@dataclass
class _Stream:
    """A run whose blocks are read one after the other.

    ``held``: rows that are not merged yet; ``nulls``: those of null.
    """

    reader: RunReader
    places: Places
    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))
    held: pa.Table | None = None
    keys: Keys = None
    nulls: list[pa.Table] = field(default_factory=list)
    _next: int = 0

    @property
    def has_more(self) -> bool:
        return self._next < self.reader.row_groups

    @property
    def rows(self) -> int:
        return 0 if self.held is None else int(self.held.num_rows)

    def live(self, block: int) -> pa.Table:
        return renumbered(self.reader.block(block).cast(self.schema), self.places)

    def read_on(self, at_least_bytes: int) -> None:
        """Add the live rows of further blocks to those held."""
        found = [] if self.held is None else [self.held]
        read_bytes = 0
        while self.has_more and read_bytes < at_least_bytes:
            rows = self.live(self._next)
            self._next += 1
            valid = valid_mask(joined(rows, "key"))
            if not valid.all():
                self.nulls.append(rows.filter(pa.array(~valid)))
                rows = rows.filter(pa.array(valid))
            read_bytes += rows.nbytes
            found.append(rows)
        self.held = pa.concat_tables(found).combine_chunks() if found else None
        if self.held is not None:
            self.keys = order_keys(joined(self.held, "key"))

    def taken(self, count: int) -> pa.Table:
        """Return the first rows held, and hold them no more."""
        assert self.held is not None
        found = self.held.slice(0, count)
        self.held, self.keys = self.held.slice(count), self.keys[count:]
        return found


def _merged(index: SecondaryIndex, streams: Sequence[_Stream]) -> Iterator[pa.Table]:
    """Yield the rows of all streams in the order of their keys, each key in one piece; null comes last."""
    ahead_bytes = max(RUN_BYTES // (_SHARE * len(streams)), 1)
    while True:
        for stream in streams:
            if not stream.rows and stream.has_more:
                stream.read_on(ahead_bytes)
        held = [stream for stream in streams if stream.rows]
        if not held:
            break
        unfinished = [stream for stream in held if stream.has_more]
        if not unfinished:
            yield merge_runs(index, [stream.taken(stream.rows) for stream in held])
            continue
        # Of the least key that a stream ends with, more rows may follow in that stream.
        least = _least([stream.keys[-1:] for stream in unfinished])
        counts = [int(positions(stream.keys, least, "left")[0]) for stream in held]
        if any(counts):
            of = zip(held, counts, strict=True)
            yield merge_runs(index, [stream.taken(count) for stream, count in of if count])
            continue
        for stream in unfinished:
            if int(positions(stream.keys, least, "right")[0]) == stream.rows:
                stream.read_on(ahead_bytes)
    nulls = [rows for stream in streams for rows in stream.nulls]
    if nulls:
        yield merge_runs(index, nulls)


def _least(keys: Sequence[Keys]) -> Keys:
    if isinstance(keys[0], np.ndarray):
        return sorted_keys(np.concatenate(keys))[:1]
    return sorted_keys(pa.concat_arrays(keys))[:1]


def _points(streams: Sequence[_Stream]) -> Iterator[pa.Table]:
    """Yield the points of all streams slice by slice of x; each slice reads the blocks that it overlaps."""
    lows = [np.asarray(stream.reader.bounds["low_x"].to_numpy()) for stream in streams]
    highs = [np.asarray(stream.reader.bounds["high_x"].to_numpy()) for stream in streams]
    entries = [np.asarray(stream.reader.bounds["entries"].to_numpy()) for stream in streams]
    cuts = _cuts(np.concatenate(lows), np.concatenate(entries))
    for number in range(len(cuts) + 1):
        for stream, low, high in zip(streams, lows, highs, strict=True):
            first, last = (np.searchsorted(cuts, each, "right") for each in (low, high))
            for block in np.flatnonzero((first <= number) & (number <= last)).tolist():
                rows = stream.live(block)
                inside = np.searchsorted(cuts, rows["x"].to_numpy(), "right") == number
                if inside.any():
                    yield rows.filter(pa.array(inside))


def _cuts(lows: npt.NDArray[np.float64], entries: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the values of x that cut blocks into slices of about as many points each."""
    order = np.argsort(lows, kind="stable")
    until = np.cumsum(entries[order])
    # x, y, the count of entries, and the address, of eight bytes each.
    slices = int(until[-1]) * 32 * _SHARE // RUN_BYTES if len(until) else 0
    at = np.searchsorted(until, [int(until[-1]) * each // (slices + 1) for each in range(1, slices + 1)])
    return np.unique(lows[order][at])


def renumbered(rows: pa.Table, places: Places) -> pa.Table:
    """Move the entries of a run to the new numbers of their files and drop those of dead files."""
    valid = valid_mask(joined(rows, "address"))
    addresses = rows["address"].fill_null(0).to_numpy().view(np.uint64)
    moved = places[file_of(addresses)]
    addresses = _moved(addresses, moved)
    keep = ~valid | (moved >= 0)
    entries = rows["entries"].to_numpy().copy()
    postings = rows["postings"].to_pylist()
    for position, content in enumerate(postings):
        if content is not None:
            of = addresses_in(BitMap64.deserialize(content))
            to = places[file_of(of)]
            of = _moved(of, to)[to >= 0]
            entries[position], keep[position] = len(of), len(of) > 0
            postings[position] = serialised(bitmap_of(of))
    columns = [rows[name] for name in rows.column_names if name not in ("entries", "address", "postings")]
    address = pa.array(addresses.view(np.int64), mask=~valid)
    made = pa.table(
        [*columns, pa.array(entries), address, pa.array(postings, pa.binary())], names=rows.column_names
    )
    return made.filter(pa.array(keep))


def _moved(addresses: npt.NDArray[np.uint64], places: Places) -> npt.NDArray[np.uint64]:
    return (places.astype(np.uint64) << np.uint64(32)) | (addresses & np.uint64(0xFFFFFFFF))
