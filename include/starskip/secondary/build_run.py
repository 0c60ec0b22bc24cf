"""Build the sorted rows of an index from batches of its columns, and merge such runs: pure functions.

``merge_runs`` is associative: rows may be cut into runs, and runs merged, in any way.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap64

from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import equal, order_keys, valid_mask
from starskip.secondary.entries import (
    Addresses,
    bitmap_of,
    rising_bitmap,
    run_rows,
    serialised,
)
from starskip.secondary.grams import gram_entries
from starskip.secondary.secondary_index import Kind, SecondaryIndex

BLOCK_ROWS = 8_192
"""Most rows of a run that are read together; a row group of its file."""
BYTES_AT_ONCE = 8 << 20
"""Bytes of texts whose grams are sorted together; some 60 times as many are in memory."""
LONG_LIST_ENTRIES = 512
"""Entries of a b-tree's key from which they become one list; fewer are gathered faster one by one."""
LONG_GRAM_ENTRIES = 24
"""Entries of an n-gram from which they become one list; a bitmap of fewer would not be smaller."""
STOP_LEAST_ROWS = 1_024
"""Rows below which no gram is stopped."""
Positions = npt.NDArray[np.int64]
_POSTINGS = ("entries", "address", "postings")


def build_run(
    index: SecondaryIndex, columns: Sequence[pa.Array], addresses: Addresses, *, stop_share: float
) -> pa.Table:
    """Return the run of an index for rows with rising ``addresses``; ``columns`` are the index's.

    ``stop_share``: the share of the rows from which a gram is stopped. A b-tree keeps nulls, as one key at
    the end. An r-tree leaves out rows with a missing coordinate, an n-gram index texts shorter than a gram.
    """
    if index.kind_of_index is Kind.RTREE:
        return _rtree_run(columns, addresses)
    if index.kind_of_index is Kind.NGRAM:
        pieces = text_pieces(columns[0])
        runs = [
            _gram_run(index, columns[0].slice(start, rows), addresses[start : start + rows], stop_share)
            for start, rows in pieces
        ]
        return runs[0] if len(runs) == 1 else merge_runs(index, runs)
    return _btree_run(columns[0], addresses)


def merge_runs(index: SecondaryIndex, runs: Sequence[pa.Table]) -> pa.Table:
    """Return one run with the entries of several; their keys have one type. A stopped key stays stopped."""
    together = pa.concat_tables(runs).combine_chunks()
    if index.kind_of_index is Kind.RTREE:
        x, y = (joined(together, name) for name in ("x", "y"))
        return together.take(pa.array(_packed_order(_numbers(x), _numbers(y))))
    keys = joined(together, "key")
    valid = valid_mask(keys)
    nulls = together.filter(pa.array(~valid))
    together = together.filter(pa.array(valid))
    ordered = order_keys(joined(together, "key"))
    together = together.take(pa.array(_stable_order(ordered)))
    if not together.num_rows:
        return _with_nulls(together, nulls)
    ordered = order_keys(joined(together, "key"))
    starts = np.flatnonzero(np.concatenate([[True], ~equal(ordered[1:], ordered[:-1])]))
    ends = np.append(starts[1:], together.num_rows)
    has_list = ~valid_mask(joined(together, "address"))
    lists = np.add.reduceat(has_list, starts) > 0
    if index.kind_of_index is Kind.BTREE:
        # A key with few entries in each run may have many in all; n-grams stay as they are.
        lists |= ends - starts > LONG_LIST_ENTRIES
    several = np.flatnonzero(lists & (ends - starts > 1))
    keep = np.ones(together.num_rows, np.bool_)
    for each in several.tolist():
        keep[starts[each] + 1 : ends[each]] = False
    merged = _merged_lists(together, starts[several], ends[several])
    return _with_nulls(_replaced(together, merged).filter(pa.array(keep)), nulls)


def _merged_lists(rows: pa.Table, starts: Positions, ends: Positions) -> dict[int, tuple[int, bytes | None]]:
    """Return, by its start, the number of entries of each stretch of rows, and the list of all entries.

    There is no list where a row of the stretch is stopped.
    """
    entries = rows["entries"].to_numpy()
    is_single = valid_mask(joined(rows, "address"))
    addresses = np.asarray(joined(rows, "address").fill_null(0).to_numpy()).view(np.uint64)
    postings = joined(rows, "postings")
    is_stopped = ~(is_single | valid_mask(postings))
    contents = postings.to_pylist()
    found: dict[int, tuple[int, bytes | None]] = {}
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        count = int(entries[start:end].sum())
        if is_stopped[start:end].any():
            found[start] = count, None
            continue
        lists = [BitMap64.deserialize(each) for each in contents[start:end] if each is not None]
        single = rising_bitmap(addresses[start:end][is_single[start:end]])
        found[start] = count, serialised(BitMap64.union(single, *lists))
    return found


def _replaced(rows: pa.Table, merged: dict[int, tuple[int, bytes | None]]) -> pa.Table:
    if not merged:
        return rows
    entries: Any = rows["entries"].to_numpy().copy()
    postings = rows["postings"].to_pylist()
    single = valid_mask(joined(rows, "address")).copy()
    for position, (count, content) in merged.items():
        entries[position], postings[position], single[position] = count, content, False
    address = rows["address"].fill_null(0).to_numpy()
    return pa.table(
        [
            *(rows[name] for name in rows.column_names if name not in _POSTINGS),
            pa.array(entries),
            pa.array(address, mask=~single),
            pa.array(postings, pa.binary()),
        ],
        names=rows.column_names,
    )


def _with_nulls(rows: pa.Table, nulls: pa.Table) -> pa.Table:
    if nulls.num_rows < 2:
        return pa.concat_tables([rows, nulls]).combine_chunks()
    merged = _merged_lists(nulls, np.array([0]), np.array([nulls.num_rows]))
    return pa.concat_tables([rows, _replaced(nulls, merged).slice(0, 1)]).combine_chunks()


def _gram_run(index: SecondaryIndex, texts: pa.Array, addresses: Addresses, stop_share: float) -> pa.Table:
    grams = gram_entries(texts, index.gram_length)
    keys: Any = grams.keys.to_numpy()
    stopped = None
    # In few rows a gram may be frequent by chance.
    if len(addresses) >= STOP_LEAST_ROWS:
        rows = np.bincount(keys // 256, minlength=len(grams.grams))
        stopped = (rows >= stop_share * len(addresses))[keys // 256]
    found = run_rows([grams.keys], ["key"], addresses[grams.rows], stopped, long_list=LONG_GRAM_ENTRIES)
    return found.set_column(0, "key", grams.key_bytes(joined(found, "key")))


def text_pieces(texts: pa.Array) -> list[tuple[int, int]]:
    """Cut texts into pieces of few bytes, so that their grams fit memory; a single text may be larger."""
    ends = np.cumsum(pc.fill_null(pc.binary_length(texts), 0).to_numpy(zero_copy_only=False), dtype=np.int64)
    if not len(ends) or ends[-1] <= BYTES_AT_ONCE:
        return [(0, len(texts))]
    numbers = ends // BYTES_AT_ONCE
    starts = np.flatnonzero(np.concatenate([[True], numbers[1:] != numbers[:-1]]))
    lengths = np.diff(np.append(starts, len(texts)))
    return list(zip(starts.tolist(), lengths.tolist(), strict=True))


def _btree_run(column: pa.Array, addresses: Addresses) -> pa.Table:
    valid = valid_mask(column)
    values, of = column.filter(pa.array(valid)), addresses[valid]
    order = _stable_order(order_keys(values))
    found = run_rows([values.take(pa.array(order))], ["key"], of[order], long_list=LONG_LIST_ENTRIES)
    nulls = addresses[~valid]
    if not len(nulls):
        return found
    row = pa.table(
        [
            pa.nulls(1, column.type),
            pa.array([len(nulls)], pa.int64()),
            pa.nulls(1, pa.int64()),
            pa.array([serialised(bitmap_of(nulls))], pa.binary()),
        ],
        schema=found.schema,
    )
    return pa.concat_tables([found, row])


def _rtree_run(columns: Sequence[pa.Array], addresses: Addresses) -> pa.Table:
    x, y = (_numbers(column.cast(pa.float64()).fill_null(np.nan)) for column in columns)
    inside = np.flatnonzero(~(np.isnan(x) | np.isnan(y)))
    order = inside[_packed_order(x[inside], y[inside])]
    return run_rows([pa.array(x[order]), pa.array(y[order])], ["x", "y"], addresses[order], long_list=0)


def _packed_order(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the order of sort-tile-recursive packing (Leutenegger and others, 1997): slices by x, then y."""
    by_x = np.argsort(x, kind="stable")
    blocks = max(1, -(-len(x) // BLOCK_ROWS))
    rows = BLOCK_ROWS * int(np.ceil(np.sqrt(blocks)))
    pieces = [by_x[start : start + rows] for start in range(0, len(x), rows)]
    return np.concatenate([each[np.argsort(y[each], kind="stable")] for each in pieces] or [by_x])


def _stable_order(keys: Any) -> npt.NDArray[np.int64]:
    if isinstance(keys, np.ndarray):
        return np.argsort(keys, kind="stable")
    # Arrow sorts texts but not stably: their ranks are sorted instead.
    codes = keys.dictionary_encode()
    ranks = np.empty(len(codes.dictionary), np.int64)
    ranks[pc.sort_indices(codes.dictionary).to_numpy()] = np.arange(len(codes.dictionary))
    return np.argsort(ranks[codes.indices.to_numpy()], kind="stable")


def _numbers(column: pa.Array) -> npt.NDArray[np.float64]:
    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)
