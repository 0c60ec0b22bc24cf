"""Cut the merge of an index's runs into parts by key, of about equal bytes, for one task each.

Tasks read the bounds of blocks and return a few of them: the driver holds some keys for each part, however
many rows there are. Points are cut by x, the leading order in which they are packed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.file_metadata.column_cache import ColumnCache
from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import is_text, order_keys, ranked
from starskip.secondary.key_ranges import KeyRange
from starskip.secondary.run_reader import RunReader
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.storage.manifest import DataFile
from starskip.storage.storage import Storage

PART_BYTES = 64 << 20
"""Stored bytes of runs up to which a merge is not cut."""
MOST_PARTS = 16
"""Most parts on account of PART_BYTES: each part becomes a run, which every query opens."""
LARGEST_PART_BYTES = 256 << 20
"""Stored bytes of a part of a very large index."""
_SAMPLED = 16
"""Bounds that are sampled for each part."""
_CUT_BYTES = 64
"""A cut lies between keys and need not be a key: this many bytes of a text or binary value are enough."""
_GOLDEN = 0.618033988749895
"""Its multiples spread evenly over the unit interval."""
_NOTHING_KEPT = ColumnCache(0)
Weights = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RunFiles:
    """A run of a segment; ``places``: the file with new numbers of the segment's files, None if they stay."""

    rows: DataFile
    blocks: DataFile
    places: DataFile | None = None

    def reader(self, storage: Storage) -> RunReader:
        """Return a reader without a cache."""
        return RunReader(storage, self.rows, self.blocks, cache=_NOTHING_KEPT)


@dataclass(frozen=True, slots=True)
class RunsToCut:
    """The runs of an index that are merged together, and the rows of the indexed files."""

    index: SecondaryIndex
    runs: tuple[RunFiles, ...]
    table_rows: int

    @property
    def weight(self) -> int:
        """About the bytes of the runs."""
        stored = sum(run.rows.size_bytes for run in self.runs)
        return stored if self.index.kind_of_index is Kind.NGRAM else max(stored, self.table_rows)

    @property
    def parts(self) -> int:
        """The number of parts that are worth a task each."""
        if not self.runs:
            return 1
        return max(min(MOST_PARTS, self.weight // PART_BYTES), -(-self.weight // LARGEST_PART_BYTES), 1)


@dataclass(frozen=True, slots=True)
class _RunToSample:
    storage: Storage
    index: SecondaryIndex
    run: RunFiles
    step: int

    def sample(self) -> tuple[pa.Array, Weights]:
        """Return the first keys of a few blocks, and the weight from each key to the next."""
        reader = self.run.reader(self.storage)
        is_points = self.index.kind_of_index is Kind.RTREE
        keys = _within_blocks(reader) if is_points else joined(reader.bounds, "low")
        keys = keys.slice(0, reader.keyed_blocks)
        if is_text(keys.type) or pa.types.is_binary(keys.type):
            keys = pc.binary_slice(keys.cast(pa.binary()), 0, _CUT_BYTES)
        weights = reader.stored_bytes[: len(keys)]
        if self.index.kind_of_index is not Kind.NGRAM:
            # Lists of neighbouring rows have few bytes, but each entry must be renumbered.
            weights = np.maximum(weights, reader.entries_of_each_block[: len(keys)])
        if self.index.kind_of_index is Kind.RTREE:
            order = np.argsort(keys.to_numpy(), kind="stable")
            keys, weights = keys.take(pa.array(order)), weights[order]
        if not len(keys):
            return keys, weights
        numbers = (np.cumsum(weights) - weights) // self.step
        starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
        return keys.take(pa.array(starts)), np.add.reduceat(weights, starts)


def _within_blocks(reader: RunReader) -> pa.Array:
    """Return an x within each block: all blocks of a slice begin at about the same x."""
    low, high = (np.asarray(reader.bounds[name].to_numpy(), np.float64) for name in ("low_x", "high_x"))
    is_bounded = np.isfinite(low) & np.isfinite(high)
    width = np.where(is_bounded, high, 0.0) - np.where(is_bounded, low, 0.0)
    return pa.array(low + width * (np.arange(len(low)) * _GOLDEN % 1))


RunTasks = Callable[..., list[tuple[pa.Array, Weights]]]


def key_parts(run_tasks: RunTasks, storage: Storage, merges: Sequence[RunsToCut]) -> list[list[KeyRange]]:
    """Return for each merge rising ranges of keys that together hold all keys; the last one includes null.

    ``run_tasks``: as ``EngineTasks`` has it. Raises StorageError naming a run that is gone or damaged.
    """
    cut = [merge for merge in merges if merge.parts > 1]
    sampled = [
        _RunToSample(storage, merge.index, run, max(merge.weight // (merge.parts * _SAMPLED), 1))
        for merge in cut
        for run in merge.runs
    ]
    found = iter(run_tasks("cutting merges", sampled, _RunToSample.sample))
    return [
        _ranges([next(found) for _ in merge.runs], merge.parts) if merge.parts > 1 else [KeyRange()]
        for merge in merges
    ]


def _ranges(samples: Sequence[tuple[pa.Array, Weights]], parts: int) -> list[KeyRange]:
    fields = [pa.schema([("key", keys.type)]) for keys, _ in samples]
    kind = pa.unify_schemas(fields, promote_options="permissive").field("key").type
    keys = pa.concat_arrays([keys.cast(kind) for keys, _ in samples])
    if not len(keys):
        return [KeyRange()]
    weights = np.concatenate([weights for _, weights in samples])
    distinct, rank = ranked(keys)
    until = np.cumsum(np.bincount(rank, weights))
    shares = until[-1] * np.arange(1, parts) / parts
    # A cut is the first key of a part: the weight before it has reached the share.
    at = np.unique(np.searchsorted(until, shares, "left") + 1)
    cuts = [distinct.slice(each, 1) for each in at[at < len(distinct)].tolist()]
    edges = [None, *cuts, None]
    return [KeyRange(low, high, high_included=False) for low, high in pairwise(edges)]


def in_range(values: npt.NDArray[np.float64], within: KeyRange) -> npt.NDArray[np.bool_]:
    """Return which coordinates lie in a part."""
    found = np.ones(len(values), np.bool_)
    if within.low is not None:
        found &= values >= order_keys(within.low)[0]
    if within.high is not None:
        found &= values < order_keys(within.high)[0]
    return found
