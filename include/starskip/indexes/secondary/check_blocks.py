"""Compare one block of a run with what is told of it: keys, bounds, counts, fences, reach and bitmap."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap64

from starskip.indexes.secondary.entries import bitmaps_of
from starskip.indexes.secondary.range_reads import fences_in
from starskip.indexes.secondary.run_reader import RunReader
from starskip.indexes.secondary.secondary_index import Kind, SecondaryIndex
from starskip.indexes.skipping.metadata.metadata_files import joined
from starskip.predicates.ordered_values import each_below, equal, order_keys, valid_mask


@dataclass(frozen=True, slots=True)
class BlockFaults:
    """Faults of a block.

    ``disordered``: its keys fall. ``outside``: a key or point lies outside its bounds. ``unlike``: a count,
    the reach, a fence or the bitmap is not that of its entries, or a key has other rows beside its list.
    ``begins_with_list``, ``ends_with_list``: whether its first and its last key are not single entries.
    """

    disordered: bool = False
    outside: bool = False
    unlike: bool = False
    begins_with_list: bool = False
    ends_with_list: bool = False


def block_faults(index: SecondaryIndex, reader: RunReader, number: int, rows: pa.Table) -> BlockFaults:
    """Return what is wrong with a block; ``rows``: as ``reader`` reads them, null's among them."""
    keyed = rows.slice(0, rows.num_rows - rows.column(0).null_count)
    null = rows.slice(keyed.num_rows)
    unlike = bool(null.num_rows) and _is_unlike(index, reader, reader.keyed_blocks, null)
    if not keyed.num_rows or number >= reader.keyed_blocks:
        # Keys where the bounds have none but null's would never be found.
        return BlockFaults(outside=keyed.num_rows > 0, unlike=unlike)
    unlike = unlike or _is_unlike(index, reader, number, keyed)
    if index.kind_of_index is Kind.RTREE:
        return BlockFaults(outside=_has_point_outside(reader, number, keyed), unlike=unlike)
    keys = order_keys(joined(keyed, "key"))
    lows, highs = reader.key_bounds
    low, high = lows[number : number + 1], highs[number : number + 1]
    is_outside = not (equal(keys[:1], low).all() and equal(keys[-1:], high).all())
    same = equal(keys[1:], keys[:-1])
    is_list = ~valid_mask(joined(keyed, "address"))
    return BlockFaults(
        disordered=bool(each_below(keys[1:], keys[:-1]).any()),
        outside=is_outside,
        unlike=unlike or bool((same & (is_list[1:] | is_list[:-1])).any()),
        begins_with_list=bool(is_list[0]),
        ends_with_list=bool(is_list[-1]),
    )


def torn_lists(reader: RunReader, blocks: Mapping[int, BlockFaults]) -> int:
    """Return how many blocks end with a key of which the next one has rows beside the list."""
    lows, highs = reader.key_bounds
    same = np.flatnonzero(equal(highs[:-1], lows[1:])).tolist()
    pairs = [(blocks[at], blocks[at + 1]) for at in same if at in blocks and at + 1 in blocks]
    return sum(one.ends_with_list or other.begins_with_list for one, other in pairs)


def _has_point_outside(reader: RunReader, number: int, rows: pa.Table) -> bool:
    for name in ("x", "y"):
        values: Any = rows[name].to_numpy()
        low, high = (reader.bounds[f"{end}_{name}"][number].as_py() for end in ("low", "high"))
        if not ((values >= low) & (values <= high)).all():
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
    fences = fences_in(reader, number)
    if fences is not None and not fences.fit(order_keys(joined(rows, "key")), entries):
        return True
    found = BitMap64.union(BitMap64(), *bitmaps_of(rows.filter(pa.array(single))), *lists)
    low, high = reader.reach
    if found and not (low[number] <= int(found.min()) and int(found.max()) <= high[number]):
        return True
    bitmap = reader.bitmap(number)
    return bitmap is not None and bitmap != found


def disordered_blocks(reader: RunReader) -> int:
    """Return how many blocks end below their first key, or begin below the last key of the one before."""
    lows, highs = reader.key_bounds
    within = np.count_nonzero(each_below(highs, lows))
    return int(within + np.count_nonzero(each_below(lows[1:], highs[:-1])))
