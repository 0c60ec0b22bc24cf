"""Hash the keys of entries, to compare a run's entries with the entries that a file's rows should have.

Keys that an index does not distinguish, such as 0.0 and -0.0, have one hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64
from xxhash import xxh3_64_intdigest

from starskip.file_metadata.metadata_files import joined
from starskip.predicates.ordered_values import Keys, order_keys, valid_mask
from starskip.secondary.build_run import text_pieces
from starskip.secondary.data_file import DataFileOfTable
from starskip.secondary.entries import Addresses, addresses_in, addresses_of, entries_of
from starskip.secondary.grams import gram_entries
from starskip.secondary.row_batches import row_batches
from starskip.secondary.run_reader import RunReader
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.secondary.table_schema import TableSchema, field_values
from starskip.skipping.splitmix64 import Hashes, mixed

Entries = tuple[Addresses, Hashes]
"""Addresses of rows, and the hash of the key of each."""
ENTRIES_AT_ONCE = 1 << 22
_NULL = np.uint64(0x9E3779B97F4A7C15)


def entries_of_block(reader: RunReader, rows: pa.Table) -> Iterator[Entries]:
    """Yield the entries of a block of a run, a bounded number at a time."""
    names = [name for name in rows.column_names if name not in ("entries", "address", "postings")]
    keys = _key_hashes([joined(rows, name) for name in names], reader.keys_of)
    entries = rows["entries"].to_numpy()
    pieces = (np.cumsum(entries) - entries) // ENTRIES_AT_ONCE
    for start, end in pairwise([0, *(np.flatnonzero(np.diff(pieces)) + 1).tolist(), len(rows)]):
        # Only the last row of a piece may have a list that is long by itself.
        is_long = bool(entries[end - 1] > ENTRIES_AT_ONCE)
        at, addresses = entries_of(rows.slice(start, end - start - is_long))
        yield addresses, keys[start:][at.to_numpy()]
        content = rows["postings"][end - 1].as_py() if is_long else None
        if content is not None:
            bitmap = BitMap64.deserialize(content)
            for first in range(0, len(bitmap), ENTRIES_AT_ONCE):
                addresses = addresses_in(bitmap[first : first + ENTRIES_AT_ONCE])
                yield addresses, np.full(len(addresses), keys[end - 1])


def stopped_keys(reader: RunReader, rows: pa.Table) -> Hashes:
    """Return the stopped keys of a block."""
    without = ~valid_mask(joined(rows, "address")) & ~valid_mask(joined(rows, "postings"))
    return _key_hashes([joined(rows, "key").filter(pa.array(without))], reader.keys_of)


def entries_of_file(
    indexes: Sequence[SecondaryIndex], position: int, file: DataFileOfTable, schema: TableSchema
) -> Iterator[tuple[SecondaryIndex, Entries]]:
    """Yield the entries that indexes should have for a file, which is read once for all indexes.

    Stopped n-grams are included. Raises SourceError naming a file that cannot be read.
    """
    names = sorted({path[0] for index in indexes for path in index.paths})
    for batch in row_batches(file, names, schema):
        addresses = addresses_of(position, np.arange(batch.start, batch.start + batch.rows.num_rows))
        for index in indexes:
            columns = [field_values(batch.rows, path) for path in index.paths]
            if index.kind_of_index is Kind.NGRAM:
                for start, count in text_pieces(columns[0]):
                    rows, keys = _grams(columns[0].slice(start, count), index.gram_length)
                    yield index, (addresses[start:][rows], keys)
            elif index.kind_of_index is Kind.RTREE:
                x, y = (column.cast(pa.float64()).fill_null(np.nan) for column in columns)
                inside = ~(np.isnan(x.to_numpy()) | np.isnan(y.to_numpy()))
                yield index, (addresses[inside], _key_hashes([x, y], order_keys)[inside])
            else:
                yield index, (addresses, _key_hashes(columns, order_keys))


def _grams(texts: pa.Array, length: int) -> tuple[npt.NDArray[np.int64], Hashes]:
    """Return the row of each n-gram of some texts, and its key."""
    found = gram_entries(texts, length)
    distinct, at = np.unique(found.keys.to_numpy(), return_inverse=True)
    return found.rows, _key_hashes([found.key_bytes(pa.array(distinct))], order_keys)[at]


def _key_hashes(columns: Sequence[pa.Array], keys_of: Callable[[pa.Array], Keys]) -> Hashes:
    found = np.zeros(len(columns[0]), np.uint64)
    for values in columns:
        of_column = np.full(len(values), _NULL)
        of_column[valid_mask(values)] = _numbers(keys_of(values.drop_null()))
        found = mixed(found ^ of_column)
    return found


def _numbers(keys: Keys) -> Hashes:
    if not isinstance(keys, np.ndarray):
        return np.fromiter(map(xxh3_64_intdigest, keys.to_pylist()), np.uint64, len(keys))
    if keys.dtype.kind == "f":
        return np.where(np.isnan(keys), np.nan, keys + 0.0).astype(np.float64).view(np.uint64)
    return keys.astype(np.int64).view(np.uint64)
