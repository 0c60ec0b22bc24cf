"""Rows that an index answers by itself: its keys, each as often as live rows have it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from starskip.file_metadata.metadata_files import joined
from starskip.secondary.access_paths import Path, RangePath
from starskip.secondary.entries import entries_of, file_of
from starskip.secondary.key_ranges import KeyRange
from starskip.secondary.postings import IndexedSegment, PostingReader
from starskip.secondary.run_reader import RunReader
from starskip.secondary.secondary_index import Kind


def is_covering(
    path: Path, columns: Sequence[str], schema: pa.Schema, segments: Sequence[IndexedSegment]
) -> bool:
    """Return whether the keys of a path are the whole answer, with exactly the values in the files.

    Keys of floating-point columns are not: 0.0 and -0.0 are one key.
    """
    if not isinstance(path, RangePath) or path.index.kind_of_index is not Kind.BTREE:
        return False
    column = path.index.paths[0]
    if len(column) != 1 or set(columns) != set(column):
        return False
    kind = schema.field(column[0]).type
    stored = {
        run.bounds.schema.field("low").type
        for segment in segments
        for run in segment.runs.get(path.index.specification, ())
    }
    return not pa.types.is_floating(kind) and all(_restores(each, kind) for each in stored)


def _restores(stored: pa.DataType, kind: pa.DataType) -> bool:
    is_widened = pa.types.is_integer(stored) and pa.types.is_integer(kind)
    return bool(stored.equals(kind) or is_widened)


def covered_rows(path: Path, reader: PostingReader, kind: pa.DataType) -> Iterator[pa.Array]:
    """Yield the keys of all live rows of a path that is covering, block by block."""
    assert isinstance(path, RangePath)
    for segment in reader.segments:
        for run in segment.runs.get(path.index.specification, ()):
            for wanted in path.ranges.ranges:
                for block in run.overlapping(wanted)[0]:
                    found = _keys(segment, run, block, wanted, path, reader)
                    if len(found):
                        yield found.cast(kind)


def _keys(
    segment: IndexedSegment,
    run: RunReader,
    block: int,
    wanted: KeyRange,
    path: RangePath,
    reader: PostingReader,
) -> pa.Array:
    counts = reader.counts(path.index.specification)
    if wanted.of_null:
        rows_of_null = sum(len(each & segment.all_rows) for each in run.block_parts(block, counts))
        return pa.nulls(rows_of_null, run.bounds.schema.field("low").type)
    rows = run.rows_within(block, wanted, counts)
    if segment.live.all():
        at = pa.array(np.repeat(np.arange(rows.num_rows), rows["entries"].to_numpy()))
    else:
        at, addresses = entries_of(rows)
        at = at.filter(pa.array(segment.live[file_of(addresses)]))
    return joined(rows, "key").take(at)
