"""Compare one block of a run with its bounds: keys, counts, fences, reach and bitmap."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyroaring import BitMap64

from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import each_below, equal, valid_mask
from starskip.secondary.entries import bitmaps_of
from starskip.secondary.range_reads import fences_in
from starskip.secondary.run_reader import RunReader
from starskip.secondary.secondary_index import Kind, SecondaryIndex

DISORDERED = "its keys are not in order"
OUTSIDE = "a key or point lies outside its bounds"
TORN = "a key has entries beside its list"
UNLIKE = "its counts, fences, reach or bitmap do not fit its entries"


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
