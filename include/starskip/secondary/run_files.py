"""Write a run as two Parquet files: its rows, and one row for each block that describes it.

A block is a row group of the run; all have about the same bytes. Its row has its bounds, its number of
entries, their least and greatest address, a bitmap, and fences where keys have several entries. A lookup
reads the bounds, then only the blocks at the ends of a range; of a block within the range its bitmap is
enough. A b-tree's null key is the last block, without bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import valid_mask
from starskip.secondary.build_run import BLOCK_ROWS
from starskip.secondary.entries import bitmaps_of, serialised
from starskip.secondary.fences import fences_of
from starskip.secondary.run_reader import BITMAPS_TOGETHER, FIRST, LAST
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.storage.checked_parquet import parquet_writer
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite

ROWS, BLOCKS = "rows.parquet", "blocks.parquet"
BLOCK_BYTES = 64 << 10
"""About the stored bytes of a block; a single list may have more."""
_GRAM_SHARE = 4
"""Blocks of n-grams are smaller by this factor: a look-up needs one list from a block for each gram."""
_NUMBERS_BYTES = 6
"""About the bytes of an entry's count and address."""
_SAMPLED = 8
"""Blocks from which the encoded size of a run is estimated."""
_STAYS = 0.9
"""A column that compression shrinks no further than to this share is stored uncompressed."""
Starts = npt.NDArray[np.int64]


def write_run(staged: StagedWrite, index: SecondaryIndex, rows: pa.Table) -> tuple[DataFile, ...]:
    """Write a run and return its two files; none for a run without rows."""
    if not rows.num_rows:
        return ()
    starts = block_starts(index, rows)
    blocks = blocks_of(index, rows, starts)
    group = index.specification
    of_bitmaps = np.arange(0, blocks.num_rows, BITMAPS_TOGETHER)
    return _put(staged, group, ROWS, rows, starts), _put(staged, group, BLOCKS, blocks, of_bitmaps)


def block_starts(index: SecondaryIndex, rows: pa.Table) -> Starts:
    """Return the first row of each block of a run; null, the last row, is a block of its own."""
    keyed = rows.slice(0, rows.num_rows - rows.column(0).null_count)
    if index.kind_of_index is Kind.RTREE:
        # All points have the same size, and are packed for blocks of equally many rows.
        starts = np.arange(0, keyed.num_rows, BLOCK_ROWS)
    else:
        starts = _even_starts(index, keyed)
    return starts if len(keyed) == len(rows) else np.append(starts, len(keyed))


def _even_starts(index: SecondaryIndex, rows: pa.Table) -> Starts:
    is_grams = index.kind_of_index is Kind.NGRAM
    most_rows = -(-BLOCK_ROWS // 16) if is_grams else BLOCK_ROWS
    most_bytes = BLOCK_BYTES // _GRAM_SHARE if is_grams else BLOCK_BYTES
    sizes = _sizes(rows)
    starts = _cut(sizes, most_rows, most_bytes)
    if len(starts) * most_rows < len(rows) + most_rows:
        return starts
    # Long similar keys take far less when they are stored.
    ends = np.append(starts[1:], len(rows))
    raw = sum(int(sizes[starts[at] : ends[at]].sum()) for at in _sampled(starts))
    stored, _ = _written(_sample(rows, starts), np.zeros(1, np.int64), "zstd")
    stored_share = min(1.0, len(stored) / raw)
    return _cut(sizes, most_rows, int(most_bytes / stored_share))


def _sampled(starts: Starts) -> list[int]:
    """Return the numbers of some blocks, the first and the last among them."""
    return [int(at) for at in np.unique(np.linspace(0, len(starts) - 1, _SAMPLED).astype(np.int64))]


def _sample(rows: pa.Table, starts: Starts) -> pa.Table:
    """Return the rows of some blocks."""
    ends = np.append(starts[1:], rows.num_rows)
    return pa.concat_tables([rows.slice(starts[at], ends[at] - starts[at]) for at in _sampled(starts)])


def _sizes(rows: pa.Table) -> npt.NDArray[np.int64]:
    """Return about the uncompressed bytes of each row."""
    key = joined(rows, "key")
    if pa.types.is_binary(key.type) or pa.types.is_string(key.type):
        of_keys = pc.binary_length(key).to_numpy().astype(np.int64)
    else:
        of_keys = np.full(len(key), max(key.type.bit_width // 8, 1))
    lists = pc.fill_null(pc.binary_length(joined(rows, "postings")), 0).to_numpy()
    return np.asarray(of_keys + lists + _NUMBERS_BYTES, np.int64)


def _cut(sizes: npt.NDArray[np.int64], most_rows: int, most_bytes: int) -> Starts:
    """Return where pieces of at most ``most_rows`` and ``most_bytes`` begin; each has one row at least."""
    until = np.cumsum(sizes)
    starts = []
    start = 0
    while start < len(sizes):
        starts.append(start)
        before = int(until[start - 1]) if start else 0
        by_bytes = int(np.searchsorted(until, before + most_bytes, side="right"))
        start = max(start + 1, min(start + most_rows, by_bytes))
    return np.asarray(starts, np.int64)


def blocks_of(index: SecondaryIndex, rows: pa.Table, starts: Starts) -> pa.Table:
    """Return the table of blocks of a run's rows."""
    keys = rows.drop_columns(["entries", "address", "postings"])
    nulls = keys.column(0).null_count
    count = rows.num_rows - nulls
    starts = starts[starts < count]
    ends = np.append(starts[1:], count) if len(starts) else starts
    entries: Any = rows["entries"].to_numpy()
    sums = [int(entries[start:end].sum()) for start, end in zip(starts, ends, strict=True)]
    bitmaps: list[bytes | None]
    reach: list[tuple[int, int] | None] = [None] * len(starts)
    if index.kind_of_index is Kind.NGRAM:
        # No query asks for a range of grams.
        bitmaps = [None] * len(starts)
    else:
        found = [_bitmap(rows.slice(start, end - start)) for start, end in zip(starts, ends, strict=True)]
        bitmaps, reach = [each[0] for each in found], [each[1] for each in found]
    bounds = _bounds(keys, starts, ends)
    if index.kind_of_index is Kind.BTREE:
        bounds |= fences_of(rows, starts, ends)
    if nulls:
        bounds = {name: pa.concat_arrays([each, pa.nulls(1, each.type)]) for name, each in bounds.items()}
        sums.append(int(entries[count:].sum()))
        bitmaps.append(rows["postings"][count].as_py())
        reach.append(_reach(bitmaps_of(rows.slice(count))))
    return pa.table(
        {
            **bounds,
            "entries": pa.array(sums, pa.int64()),
            FIRST: pa.array([each and each[0] for each in reach], pa.int64()),
            LAST: pa.array([each and each[1] for each in reach], pa.int64()),
            "bitmap": pa.array(bitmaps, pa.binary()),
        }
    )


def _bounds(keys: pa.Table, starts: Any, ends: Any) -> dict[str, pa.Array]:
    if keys.num_columns == 1:
        key = joined(keys, keys.column_names[0])
        return {"low": key.take(pa.array(starts)), "high": key.take(pa.array(ends - 1))}
    found = {}
    for name in keys.column_names:
        numbers: Any = keys[name].to_numpy()
        found[f"low_{name}"] = pa.array(np.minimum.reduceat(numbers, starts) if len(starts) else numbers)
        found[f"high_{name}"] = pa.array(np.maximum.reduceat(numbers, starts) if len(starts) else numbers)
    return found


def _bitmap(rows: pa.Table) -> tuple[bytes | None, tuple[int, int] | None]:
    """Return a block's bitmap, None where reading its lists costs no more, and its first and last address."""
    single: Any = valid_mask(joined(rows, "address"))
    entries: Any = rows["entries"].to_numpy()
    found = bitmaps_of(rows)
    if np.count_nonzero(single) < entries.sum() / 2:
        return None, _reach(found)
    return serialised(BitMap64.union(*found)), _reach(found)


def _reach(bitmaps: Sequence[BitMap64]) -> tuple[int, int] | None:
    held = [each for each in bitmaps if each]
    return (min(int(each.min()) for each in held), max(int(each.max()) for each in held)) if held else None


def _put(staged: StagedWrite, group: str, file_name: str, rows: pa.Table, starts: Starts) -> DataFile:
    name = staged.new_name(group, file_name)
    return replace(staged.write_named(name, _encoded(rows, starts, name)), rows=rows.num_rows)


def _encoded(rows: pa.Table, starts: Starts, name: str) -> bytes:
    """Return rows as the store's file ``name`` with a row group from each start to the next."""
    return _written(rows, starts, _compression(rows, starts), name)[0]


def _compression(rows: pa.Table, starts: Starts) -> str | dict[str, str]:
    """Return the codec of each column, by some blocks; a column that shrinks little has none."""
    if not len(starts):
        return "zstd"
    _, footer = _written(_sample(rows, starts), np.zeros(1, np.int64), "zstd")
    group = footer.row_group(0)
    columns = [group.column(at) for at in range(group.num_columns)]
    return {
        each.path_in_schema: "none"
        if each.total_compressed_size > _STAYS * each.total_uncompressed_size
        else "zstd"
        for each in columns
    }


def _written(
    rows: pa.Table, starts: Starts, compression: str | dict[str, str], name: str = ""
) -> tuple[bytes, Any]:
    """Return a Parquet file and its footer; ``name``: the file's name in the store, "" for a sample."""
    sink = pa.BufferOutputStream()
    footers: list[Any] = []
    with parquet_writer(
        sink,
        rows.schema,
        name,
        compression=compression,
        use_dictionary=False,
        column_encoding={"entries": "DELTA_BINARY_PACKED", **_addresses(rows)},
        write_statistics=False,
        metadata_collector=footers,
    ) as writer:
        for start, end in pairwise([*starts.tolist(), rows.num_rows]):
            writer.write_table(rows.slice(start, end - start), row_group_size=max(end - start, 1))
    return bytes(sink.getvalue().to_pybytes()), footers[0]


def _addresses(rows: pa.Table) -> dict[str, str]:
    return {"address": "DELTA_BINARY_PACKED"} if "address" in rows.column_names else {}
