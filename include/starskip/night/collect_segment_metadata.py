"""Stage collect_segment_metadata: tarred segments to ``table_facts``.

Source: Automated Inverted Index Recommendation, III.2-3.

Facts of a segment file are taken over from a former night that has read it with the same size and
modification time (for an object: the same ETag). So the work grows with changed files, not with all files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.night import Night, StageResult
from starskip.errors import SourceError, SourceOutage, StorageError, StorageOutage, printable
from starskip.execution.engine import Engine, Rows
from starskip.night.lake_only import LAKE_ONLY, find_lake_only
from starskip.pinot.hybrid_tables import hybrid_tables
from starskip.pinot.segments.facts_table import collect_facts, source_identity
from starskip.pinot.segments.pulled_note import PULLED, pulled_words
from starskip.pinot.segments.segment_files import SegmentFile, segment_listing
from starskip.storage.commit_messages import (
    COMMIT_MESSAGES,
    MAX_COMMIT_MESSAGES,
    TableWriter,
    note_message,
    notes_of,
    parts_of,
)
from starskip.storage.files.file_identity import FileIdentity, is_racy
from starskip.storage.manifest import Part
from starskip.storage.snapshot import Snapshot
from starskip.storage.staged_write import StagedWrite

_ARTEFACT = "table_facts"
_DAMAGED = "damaged_segments"
_READ_AT = "read_at"
"""Property of a table's facts: the start of the run that read them; a run for other tables keeps it."""
_MAX_KNOWN_FILES = 5_000_000
_KNOWN = pa.schema([("table", pa.string()), ("source_file", pa.string()), ("source_identity", pa.string())])


def collect_segment_metadata(engine: Engine, night: Night) -> StageResult:
    """Publish ``table_facts`` and ``damaged_segments`` of the night's tables.

    Tables that lie in the lake alone have facts without a row.
    """
    lake_only = find_lake_only(night)
    files, warnings = _listing(night, lake_only)
    former = _former_snapshot(night)
    try:
        result = _collected(engine, night, files, lake_only, former)
    except StorageError as error:
        if former is None or error.location not in _file_names(former):
            raise
        # Its footer could be read, but not its pages.
        warnings.append(f"all segments were read again: {error}")
        result = _collected(engine, night, files, lake_only, None)
    return replace(result, warnings=(*warnings, *result.warnings))


def _listing(night: Night, lake_only: frozenset[str]) -> tuple[list[SegmentFile], list[str]]:
    tables = None if night.tables is None else night.tables - lake_only
    if not night.segments_root or tables == frozenset():
        return [], []
    try:
        return segment_listing(night.segments_root, tables, hybrid_tables(night.table_configs()))
    except SourceOutage:
        raise
    except SourceError as error:
        if not lake_only or tables is not None:
            raise
        return [], [str(error)]  # there is work without them


def _collected(
    engine: Engine,
    night: Night,
    files: Sequence[SegmentFile],
    lake_only: frozenset[str],
    former: Snapshot | None,
) -> StageResult:
    known = _known_files(engine, night, former) if former else {}
    fresh = [file for file in files if known.get((file.table, file.path)) != source_identity(file)]
    # A file may be of both halves of a hybrid table.
    fresh_files = {(file.table, file.path) for file in fresh}
    unchanged = {file.path for file in files if (file.table, file.path) not in fresh_files}
    staged = night.store.staged_write(_ARTEFACT, night.date_text)
    staged_damaged = night.store.staged_write(_DAMAGED, night.date_text)
    read = engine.rows_of_items(fresh, partial(_write_facts, staged, staged_damaged), COMMIT_MESSAGES)
    gathered = [read.gather("messages of segment", MAX_COMMIT_MESSAGES)]
    if unchanged and former:
        tables = sorted({file.table for file in files} & set(former.tables))
        rows = engine.rows_of_snapshot(former, tables)
        gathered.append(
            _taken_over(rows, unchanged, staged).gather("messages of segment", MAX_COMMIT_MESSAGES)
        )
    messages = pa.concat_tables(gathered)
    # An empty part means that no segments were found tonight, and replaces the part of an earlier run.
    empty = {table: Part(()) for table in {file.table for file in files} | lake_only}
    read_at = {_READ_AT: night.started_at.isoformat()}
    parts = {**empty, **parts_of(messages, _ARTEFACT)}
    night.publish(_DAMAGED, {**empty, **parts_of(messages, _DAMAGED)})
    told = {table: {**read_at, LAKE_ONLY: True} if table in lake_only else read_at for table in parts}
    pulled = pulled_words(files)
    told |= {table: {**told[table], PULLED: words} for table, words in pulled.items()}
    night.publish(_ARTEFACT, {table: Part(part.files, told[table]) for table, part in parts.items()})
    reasons = [json.loads(note) for note in notes_of(messages, _DAMAGED)]
    warnings = tuple(
        printable(f"damaged segment {item['file']}: {item['reason']} ({item['detail']})") for item in reasons
    )
    counts = {
        "tables": len(parts),
        "segment_files": len(files),
        "segments_read": len(fresh),
        "segments_taken_over": len(unchanged),
        "damaged_segments": len(reasons),
    }
    return StageResult(counts, (*warnings, *map(printable, pulled.values())))


def _former_snapshot(night: Night) -> Snapshot | None:
    """Return the facts of the newest night so far that can be read.

    Facts whose files are gone or damaged are skipped: the segments themselves still exist.
    """
    for run_date in reversed([d for d in night.store.run_dates(_ARTEFACT) if d <= night.date_text]):
        try:
            snapshot = night.store.snapshot(_ARTEFACT, run_date)
            if snapshot:
                snapshot.dataset()  # reads the footer of every file
                return snapshot
        except StorageOutage:
            raise
        except StorageError:
            continue
    return None


def _file_names(snapshot: Snapshot) -> set[str]:
    return {file.name for part in snapshot.parts().values() for file in part.files}


def _known_files(engine: Engine, night: Night, former: Snapshot) -> dict[tuple[str, str], str]:
    """Return table and path to identity of the segment files that the ``former`` night has read.

    A file changed within two seconds of the start of the run that read it may have been read before the
    change (git's racy rule), so it counts as unknown.
    """
    read_at_ns = {
        table: int(datetime.fromisoformat(part.properties[_READ_AT]).timestamp() * 1e9)
        for table, part in former.parts().items()
        if night.wants(table) and _READ_AT in part.properties
    }
    rows = engine.rows_of_snapshot(former, list(read_at_ns), _KNOWN.names)
    found = rows.map(_distinct, _KNOWN).gather("known segment files", _MAX_KNOWN_FILES)
    known = zip(*(found[name].to_pylist() for name in _KNOWN.names), strict=True)
    return {
        (table, path): identity
        for table, path, identity in known
        if not is_racy(FileIdentity.from_text(identity), observed_at_ns=read_at_ns[table])
    }


def _distinct(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        distinct = pa.Table.from_batches([batch]).group_by(batch.schema.names).aggregate([])
        yield from distinct.to_batches()


def _taken_over(rows: Rows, paths: set[str], staged: StagedWrite) -> Rows:
    wanted = pa.array(sorted(paths), pa.string())

    def copy(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        writer = TableWriter(staged)
        for batch in batches:
            kept = batch.filter(pc.is_in(batch.column("source_file"), value_set=wanted))
            if kept.num_rows:
                yield from writer.add(kept)
        yield from writer.finish()

    return rows.map(copy, COMMIT_MESSAGES)


def _write_facts(
    staged: StagedWrite, staged_damaged: StagedWrite, files: Iterable[SegmentFile]
) -> Iterator[pa.RecordBatch]:
    facts_writer, damaged_writer = TableWriter(staged), TableWriter(staged_damaged)
    for facts, damaged in collect_facts(files):
        for batch in facts.to_batches():
            yield from facts_writer.add(batch)
        for batch in damaged.to_batches():
            yield from damaged_writer.add(batch)
            row = batch.to_pylist()[0]
            note = {"file": row["source_file"], "reason": row["reason"], "detail": row["detail"]}
            yield note_message(_DAMAGED, row["table"], json.dumps(note))
    yield from facts_writer.finish()
    yield from damaged_writer.finish()
