"""Keep what was decoded of sampled segments from night to night: ``segment_windows``.

A segment of which nothing has changed is not decoded again. The windows of a table lie in the files of the
nights that decoded them; a file of which no window is asked for any more is no longer named.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.cost.decoded_segments import (
    DecodedSegment,
    DecodedSource,
    Decoding,
    decode_segment,
    decoded_from_row,
    decoded_row,
)
from starskip.advisor.cost.sampled_segments import SampledSegment
from starskip.errors import StorageError, StorageOutage
from starskip.execution.engine import Engine
from starskip.execution.gather_aside import gather_messages
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.storage.commit_messages import COMMIT_MESSAGES, TableWriter, note_message, notes_of, parts_of
from starskip.storage.manifest import Part
from starskip.storage.snapshot import Snapshot, staged_rows
from starskip.storage.staged_write import StagedWrite

WINDOWS = "segment_windows"
_TOLD = ["key", "columns"]

Columns = Callable[[str], Sequence[str]]
"""Returns the columns of a table to decode, on whichever machine it is called."""


def kept_windows(
    engine: Engine,
    former: Snapshot | None,
    staged: StagedWrite,
    samples: Sequence[SampledSegment],
    columns: Columns,
    what: Decoding,
) -> tuple[Mapping[str, Part], DecodedSource]:
    """Decode the samples that ``former`` does not hold, and write them aside.

    Return the parts to publish, and the source of all of them.
    """
    write = partial(_write_windows, former, staged, columns, what)
    messages = gather_messages(
        engine, engine.rows_of_items(samples, write, COMMIT_MESSAGES), [staged], "segment windows"
    )
    held: dict[str, set[str]] = {}
    for note in map(json.loads, notes_of(messages, WINDOWS)):
        held.setdefault(note["table"], set()).update(note["held_in"])
    fresh = parts_of(messages, WINDOWS)
    parts = {}
    for table in {sample.file.table for sample in samples}:
        before = former.parts([table]).get(table, Part(())) if former else Part(())
        still = [file for file in before.files if file.name in held.get(table, ())]
        parts[table] = Part((*still, *(fresh[table].files if table in fresh else ())))
    snapshot = staged_rows(staged, "", ())
    snapshot = replace(snapshot, manifest=replace(snapshot.manifest, parts=parts))
    return parts, _read_windows(snapshot, what)


def _write_windows(
    former: Snapshot | None,
    staged: StagedWrite,
    columns: Columns,
    what: Decoding,
    samples: Iterable[SampledSegment],
) -> Iterator[pa.RecordBatch]:
    writer = TableWriter(staged)
    for table, group in groupby(samples, key=lambda sample: sample.file.table):
        of_table, asked = list(group), columns(table)
        held = _held(former, table, asked)
        for sample in of_table:
            if what.key(sample, asked) in held:
                continue
            try:
                decoded = decode_segment(sample, asked, what)
            except DamagedSegment:
                continue
            yield from writer.add(decoded_row(table, what.key(sample, asked), decoded))
        keys = (what.key(sample, asked) for sample in of_table)
        files = sorted({held[key] for key in keys if key in held})
        note = {"table": table, "held_in": files}
        yield note_message(WINDOWS, table, json.dumps(note))
    yield from writer.finish()


def _held(former: Snapshot | None, table: str, columns: Iterable[str]) -> dict[str, str]:
    """Return the file of each kept window that has all of the columns, by the window's key."""
    found: dict[str, str] = {}
    for file in former.by_file([table]) if former else ():
        ((name, *_), *_) = ([each.name for each in part.files] for part in file.parts().values())
        try:
            # Whole rows: a damaged window is found by its checksum here, and is decoded again.
            rows = file.read_table([table]).select(_TOLD).to_pylist()
        except StorageOutage:
            raise
        except StorageError:
            continue  # its segments are decoded again
        found |= {row["key"]: name for row in rows if set(row["columns"]) >= set(columns)}
    return found


def _read_windows(snapshot: Snapshot, what: Decoding) -> DecodedSource:
    def decoded(
        samples: Iterable[SampledSegment], columns: Sequence[str]
    ) -> Iterator[tuple[SampledSegment, DecodedSegment]]:
        of_table = list(samples)
        held = _windows(snapshot, of_table, columns, what)
        for sample in of_table:
            # One is unpacked at a time: its dictionaries may be large.
            if (row := held.get(what.key(sample, columns))) is not None:
                yield sample, decoded_from_row(row)

    return decoded


def _windows(
    snapshot: Snapshot, samples: Sequence[SampledSegment], columns: Sequence[str], what: Decoding
) -> dict[str, Mapping[str, Any]]:
    """Return the rows of one table's samples, by key, whose windows have all of the columns."""
    keys = pa.array([what.key(sample, columns) for sample in samples], pa.string())
    tables = {sample.file.table for sample in samples}
    found: dict[str, Mapping[str, Any]] = {}
    for file in snapshot.by_file(tables):
        # A file of other tasks' samples is left before its windows are read.
        if not pc.any(pc.is_in(file.read_table(columns=["key"])["key"], value_set=keys)).as_py():
            continue
        for batch in file.batches():
            for row in batch.filter(pc.is_in(batch.column("key"), value_set=keys)).to_pylist():
                if set(row["columns"]) >= set(columns):
                    found[row["key"]] = row
    return found
