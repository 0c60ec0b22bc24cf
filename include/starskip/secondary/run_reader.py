"""Read a run: gather the entries of key ranges, points of boxes and grams, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from starskip.errors import StorageError
from starskip.file_metadata.column_cache import ColumnCache
from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import Keys, order_keys, positions
from starskip.secondary.intersection import Addresses, Numbers, Pieces
from starskip.secondary.key_ranges import KeyRange
from starskip.secondary.keyed_block import BlockBitmaps, KeyedBlock, keyed_block, stretches_of
from starskip.storage.checked_parquet import opened_parquet
from starskip.storage.files.bytes_read import add_bytes_read
from starskip.storage.manifest import DataFile
from starskip.storage.storage import Storage

FIRST, LAST = "first_address", "last_address"
"""The least and the greatest address of a block; null for n-grams, whose blocks are read for single lists."""
BITMAPS_TOGETHER = 16
"""Bitmaps of neighbouring blocks in one row group."""


def paired(files: Sequence[DataFile]) -> list[tuple[DataFile, DataFile]]:
    """Return the files of a group in pairs, one for each run: rows and blocks."""
    return list(zip(files[::2], files[1::2], strict=True))


BLOCKS = ColumnCache(1 << 30)
"""Blocks of indexes that this process has read."""
_DAMAGE = (OSError, ValueError, LookupError, pa.ArrowException)
_OF_ANY_TYPE = ("_opened", "_opened_blocks", "bounds")
_ANY = np.iinfo(np.int64).max
Mask = npt.NDArray[np.bool_]
Coordinates = npt.NDArray[np.float64]


@dataclass(slots=True)
class ReadCounts:
    """Counts of entries that a query has read from an index; for bytes see ``storage.files.bytes_read``."""

    entries: int = 0


@dataclass(slots=True)
class Overlap:
    """Blocks of a run that overlap a range of keys, the blocks within it, and its entries once counted."""

    blocks: range
    within: range
    entries: int | None = None


@dataclass(frozen=True)
class RunReader:
    """One run; ``key_type``: the type as which keys compare, to which narrower keys are cast.

    ``asked_points``: blocks of an r-tree whose points were tested.
    """

    storage: Storage
    rows: DataFile
    blocks: DataFile
    key_type: pa.DataType | None = None
    cache: ColumnCache = field(default=BLOCKS, repr=False)
    asked_points: set[int] = field(default_factory=set, repr=False, compare=False)

    def typed(self, key_type: pa.DataType | None) -> RunReader:
        """Return a reader of the run whose keys compare as another type; open files stay open."""
        made = replace(self, key_type=key_type)
        made.__dict__.update({name: self.__dict__[name] for name in _OF_ANY_TYPE if name in self.__dict__})
        return made

    @cached_property
    def _opened(self) -> Any:
        return self._parquet(self.rows)

    @cached_property
    def _opened_blocks(self) -> Any:
        return self._parquet(self.blocks)

    def _parquet(self, file: DataFile) -> Any:
        try:
            opened = self.storage.arrow_filesystem().open_input_file(file.name)
            parquet = opened_parquet(opened, file)
        except _DAMAGE as error:
            raise _damaged(file) from error
        add_bytes_read(parquet.metadata.serialized_size)
        return parquet

    @cached_property
    def bounds(self) -> pa.Table:
        """The bounds and entries of all blocks, without their bitmaps."""
        parquet = self._opened_blocks
        names = [name for name in parquet.schema_arrow.names if name != "bitmap"]
        try:
            # They are as short as blocks (see ``block``).
            found = parquet.read(columns=names, use_threads=False).combine_chunks()
        except _DAMAGE as error:
            raise _damaged(self.blocks) from error
        add_bytes_read(_stored(parquet.metadata, range(parquet.metadata.num_row_groups), names))
        return found

    @property
    def empty(self) -> pa.Table:
        """A table without rows, of the run's columns."""
        return self._opened.schema_arrow.empty_table()

    @property
    def entries(self) -> int:
        """The number of entries of the run."""
        return int(self._entries.sum())

    @cached_property
    def _entries(self) -> npt.NDArray[np.int64]:
        return np.asarray(self.bounds["entries"].to_numpy(), np.int64)

    @property
    def entries_of_each_block(self) -> npt.NDArray[np.int64]:
        """The number of entries of each block, null's last."""
        return self._entries

    @cached_property
    def stored_bytes(self) -> npt.NDArray[np.int64]:
        """The stored bytes of each piece that ``block`` reads."""
        return np.array([_stored(self._opened.metadata, [at]) for at in range(self.row_groups)], np.int64)

    @cached_property
    def keyed_blocks(self) -> int:
        """The number of blocks with keys; a further block holds null."""
        return int(self.bounds.num_rows - self.bounds.column(0).null_count)

    @cached_property
    def _lows(self) -> Keys:
        return self.keys_of(joined(self.bounds, "low").slice(0, self.keyed_blocks))

    @cached_property
    def _highs(self) -> Keys:
        return self.keys_of(joined(self.bounds, "high").slice(0, self.keyed_blocks))

    @property
    def key_bounds(self) -> tuple[Keys, Keys]:
        """The first and the last key of each block with keys, in comparable form."""
        return self._lows, self._highs

    @cached_property
    def bounds_as_bytes(self) -> tuple[list[bytes], list[bytes]]:
        """The first and the last key of each block of n-grams."""
        return self.bounds["low"].to_pylist(), self.bounds["high"].to_pylist()

    def keys_of(self, values: pa.Array) -> Keys:
        """Return keys that compare with the run's keys."""
        # Bounds of a prefix are bytes, and need not be valid text.
        as_they_are = self.key_type in (None, values.type) or pa.types.is_binary(values.type)
        if as_they_are:
            return order_keys(values)
        # Whole numbers become doubles if a later JSON file made the column double: Spark rounds them, too.
        is_rounded = pa.types.is_floating(self.key_type) and pa.types.is_integer(values.type)
        return order_keys(values.cast(self.key_type, safe=not is_rounded))

    @cached_property
    def reach(self) -> tuple[Addresses, Addresses]:
        """The least and the greatest address of each block; for n-grams any address."""
        first, last = self.bounds[FIRST].fill_null(0), self.bounds[LAST].fill_null(_ANY)
        return first.to_numpy().astype(np.uint64), last.to_numpy().astype(np.uint64)

    @cached_property
    def is_stretch(self) -> Mask:
        """True if a block has all addresses from its least to its greatest, so that it need not be read."""
        low, high = self.reach
        return np.asarray(high - low == (self._entries - 1).astype(np.uint64))

    @property
    def row_groups(self) -> int:
        """The number of pieces that ``block`` reads, null's included."""
        return int(self._opened.metadata.num_row_groups)

    def block(self, number: int) -> pa.Table:
        """Return the rows of one block, from the cache if they are there."""

        def load() -> pa.Table:
            try:
                # A block is short: handing its columns to threads takes longer than decoding them.
                found = self._opened.read_row_group(number, use_threads=False).combine_chunks()
            except _DAMAGE as error:
                raise _damaged(self.rows) from error
            add_bytes_read(_stored(self._opened.metadata, [number]))
            return found

        found: pa.Table = self.cache.get((self.storage.place, self.rows.name, number), load)
        return found

    def bitmap(self, number: int) -> BitMap64 | None:
        """Return the bitmap of all entries of a block, not to be changed; None if it has none."""
        group = number // BITMAPS_TOGETHER

        def load() -> BlockBitmaps:
            try:
                read = self._opened_blocks.read_row_group(group, columns=["bitmap"], use_threads=False)
                found = joined(read, "bitmap")
            except _DAMAGE as error:
                raise _damaged(self.blocks) from error
            add_bytes_read(_stored(self._opened_blocks.metadata, [group], ["bitmap"]))
            return BlockBitmaps(found)

        bitmaps: BlockBitmaps = self.cache.get((self.storage.place, self.blocks.name, group), load)
        return bitmaps.bitmap(number % BITMAPS_TOGETHER)

    def overlapping(self, wanted: KeyRange) -> tuple[range, range]:
        """Return the blocks that overlap a range of keys, and the blocks that lie within it."""
        found = self.overlap(wanted)
        return found.blocks, found.within

    def overlap(self, wanted: KeyRange) -> Overlap:
        """Return the overlap of a key range with the run; it is kept as long as the range.

        A plan asks the same again and again.
        """
        found = self._overlaps.get(wanted)
        if found is None:
            found = self._overlaps[wanted] = Overlap(*self._overlapping(wanted))
        return found

    @cached_property
    def _overlaps(self) -> WeakKeyDictionary[KeyRange, Overlap]:
        return WeakKeyDictionary()

    def _overlapping(self, wanted: KeyRange) -> tuple[range, range]:
        if wanted.of_null:
            null = range(self.keyed_blocks, self.bounds.num_rows)
            return null, null
        blocks = self.keyed_blocks
        first = first_within = 0
        end = end_within = blocks
        if wanted.low is not None:
            low = self.keys_of(wanted.low)
            first = int(positions(self._highs, low, "left" if wanted.low_included else "right")[0])
            first_within = int(positions(self._lows, low, "left" if wanted.low_included else "right")[0])
        if wanted.high is not None:
            high = self.keys_of(wanted.high)
            end = int(positions(self._lows, high, "right" if wanted.high_included else "left")[0])
            end_within = int(positions(self._highs, high, "right" if wanted.high_included else "left")[0])
        return range(first, max(first, end)), range(first_within, max(first_within, end_within))

    def slice_of(self, rows: pa.Table, wanted: KeyRange) -> pa.Table:
        """Return the rows of a block whose keys lie in a range."""
        keys = joined(rows, "key")
        valid = len(keys) - keys.null_count
        if wanted.of_null:
            return rows.slice(valid)
        start, end = self._places(self.keys_of(keys.slice(0, valid)), wanted)
        return rows.slice(start, end - start)

    def _places(self, ordered: Keys, wanted: KeyRange) -> tuple[int, int]:
        """Return where the keys of a range begin and end among rising keys."""
        start, end = 0, len(ordered)
        if wanted.low is not None:
            low = self.keys_of(wanted.low)
            start = int(positions(ordered, low, "left" if wanted.low_included else "right")[0])
        if wanted.high is not None:
            high = self.keys_of(wanted.high)
            end = int(positions(ordered, high, "right" if wanted.high_included else "left")[0])
        return start, max(start, end)

    def stored_rows(self, number: int) -> int:
        """Return the rows of a block; a row is an entry, or a key with all of its entries."""
        return int(self._opened.metadata.row_group(number).num_rows)

    def is_held(self, number: int) -> bool:
        """Return whether a block is in memory."""
        return self.cache.holds((self.storage.place, self.rows.name, number))

    def unread_bitmaps(self, blocks: range) -> int:
        """Return the number of bitmap pieces that neighbouring blocks would read."""
        groups = range(blocks.start // BITMAPS_TOGETHER, -(-blocks.stop // BITMAPS_TOGETHER))
        keys = ((self.storage.place, self.blocks.name, group) for group in groups if len(blocks))
        return sum(not self.cache.holds(key) for key in keys)

    def pieces(self, wanted: KeyRange, read: ReadCounts) -> Pieces:
        """Return the blocks with entries in a range, none of them read; for runs without stopped keys."""
        overlapping, within = self.overlapping(wanted)
        low, high = (each[overlapping.start : overlapping.stop] for each in self.reach)

        def parts(numbers: Numbers, among: BitMap64 | None) -> Iterable[BitMap64]:
            blocks = numbers + overlapping.start
            is_within = (blocks >= within.start) & (blocks < within.stop)
            yield from self.whole_blocks(blocks[is_within], read)
            for block in blocks[~is_within].tolist():
                entries = self._keyed_block(block)
                start, end = self._places(entries.keys, wanted)
                read.entries += int(entries.ends[end] - entries.ends[start])
                yield from entries.bitmaps(start, end, among)

        return Pieces(low, high, parts)

    def whole_blocks(self, blocks: Numbers, read: ReadCounts) -> Iterable[BitMap64]:
        """Yield bitmaps of all entries of some blocks; stretches (``is_stretch``) are not read."""
        is_stretch = self.is_stretch[blocks]
        stretches = blocks[is_stretch]
        if len(stretches):
            read.entries += self.entries_of_blocks(stretches)
            low, high = (each[stretches] for each in self.reach)
            yield stretches_of(low, high)
        for block in blocks[~is_stretch].tolist():
            yield from self.block_parts(block, read)

    def block_parts(self, block: int, read: ReadCounts) -> list[BitMap64]:
        """Return bitmaps of all entries of a block, not to be changed."""
        read.entries += int(self._entries[block])
        bitmap = self.bitmap(block)
        if bitmap is not None:
            return [bitmap]
        entries = self._keyed_block(block)
        return list(entries.bitmaps(0, len(entries.keys)))

    def _keyed_block(self, number: int) -> KeyedBlock:
        def load() -> KeyedBlock:
            rows = self.block(number)
            return keyed_block(self.keys_of(joined(rows, "key")), rows)

        key = (self.storage.place, self.rows.name, number, str(self.key_type))
        found: KeyedBlock = self.cache.get(key, load)
        return found

    def rows_within(self, block: int, wanted: KeyRange, read: ReadCounts) -> pa.Table:
        """Return the rows of a block whose keys, which are not null, lie in a range."""
        rows = self.slice_of(self.block(block), wanted)
        read.entries += int(rows["entries"].to_numpy().sum())
        return rows

    def point_blocks(self, box: Sequence[tuple[float, float]]) -> tuple[Numbers, Mask]:
        """Return the blocks of an r-tree that overlap a box of (least x, most x), (least y, most y).

        The mask marks the blocks that lie within the box.
        """
        overlap = np.ones(self.bounds.num_rows, np.bool_)
        inside = np.ones(self.bounds.num_rows, np.bool_)
        for (low, high), (least, most) in zip(self.boxes, box, strict=True):
            overlap &= (high >= least) & (low <= most)
            inside &= (low >= least) & (high <= most)
        numbers = np.flatnonzero(overlap)
        return numbers, inside[numbers]

    @cached_property
    def boxes(self) -> tuple[tuple[Coordinates, Coordinates], ...]:
        """The least and the greatest x of each block of an r-tree, and its least and greatest y."""
        return tuple(
            (self.bounds[f"low_{name}"].to_numpy(), self.bounds[f"high_{name}"].to_numpy())
            for name in ("x", "y")
        )

    def entries_of_blocks(self, blocks: Sequence[int] | Numbers) -> int:
        """Return the number of entries of some blocks."""
        return int(self._entries[np.asarray(blocks, np.int64)].sum())


def _stored(footer: Any, groups: Iterable[int], names: Sequence[str] | None = None) -> int:
    """Return the stored bytes of columns, by default all, in some row groups."""
    schema = footer.schema
    columns = [
        of
        for of in range(footer.num_columns)
        if names is None or schema.column(of).path.partition(".")[0] in names
    ]
    # pyarrow's footer makes a new object at each access to a row group or column.
    in_groups = map(footer.row_group, groups)
    return sum(group.column(of).total_compressed_size for group in in_groups for of in columns)


def _damaged(file: DataFile) -> StorageError:
    return StorageError(f"{file.name}: is gone or damaged; refresh the metadata in full", location=file.name)
