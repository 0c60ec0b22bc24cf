"""Write a run as two Parquet files: its rows, and one row for each block, which tells what is in it.

A block is a row group of the run. Its row has its bounds, its entries, the ends of their addresses and a
bitmap. A lookup reads the bounds, then only the blocks at the ends of a range; of a block within the range
its bitmap is enough. A b-tree's null key is the last block, without bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from starskip.indexes.secondary.build_run import BLOCK_ROWS
from starskip.indexes.secondary.entries import bitmaps_of, serialised
from starskip.indexes.secondary.secondary_index import Kind, SecondaryIndex
from starskip.indexes.skipping.metadata.metadata_files import joined
from starskip.predicates.ordered_values import valid_mask
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite

ROWS, BLOCKS = "rows.parquet", "blocks.parquet"
FIRST, LAST = "first_address", "last_address"
"""The least and the greatest address of a block; null of n-grams, whose blocks are read for single lists."""
BITMAPS_TOGETHER = 16
"""Bitmaps of neighbouring blocks in one row group."""


def write_run(aside: StagedWrite, index: SecondaryIndex, rows: pa.Table) -> tuple[DataFile, ...]:
    """Write a run and return its two files; none for a run without rows."""
    if not rows.num_rows:
        return ()
    blocks = blocks_of(index, rows)
    of_rows = _encoded(rows, block_rows(index))
    of_blocks = _encoded(blocks, BITMAPS_TOGETHER)
    group = index.specification
    return (
        replace(aside.write_file(group, ROWS, of_rows), rows=rows.num_rows),
        replace(aside.write_file(group, BLOCKS, of_blocks), rows=blocks.num_rows),
    )


def block_rows(index: SecondaryIndex) -> int:
    """Return the rows of a block: fewer of n-grams, whose rows mostly are long lists."""
    return -(-BLOCK_ROWS // 16) if index.kind_of_index is Kind.NGRAM else BLOCK_ROWS


def blocks_of(index: SecondaryIndex, rows: pa.Table) -> pa.Table:
    """Return the table of blocks of a run's rows."""
    keys = rows.drop_columns(["entries", "address", "postings"])
    nulls = keys.column(0).null_count
    count = rows.num_rows - nulls
    starts = np.arange(0, count, block_rows(index))
    ends = np.minimum(starts + block_rows(index), count)
    entries: Any = rows["entries"].to_numpy()
    sums = [int(entries[start:end].sum()) for start, end in zip(starts, ends, strict=True)]
    bitmaps: list[bytes | None]
    reach: list[tuple[int, int] | None] = [None] * len(starts)
    if index.kind_of_index is Kind.NGRAM:
        # No range of grams is ever asked for.
        bitmaps = [None] * len(starts)
    else:
        found = [_bitmap(rows.slice(start, end - start)) for start, end in zip(starts, ends, strict=True)]
        bitmaps, reach = [each[0] for each in found], [each[1] for each in found]
    bounds = _bounds(keys, starts, ends)
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
    """Return a block's bitmap, None where reading its long lists costs no more, and its addresses' ends."""
    single: Any = valid_mask(joined(rows, "address"))
    entries: Any = rows["entries"].to_numpy()
    found = bitmaps_of(rows)
    if np.count_nonzero(single) < entries.sum() / 2:
        return None, _reach(found)
    return serialised(BitMap64.union(*found)), _reach(found)


def _reach(bitmaps: Sequence[BitMap64]) -> tuple[int, int] | None:
    held = [each for each in bitmaps if each]
    return (min(int(each.min()) for each in held), max(int(each.max()) for each in held)) if held else None


def _encoded(rows: pa.Table, row_group_rows: int) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(
        rows,
        sink,
        compression="zstd",
        row_group_size=row_group_rows,
        use_dictionary=False,
        column_encoding={"entries": "DELTA_BINARY_PACKED", **_addresses(rows)},
        write_page_checksum=True,
        write_statistics=False,
    )
    return bytes(sink.getvalue().to_pybytes())


def _addresses(rows: pa.Table) -> dict[str, str]:
    return {"address": "DELTA_BINARY_PACKED"} if "address" in rows.column_names else {}


def paired(files: Sequence[DataFile]) -> list[tuple[DataFile, DataFile]]:
    """Return the files of a group as runs: rows and blocks."""
    return list(zip(files[::2], files[1::2], strict=True))
