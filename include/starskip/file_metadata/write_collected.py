"""Write collected metadata to the store, on the executors, and return messages to the driver."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from starskip.file_metadata.collect_order import CommitMessage
from starskip.file_metadata.metadata_store import MetadataStore
from starskip.file_metadata.parquet_store import store_of
from starskip.storage.encryption.data_key import DataKey
from starskip.storage.staged_write import BYTES_PER_FILE, StagedWrite

Groups = Mapping[str, pa.Table]


def write_collected(
    staged: StagedWrite,
    row_counts: Sequence[int],
    found: Iterable[tuple[int, Groups]],
    *,
    keys: Mapping[str, DataKey] = MappingProxyType({}),
) -> Iterator[CommitMessage]:
    """Write groups of columns and yield the messages of the files; see CollectOrder.

    ``found``: consecutive rows, with the position of the first; up to BYTES_PER_FILE are held in memory.
    ``keys``: data keys of the encrypted groups.
    """
    ends = list(accumulate(row_counts))
    store = store_of(staged.storage)
    store = store.with_keys({}, keys) if keys else store
    held: list[tuple[int, Groups]] = []
    held_bytes = 0
    for start, groups in found:
        for position, piece in _cut(start, groups, ends):
            is_next = not held or _segment(ends, position) == _segment(ends, held[0][0])
            if not is_next or held_bytes >= BYTES_PER_FILE:
                yield from _write(store, staged, ends, held)
                held, held_bytes = [], 0
            held.append((position, piece))
            held_bytes += sum(table.nbytes for table in piece.values())
    if held:
        yield from _write(store, staged, ends, held)


def _segment(ends: Sequence[int], position: int) -> int:
    return int(np.searchsorted(ends, position, side="right"))


def _cut(start: int, groups: Groups, ends: Sequence[int]) -> Iterator[tuple[int, Groups]]:
    rows = max((table.num_rows for table in groups.values()), default=0)
    at = start
    while at < start + rows:
        end = min(start + rows, ends[_segment(ends, at)])
        yield at, {name: table.slice(at - start, end - at) for name, table in groups.items()}
        at = end


def _write(
    store: MetadataStore, staged: StagedWrite, ends: Sequence[int], held: Sequence[tuple[int, Groups]]
) -> Iterator[CommitMessage]:
    first = held[0][0]
    groups = ((group, pa.concat_tables([tables[group] for _, tables in held])) for group in held[0][1])
    for group, written in store.write(staged, groups).items():
        position = first
        for file in written:
            yield CommitMessage(_segment(ends, first), group, position, file)
            position += file.rows or 0
