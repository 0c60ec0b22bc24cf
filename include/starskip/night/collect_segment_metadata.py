"""Stage collect_segment_metadata: tarred segments to ``table_facts``.

Source: Automated Inverted Index Recommendation, III.2-3.

Facts of a segment file are taken over from a former night that has read it with the same size and
modification time (for an object: the same ETag). So the work grows with changed files, not with all files.
Executors list the tables' folders and compare the files with the former night's; the driver gets counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.night import CONFIGS, LEFT_OUT_CONFIGS, Night, StageResult
from starskip.advisor.run.table_by_table import failed_parts
from starskip.errors import (
    ConfigError,
    DamagedManifest,
    MissingSource,
    SourceError,
    SourceOutage,
    StorageError,
    printable,
)
from starskip.execution.engine import Engine
from starskip.execution.gather_aside import gather_messages
from starskip.night.lake_only import LAKE_ONLY
from starskip.night.night_tables import NightTables, night_tables
from starskip.pinot.segments.facts_table import collect_facts, source_identity
from starskip.pinot.segments.pulled_note import PULLED, pulled_words
from starskip.pinot.segments.segment_files import (
    SegmentFile,
    no_table_folders,
    possible_segments,
)
from starskip.storage.commit_messages import (
    COMMIT_MESSAGES,
    TableWriter,
    commit_messages,
    note_message,
    notes_of,
    parts_of,
)
from starskip.storage.files.file_identity import FileIdentity, is_racy
from starskip.storage.manifest import DataFile, Part
from starskip.storage.manifest_log import Seen
from starskip.storage.snapshot import Snapshot, staged_rows
from starskip.storage.staged_write import StagedWrite

_ARTEFACT = "table_facts"
_DAMAGED = "damaged_segments"
LISTED = "listed"
"""Property of a table's facts: the number of files in its folder, and their bytes together."""
_READ_AT = "read_at"
"""Property of a table's facts: the start of the run that read them; a run for other tables keeps it."""
_FRESH, _UNCHANGED = "fresh_segments", "unchanged_segments"
_LISTED = pa.schema(
    [
        ("segment", pa.binary()),
        ("path", pa.binary()),
        ("size_bytes", pa.int64()),
        ("modified_ns", pa.int64()),
        ("etag", pa.string()),
    ]
)
"""One row a file of a listing, whose name need not be UTF-8."""
_KNOWN = ["source_file", "source_identity"]
_SEGMENTS_AT_ONCE = 256
_MOST_FORMER_NIGHTS = 8
"""Nights in which the facts of a table are looked for: a new table has none in any."""
_NAMED_DAMAGED = 20
"""Damaged segments that a task's warnings name; ``damaged_segments`` has all of them."""


def collect_segment_metadata(engine: Engine, night: Night) -> StageResult:
    """Publish ``table_facts`` and ``damaged_segments`` of the night's tables.

    Tables that lie in the lake alone have facts without a row.
    """
    night, unsound = _with_sound_configs(night)
    tables = night_tables(night)
    warnings = [f"{problem}: it is left out" for problem in unsound.values()]
    if night.segments_root and night.tables is None and not tables.folders:
        warnings.append(str(no_table_folders(night.segments_root)))
    former = _former_facts(night, tables.folders)
    known = _known_tables(night, tables, former)
    try:
        result = _collected(engine, night, tables, unsound, known, former)
    except StorageError as error:
        if former is None or error.location not in _file_names(former):
            raise
        # The files of the former night's facts are gone or damaged; the segments themselves still exist.
        warnings.append(f"all segments were read again: {error}")
        result = _collected(engine, night, tables, unsound, known, None)
    return replace(result, warnings=(*warnings, *result.warnings))


def _with_sound_configs(night: Night) -> tuple[Night, Mapping[str, ConfigError]]:
    """Return the night with the sound table configs alone, and by path what is wrong with the others.

    Raises ConfigError if none is sound.
    """
    configs, problems = night.read_configs()
    if problems and not configs:
        raise next(iter(problems.values()))
    paths = [path for path in night.table_config_paths if path not in problems]
    return replace(night, table_config_paths=paths, seen=Seen({CONFIGS: (configs, {})})), problems


def _known_tables(night: Night, tables: NightTables, former: Snapshot | None) -> frozenset[str]:
    """Return the tables that must have segments: a folder without any may be no table's."""
    if night.tables is not None:
        return frozenset(tables.folders)
    return tables.configured.union(former.parts() if former else ())


def _former_facts(night: Night, tables: Iterable[str]) -> Snapshot | None:
    """Return the facts of each table from the nearest night that has some, this one and older ones first.

    A night of some tables lies between nights of all, and a backfill before all others.
    """
    begun = night.store.begun_nights(_ARTEFACT)
    older = [day for day in begun if day <= night.date_text]
    newer = [day for day in reversed(begun) if day > night.date_text]
    wanted, parts, found = set(tables), dict[str, Part](), None
    for run_date in [*older, *newer][:_MOST_FORMER_NIGHTS]:
        if not wanted:
            break
        try:
            snapshot = night.store.snapshot(_ARTEFACT, run_date)
        except DamagedManifest:
            continue
        if snapshot is not None:
            found = snapshot
            here = {name: part for name, part in snapshot.parts(wanted).items() if part.files}
            parts |= here
            wanted -= here.keys()
    return replace(found, manifest=replace(found.manifest, parts=parts)) if found else None


def _file_names(snapshot: Snapshot) -> set[str]:
    return {file.name for part in snapshot.parts().values() for file in part.files}


def _collected(
    engine: Engine,
    night: Night,
    tables: NightTables,
    unsound: Mapping[str, ConfigError],
    known: frozenset[str],
    former: Snapshot | None,
) -> StageResult:
    staged = night.store.staged_write(_ARTEFACT, night.date_text)
    staged_damaged = night.store.staged_write(_DAMAGED, night.date_text)
    listed = _listed(engine, night, tables, former, staged)
    messages = pa.concat_tables(
        [
            _read_fresh(engine, listed.fresh, staged, staged_damaged),
            _taken_over(engine, listed.unchanged, former, staged),
        ]
    )
    # An empty part means that no segments were found tonight, and replaces the part of an earlier run.
    empty = {table: Part(()) for table in {*listed.tables, *tables.lake_only}}
    problems = {**tables.absent, **listed.problems}
    stopped = {table: words for table, words in problems.items() if table not in listed.empty - known}
    read_at: dict[str, Any] = {_READ_AT: night.started_at.isoformat()}
    if unsound:
        read_at[LEFT_OUT_CONFIGS] = [*unsound]
    parts = {**empty, **parts_of(messages, _ARTEFACT)}
    night.publish(_DAMAGED, {**empty, **parts_of(messages, _DAMAGED)})
    told = {table: {**read_at, LAKE_ONLY: True} if table in tables.lake_only else read_at for table in parts}
    told |= {table: {**told[table], LISTED: size} for table, size in listed.sizes.items()}
    told |= {table: {**told[table], PULLED: words} for table, words in listed.pulled.items()}
    found = {table: Part(part.files, told[table]) for table, part in parts.items()}
    night.publish(_ARTEFACT, {**found, **failed_parts(stopped)})
    damaged = [json.loads(note) for note in notes_of(messages, _DAMAGED)]
    warnings = (*problems.values(), *_damage_words(damaged), *listed.pulled.values())
    fresh_files, unchanged_files = _rows(listed.fresh), _rows(listed.unchanged)
    counts = {
        "tables": len(parts),
        "segment_files": fresh_files + unchanged_files,
        "segments_read": fresh_files,
        "segments_taken_over": unchanged_files,
        "damaged_segments": sum(note["damaged"] for note in damaged),
    }
    return StageResult(counts, tuple(map(printable, warnings)))


def _damage_words(notes: Iterable[Mapping[str, Any]]) -> list[str]:
    notes = list(notes)
    named = [row for note in notes for row in note["named"]]
    more = sum(note["damaged"] for note in notes) - len(named)
    words = [f"damaged segment {row['source_file']}: {row['reason']} ({row['detail']})" for row in named]
    return words + ([f"{more:,} more segments are damaged: {_DAMAGED} names them"] if more else [])


@dataclass(frozen=True, slots=True)
class _Listing:
    """The listed files of tables, as files of rows; sentences on tables that are pulled, or without files.

    ``empty``: the tables whose folder could be listed, and holds no segment. ``sizes``: files and bytes.
    """

    fresh: Mapping[str, Part]
    unchanged: Mapping[str, Part]
    tables: Sequence[str]
    pulled: Mapping[str, str]
    problems: Mapping[str, str]
    empty: frozenset[str]
    sizes: Mapping[str, list[int]]


def _rows(parts: Mapping[str, Part]) -> int:
    return sum(part.rows for part in parts.values())


def _listed(
    engine: Engine, night: Night, found: NightTables, former: Snapshot | None, staged: StagedWrite
) -> _Listing:
    """List the tables' folders where the engine's tasks run.

    Raises SourceError for a table that this run was asked for and that has no segments, or if none has any.
    """
    aside = replace(staged, schema=_LISTED)
    rows = engine.rows_of_items(
        list(found.folders.items()), partial(_list_tables, aside, former), COMMIT_MESSAGES
    )
    messages = gather_messages(engine, rows, [aside], "listing")
    notes = [json.loads(note) for note in notes_of(messages, _ARTEFACT)]
    problems = {note["table"]: note["problem"] for note in notes if "problem" in note}
    tables = [note["table"] for note in notes if "problem" not in note]
    if problems and (night.is_of_some or not (tables or found.lake_only)):
        words = next(iter(problems.values()))
        if night.tables is None:
            words = f"no table below {night.segments_root} has segments: {words}"
        raise SourceError(words, source=night.segments_root)
    pulled = {note["table"]: note["pulled"] for note in notes if note.get("pulled")}
    fresh, unchanged = parts_of(messages, _FRESH), parts_of(messages, _UNCHANGED)
    empty = frozenset(note["table"] for note in notes if note.get("is_empty"))
    sizes = {note["table"]: note["size"] for note in notes if "size" in note}
    return _Listing(fresh, unchanged, tables, pulled, problems, empty, sizes)


def _list_tables(
    aside: StagedWrite, former: Snapshot | None, folders: Iterable[tuple[str, str]]
) -> Iterator[pa.RecordBatch]:
    for table, folder in folders:
        try:
            files = possible_segments(table, folder)
        except SourceOutage:
            raise
        except SourceError as error:
            note = {"table": table, "problem": str(error), "is_empty": isinstance(error, MissingSource)}
            yield note_message(_ARTEFACT, table, json.dumps(note))
            continue
        known = _known_files(former, table) if former else {}
        is_known = [known.get(file.path) == source_identity(file) for file in files]
        for artefact, wanted in ((_FRESH, False), (_UNCHANGED, True)):
            found = [file for file, each in zip(files, is_known, strict=True) if each == wanted]
            if found:
                yield commit_messages(artefact, table, aside.write(table, _listed_rows(found)))
        size_bytes = sum(file.size_bytes for file in files)
        note = {
            "table": table,
            "pulled": pulled_words(files[:1]).get(table),
            "size": [len(files), size_bytes],
        }
        yield note_message(_ARTEFACT, table, json.dumps(note))


def _known_files(former: Snapshot, table: str) -> dict[str, str]:
    """Return path to identity of the segment files of a table that the ``former`` night has read.

    A file changed within two seconds of the start of the run that read it may have been read before the
    change (git's racy rule), so it counts as unknown.
    """
    part = former.parts([table]).get(table)
    if part is None or _READ_AT not in part.properties:
        return {}
    read_at_ns = int(datetime.fromisoformat(part.properties[_READ_AT]).timestamp() * 1e9)
    known: dict[str, str] = {}
    for batch in former.batches([table], _KNOWN):
        distinct = pa.Table.from_batches([batch]).group_by(_KNOWN).aggregate([])
        known.update(zip(*(distinct[name].to_pylist() for name in _KNOWN), strict=True))
    return {
        path: identity
        for path, identity in known.items()
        if not is_racy(FileIdentity.from_text(identity), observed_at_ns=read_at_ns)
    }


def _listed_rows(files: Iterable[SegmentFile]) -> pa.Table:
    rows = [
        {
            "segment": os.fsencode(file.segment),
            "path": os.fsencode(file.path),
            "size_bytes": file.size_bytes,
            "modified_ns": file.modified_ns,
            "etag": file.etag,
        }
        for file in files
    ]
    return pa.Table.from_pylist(rows, schema=_LISTED)


@dataclass(frozen=True, slots=True)
class _Listed:
    """Rows of a file that ``_list_tables`` wrote, from ``start`` on."""

    staged: StagedWrite
    table: str
    file: DataFile
    start: int = 0
    rows: int | None = None

    def files(self) -> Iterator[SegmentFile]:
        rows = staged_rows(self.staged, self.table, [self.file]).read_table().slice(self.start, self.rows)
        for row in rows.to_pylist():
            segment, path = os.fsdecode(row.pop("segment")), os.fsdecode(row.pop("path"))
            yield SegmentFile(self.table, segment, path, **row)


def _read_fresh(
    engine: Engine, fresh: Mapping[str, Part], staged: StagedWrite, staged_damaged: StagedWrite
) -> pa.Table:
    aside = replace(staged, schema=_LISTED)
    items = [
        _Listed(aside, table, file, start, _SEGMENTS_AT_ONCE)
        for table, part in fresh.items()
        for file in part.files
        for start in range(0, file.rows or 0, _SEGMENTS_AT_ONCE)
    ]
    rows = engine.rows_of_items(items, partial(_write_facts, staged, staged_damaged), COMMIT_MESSAGES)
    return gather_messages(engine, rows, [staged, staged_damaged], "segments")


def _write_facts(
    staged: StagedWrite, staged_damaged: StagedWrite, listed: Iterable[_Listed]
) -> Iterator[pa.RecordBatch]:
    facts_writer, damaged_writer = TableWriter(staged), TableWriter(staged_damaged)
    named: list[Mapping[str, Any]] = []
    count = 0
    for facts, damaged in collect_facts(file for each in listed for file in each.files()):
        for batch in facts.to_batches():
            yield from facts_writer.add(batch)
        for batch in damaged.to_batches():
            yield from damaged_writer.add(batch)
            count += batch.num_rows
            if len(named) < _NAMED_DAMAGED:
                named += batch.to_pylist()
    yield from facts_writer.finish()
    yield from damaged_writer.finish()
    if count:
        yield note_message(_DAMAGED, "", json.dumps({"damaged": count, "named": named}))


def _taken_over(
    engine: Engine, unchanged: Mapping[str, Part], former: Snapshot | None, staged: StagedWrite
) -> pa.Table:
    aside = replace(staged, schema=_LISTED)
    items = [
        (each, tuple(_Listed(aside, table, file) for file in unchanged[table].files))
        for table in unchanged
        for each in (former.by_file([table]) if former else ())
    ]
    rows = engine.rows_of_items(items, partial(_copy_facts, staged), COMMIT_MESSAGES)
    return gather_messages(engine, rows, [staged], "segments taken over")


def _copy_facts(
    staged: StagedWrite, items: Iterable[tuple[Snapshot, tuple[_Listed, ...]]]
) -> Iterator[pa.RecordBatch]:
    writer = TableWriter(staged)
    of_table: tuple[_Listed, ...] = ()
    wanted = pa.array([], pa.string())
    for former, listed in items:
        if listed != of_table:
            # The files of one table come one after the other.
            of_table = listed
            wanted = pa.array([file.path for each in listed for file in each.files()], pa.string())
        for batch in former.batches():
            kept = batch.filter(pc.is_in(batch.column("source_file"), value_set=wanted))
            if kept.num_rows:
                yield from writer.add(kept)
    yield from writer.finish()
