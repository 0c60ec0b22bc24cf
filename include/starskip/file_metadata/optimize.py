"""Compact the metadata of a table into one segment without dead rows, sorted by path.

Segments with different indexes are compacted apart: an index covers all files of a segment or none, and the
next refresh adds the missing indexes to a segment.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import printable
from starskip.file_metadata.collect_order import FILES
from starskip.file_metadata.commit_refresh import Commit, PlanOvertaken
from starskip.file_metadata.metadata_files import FILES_SCHEMA, ROW_GROUPS, joined
from starskip.file_metadata.metadata_store import REMOVED, Positions
from starskip.file_metadata.new_keys import new_keys
from starskip.file_metadata.open_metadata import ParseIndex, existing_metadata, metadata_chain
from starskip.file_metadata.removed_rows import live_rows, removed_table
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_state import ARTEFACT, TableState
from starskip.file_metadata.wide_columns import narrow
from starskip.skipping.registry import index_from_specification
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.encryption.keyring import Keyring, process_keys
from starskip.storage.manifest import DataFile, Manifest, Part
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

Written = tuple[DataFile, ...] | None
"""The files of an index; None leaves it out."""
WriteGroups = Callable[[StagedWrite, TableMetadata, Sequence[str], pa.Array], Mapping[str, Written]]
"""Writes the rows of indexes for all live files; the last argument is the order of the files."""
_ATTEMPTS = 5
log = logging.getLogger("starskip.skipping")


def optimize_metadata(
    storage: Storage,
    commit: Commit,
    *,
    artefact: str = ARTEFACT,
    parse: ParseIndex = index_from_specification,
    write_groups: WriteGroups | None = None,
    keyring: Keyring | None = None,
) -> int | None:
    """Merge all segments with the same indexes to one; return the version, None without a change.

    One group of columns is in memory at a time. Rows that another writer removes meanwhile stay removed, and
    segments that are added meanwhile stay. ``write_groups`` writes the rows of indexes that do not have one
    row for each file. A segment with a part that is locked because its key is not in ``keyring`` stays as it
    is, with a warning. Raises SourceError if there is no metadata.
    """
    # A new name for each attempt: a committed name is never used for another segment.
    names_of_segments = (f"{commit.name}-{number}" if number else commit.name for number in count())
    for attempt in range(_ATTEMPTS):
        try:
            version = None
            keys = process_keys() if keyring is None else keyring
            metadata = existing_metadata(storage, artefact, parse, keys)
            for names in _with_same_indexes(metadata, _unlocked(metadata)):
                staged = ArtefactStore(storage).staged_write(artefact, CURRENT)
                named = replace(commit, name=next(names_of_segments))
                some = metadata.of_segments(names)
                manifest = _optimize(staged, some, named, write_groups or _each_written, keys)
                version = manifest.version if manifest else version
            return version
        except PlanOvertaken:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _unlocked(metadata: TableMetadata) -> Mapping[str, Segment]:
    """Return the segments without a locked part."""
    readable, locked = metadata.unlocked.data_keys, {each.name for each in metadata.unlocked.locked}
    if not locked:
        return metadata.segments
    for each in metadata.unlocked.locked:
        log.warning("%s", each.means("not optimized"))
    of_groups = metadata.state.keys.of_group
    return {
        name: segment
        for name, segment in metadata.segments.items()
        if not any(of_groups(group) in locked for group in (FILES, *segment.groups))
        and all(
            file.name in readable
            for group in segment.keys
            for file in (segment.files if group == FILES else segment.groups.get(group, ()))
        )
    }


def _with_same_indexes(metadata: TableMetadata, segments: Mapping[str, Segment]) -> Sequence[Sequence[str]]:
    """Return the names of segments that can be merged; segments without a live row are with the first."""
    alike: dict[frozenset[str], list[str]] = {}
    empty: list[str] = []
    for name, segment in segments.items():
        of = alike.setdefault(frozenset(segment.groups), []) if metadata.row_counts[name] else empty
        of.append(name)
    first, *others = alike.values() or [[]]
    return [[*empty, *first], *others] if segments else []


def _optimize(
    staged: StagedWrite,
    metadata: TableMetadata,
    commit: Commit,
    write_groups: WriteGroups,
    keyring: Keyring,
) -> Manifest | None:
    before = metadata.segments
    if len(before) < 2 and all(positions is None for positions in metadata.live.values()):
        return None
    order = pc.sort_indices(metadata.paths)
    files = pa.table(
        [
            metadata.paths,
            metadata.sizes,
            metadata.modified_ms,
            metadata.rows,
            pa.array(metadata.trusted),
        ],
        schema=FILES_SCHEMA,
    )
    if metadata.row_groups.null_count < metadata.files:
        files = files.append_column(ROW_GROUPS, metadata.row_groups)
    names = sorted({name for segment in before.values() for name in segment.groups})
    made, wrapped = new_keys([FILES, *names], metadata.source.path, metadata.state.keys, keyring)
    if made:
        metadata.store = metadata.store.with_keys(metadata.unlocked.data_keys, made)
    groups = {name: of for name, of in write_groups(staged, metadata, names, order).items() if of is not None}
    written = metadata.store.write(staged, [(FILES, files.take(order))])
    keys = {group: key for group, key in wrapped.items() if group == FILES or group in groups}
    merged = Segment(metadata.files, metadata.source.generation, written[FILES], groups, keys=keys)
    places = _Places.of(metadata, order)

    def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        newest = TableState.from_parts(parts)
        if (
            newest is None
            or newest.keys != metadata.state.keys
            or any(
                name not in newest.segments or newest.segments[name].groups != segment.groups
                for name, segment in before.items()
            )
        ):
            raise PlanOvertaken("the metadata was changed meanwhile; run this again")
        others = {name: segment for name, segment in newest.current.items() if name not in before}
        now = live_rows(metadata.store, newest.current) if others else {}
        # The removed segments may list dead rows of segments that stay.
        dead = {name: _dead(now[name], segment) for name, segment in others.items()}
        dead[commit.name] = places.dead_since(now)
        dead = {name: rows for name, rows in dead.items() if len(rows)}
        written = metadata.store.write(staged, [(REMOVED, removed_table(dead))] if dead else [])
        added = replace(merged, removed=written.get(REMOVED, ()))
        return replace(newest, segments={**others, commit.name: added}).to_parts()

    return metadata_chain(metadata.storage, staged.artefact).commit(
        change, commit_id=commit.name, created_at=commit.created_at, created_by=commit.created_by
    )


def _dead(live: Positions | None, segment: Segment) -> Positions:
    everything = np.arange(segment.rows)
    return everything[:0] if live is None else np.setdiff1d(everything, live, assume_unique=True)


@dataclass(frozen=True, slots=True)
class _Places:
    """New positions of the rows that were live when they were read, by segment."""

    live: Mapping[str, Positions]
    places: Mapping[str, Positions]

    @classmethod
    def of(cls, metadata: TableMetadata, order: pa.Array) -> _Places:
        place = np.empty(metadata.files, np.int64)
        place[order.to_numpy()] = np.arange(metadata.files)
        live = {
            name: np.arange(metadata.row_counts[name]) if positions is None else positions
            for name, positions in metadata.live.items()
        }
        return cls(live, {name: place[rows] for name, rows in metadata.row_slices.items()})

    def dead_since(self, now: Mapping[str, Positions | None]) -> Positions:
        dead = []
        for name, before in self.live.items():
            positions = now.get(name)
            if positions is not None:
                dead.append(self.places[name][~np.isin(before, positions)])
        return np.concatenate(dead) if dead else np.empty(0, np.int64)


def _each_written(
    staged: StagedWrite, metadata: TableMetadata, names: Sequence[str], order: pa.Array
) -> Mapping[str, Written]:
    return metadata.store.write(staged, _merged(metadata, names, order))


def _merged(metadata: TableMetadata, names: Sequence[str], order: pa.Array) -> Iterator[tuple[str, pa.Table]]:
    """Yield the rows of all segments by index.

    If a user's index type has changed its columns, that index alone is left out.
    """
    for index in names:
        files = [file for segment in metadata.segments.values() for file in segment.groups.get(index, ())]
        schemas = [metadata.store.schema(file) for file in files]
        if not schemas:
            yield index, pa.table({})
        elif all(each.equals(schemas[0]) for each in schemas):
            rows = _rows(metadata, index, schemas[0])
            yield (
                index,
                pa.table(
                    {each.name: narrow(joined(rows, each.name).take(order), each.type) for each in schemas[0]}
                ),
            )
        else:
            log.warning(
                "%s: left out, since its metadata has columns of several kinds; the next refresh "
                "makes it anew",
                printable(index),
            )


def _rows(metadata: TableMetadata, index: str, schema: pa.Schema) -> pa.Table:
    tables = []
    for name, segment in metadata.segments.items():
        files, positions = segment.groups.get(index), metadata.live[name]
        if files:
            table = metadata.store.read(files, schema.names)
            tables.append(table if positions is None else table.take(pa.array(positions)))
        else:
            tables.append(schema.empty_table().take(pa.nulls(metadata.row_counts[name], pa.int64())))
    return pa.concat_tables(tables)
