"""Merge the runs of all segments of an index into few, in memory that does not grow with them.

Runs of keys are merged as sorted streams: keys below the least of the streams' last keys are complete. Points
of r-trees are merged slice by slice of x. A part is a range of keys, or of x, and each part has a task of its
own. A written run begins behind the keys, or slices, of the run before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from starskip.errors import StorageError
from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import Keys, order_keys, positions, sorted_keys, valid_mask
from starskip.secondary.build_run import merge_runs
from starskip.secondary.collect_entries import RUN_BYTES
from starskip.secondary.entries import addresses_in, bitmap_of, file_of, serialised
from starskip.secondary.key_ranges import KeyRange
from starskip.secondary.merge_cuts import RunFiles, in_range
from starskip.secondary.run_files import write_run
from starskip.secondary.run_reader import RunReader
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

Places = npt.NDArray[np.int64]
"""The new number of each file of a segment, -1 for a dead file."""
_SHARE = 4
"""The rows that streams have read ahead, or a slice of points, are this part of a run."""


@dataclass(frozen=True, slots=True)
class MergePart:
    """Task that merges the runs of an index within a range of keys; it may run in another process.

    Null belongs to the range without an end.
    """

    storage: Storage
    index: SecondaryIndex
    runs: tuple[RunFiles, ...]
    within: KeyRange

    def written(self, staged: StagedWrite) -> tuple[DataFile, ...]:
        """Write the live entries of the part as runs of about RUN_BYTES each.

        Raises StorageError naming a run that is gone or damaged.
        """
        files: list[DataFile] = []
        held: list[pa.Table] = []
        held_bytes = 0
        for piece in self.merged():
            held.append(piece)
            held_bytes += piece.nbytes
            if held_bytes >= RUN_BYTES:
                files.extend(self._run(staged, held))
                held, held_bytes = [], 0
        if held:
            files.extend(self._run(staged, held))
        return tuple(files)

    def merged(self) -> Iterator[pa.Table]:
        """Yield the live entries in the order of their keys, each key in one piece; points slice by slice.

        Raises StorageError naming a run that is gone or damaged.
        """
        if not self.runs:
            return iter(())
        # Files of older segments had a narrower type.
        readers = [run.reader(self.storage) for run in self.runs]
        schema = pa.unify_schemas([reader.empty.schema for reader in readers], promote_options="permissive")
        is_points = self.index.kind_of_index is Kind.RTREE
        kind = None if is_points else schema.field("key").type
        streams = [
            _Stream(reader.typed(kind), _places(self.storage, run), schema, self.within)
            for reader, run in zip(readers, self.runs, strict=True)
        ]
        return _points(streams, self.within) if is_points else _merged(self.index, streams)

    def _run(self, staged: StagedWrite, pieces: Sequence[pa.Table]) -> tuple[DataFile, ...]:
        if self.index.kind_of_index is Kind.RTREE:
            return write_run(staged, self.index, merge_runs(self.index, pieces))
        return write_run(staged, self.index, pa.concat_tables(pieces).combine_chunks())


def write_places(staged: StagedWrite, places: Places) -> DataFile:
    """Write the new numbers of a segment's files; no version names the file, so a vacuum removes it."""
    return staged.write_file("places", "places.bin", places.astype(np.int64).tobytes())


def _places(storage: Storage, run: RunFiles) -> Places | None:
    if run.places is None:
        return None
    content = storage.read(run.places.name)
    if content is None or len(content) != run.places.size_bytes:
        raise StorageError(f"{run.places.name}: is gone; run this again", location=run.places.name)
    return np.frombuffer(content, np.int64)


@dataclass
class _Stream:
    """A run whose blocks within a range of keys are read one after the other.

    ``held``: rows that are not merged yet; ``nulls``: rows of null.
    """

    reader: RunReader
    places: Places | None
    schema: pa.Schema
    within: KeyRange
    held: pa.Table | None = None
    keys: Keys = None
    nulls: list[pa.Table] = field(default_factory=list)
    _read: int = 0

    @cached_property
    def _blocks(self) -> range:
        blocks = self.reader.overlapping(self.within)[0]
        # The block of null comes after all others.
        return blocks if self.within.high is not None else range(blocks.start, self.reader.row_groups)

    @property
    def has_more(self) -> bool:
        return self._read < len(self._blocks)

    @property
    def rows(self) -> int:
        return 0 if self.held is None else int(self.held.num_rows)

    def block(self, number: int) -> pa.Table:
        """Return the rows of a block, dead entries and old numbers included."""
        return self.reader.block(number).cast(self.schema)

    def live(self, rows: pa.Table) -> pa.Table:
        return rows if self.places is None else renumbered(rows, self.places)

    def read_on(self, at_least_bytes: int) -> None:
        """Add the live rows of further blocks to the held rows."""
        found = [] if self.held is None else [self.held]
        read_bytes = 0
        while self.has_more and read_bytes < at_least_bytes:
            rows = self.block(self._blocks[self._read])
            self._read += 1
            keyed = rows.num_rows - rows.column(0).null_count
            if keyed < rows.num_rows and self.within.high is None:
                self.nulls.append(self.live(rows.slice(keyed)))
            rows = self.live(self.reader.slice_of(rows, self.within))
            read_bytes += rows.nbytes
            found.append(rows)
        self.held = pa.concat_tables(found).combine_chunks() if found else None
        if self.held is not None:
            self.keys = order_keys(joined(self.held, "key"))

    def taken(self, count: int) -> pa.Table:
        """Remove and return the first held rows."""
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
        # The stream with the least last key may have more rows of that key.
        least = _least([stream.keys[-1:] for stream in unfinished])
        counts = [int(positions(stream.keys, least, "left")[0]) for stream in held]
        if any(counts):
            of = zip(held, counts, strict=True)
            yield merge_runs(index, [stream.taken(count) for stream, count in of if count])
            continue
        at_their_end = [
            stream for stream in unfinished if positions(stream.keys, least, "right")[0] == stream.rows
        ]
        if not at_their_end:
            name = unfinished[0].reader.rows.name
            raise StorageError(
                f"{name}: its keys are not in order; refresh the metadata in full", location=name
            )
        for stream in at_their_end:
            stream.read_on(ahead_bytes)
    nulls = [rows for stream in streams for rows in stream.nulls]
    if nulls:
        yield merge_runs(index, nulls)


def _least(keys: Sequence[Keys]) -> Keys:
    if isinstance(keys[0], np.ndarray):
        return sorted_keys(np.concatenate(keys))[:1]
    return sorted_keys(pa.concat_arrays(keys))[:1]


def _points(streams: Sequence[_Stream], within: KeyRange) -> Iterator[pa.Table]:
    """Yield the points of a part slice by slice of x; each slice reads the blocks that it overlaps."""
    lows: list[npt.NDArray[np.float64]] = []
    highs: list[npt.NDArray[np.float64]] = []
    entries: list[npt.NDArray[np.int64]] = []
    numbers: list[npt.NDArray[np.int64]] = []
    for stream in streams:
        bounds = stream.reader.bounds
        low, high = (np.asarray(bounds[name].to_numpy()) for name in ("low_x", "high_x"))
        # A block that begins before the part may reach into it.
        mine = np.flatnonzero(in_range(low, within) | in_range(high, within) | _spans(low, high, within))
        lows.append(low[mine])
        highs.append(high[mine])
        entries.append(stream.reader.entries_of_each_block[mine])
        numbers.append(mine)
    cuts = _cuts(np.concatenate(lows), np.concatenate(entries))
    cuts = cuts[in_range(cuts, within)]
    for number in range(len(cuts) + 1):
        for stream, low, high, blocks in zip(streams, lows, highs, numbers, strict=True):
            first, last = (np.searchsorted(cuts, each, "right") for each in (low, high))
            for block in blocks[(first <= number) & (number <= last)].tolist():
                rows = stream.block(block)
                x = rows["x"].to_numpy()
                inside = in_range(x, within) & (np.searchsorted(cuts, x, "right") == number)
                if inside.any():
                    yield stream.live(rows if inside.all() else rows.filter(pa.array(inside)))


def _spans(
    low: npt.NDArray[np.float64], high: npt.NDArray[np.float64], within: KeyRange
) -> npt.NDArray[np.bool_]:
    """Return which blocks begin before the part and end behind it."""
    if within.low is None or within.high is None:
        return np.zeros(len(low), np.bool_)
    return np.asarray((low < order_keys(within.low)[0]) & (high >= order_keys(within.high)[0]))


def _cuts(lows: npt.NDArray[np.float64], entries: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return the values of x that cut blocks into slices of about as many points each."""
    order = np.argsort(lows, kind="stable")
    until = np.cumsum(entries[order])
    # x, y, the count of entries, and the address, of eight bytes each.
    slices = int(until[-1]) * 32 * _SHARE // RUN_BYTES if len(until) else 0
    at = np.searchsorted(until, [int(until[-1]) * each // (slices + 1) for each in range(1, slices + 1)])
    return np.unique(lows[order][at])


def renumbered(rows: pa.Table, places: Places) -> pa.Table:
    """Move the entries of a run to the new numbers of their files and drop entries of dead files."""
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
