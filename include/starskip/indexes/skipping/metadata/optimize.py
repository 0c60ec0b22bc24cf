"""Compact the metadata of a table into one segment without dead rows, sorted by path.

Segments with different indexes are compacted apart: an index covers all files of a segment or none, and the
next refresh adds to a segment what it lacks.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import printable
from starskip.indexes.skipping.metadata.commit_refresh import Commit, PlanOvertaken
from starskip.indexes.skipping.metadata.metadata_files import (
    FILES_SCHEMA,
    ROW_GROUPS,
    joined,
    read_columns,
    read_schema,
    write_files,
    write_rows,
)
from starskip.indexes.skipping.metadata.open_metadata import ParseIndex, existing_metadata, metadata_chain
from starskip.indexes.skipping.metadata.removed_rows import Positions, live_rows, removed_table
from starskip.indexes.skipping.metadata.segment import Segment
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.indexes.skipping.metadata.table_state import ARTEFACT, CURRENT, TableState
from starskip.indexes.skipping.metadata.wide_columns import narrow
from starskip.indexes.skipping.registry import index_from_specification
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import DataFile, Manifest, Part
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

Written = tuple[DataFile, ...] | None
"""The files of an index; None leaves it out."""
WriteGroups = Callable[[StagedWrite, TableMetadata, Sequence[str], pa.Array], Mapping[str, Written]]
"""Writes the rows of indexes for all live files, in the order that is given last."""
_ATTEMPTS = 5
log = logging.getLogger("starskip.skipping")


def optimize_metadata(
    storage: Storage,
    commit: Commit,
    *,
    artefact: str = ARTEFACT,
    parse: ParseIndex = index_from_specification,
    write_groups: WriteGroups | None = None,
) -> int | None:
    """Publish one segment in place of all with the same indexes; return the version, None without a change.

    One group of columns is in memory at a time. Rows that another writer removes meanwhile stay removed, and
    segments that are added meanwhile stay. ``write_groups`` writes the rows of indexes, if they are
    not one for each file. Raises SourceError if there is no metadata.
    """
    # One for each segment that is tried: a name that was committed is not taken for another segment.
    names_of_segments = (f"{commit.name}-{number}" if number else commit.name for number in count())
    for attempt in range(_ATTEMPTS):
        try:
            version = None
            metadata = existing_metadata(storage, artefact, parse)
            for names in _with_same_indexes(metadata):
                aside = ArtefactStore(storage).staged_write(artefact, CURRENT)
                named = replace(commit, name=next(names_of_segments))
                some = metadata.of_segments(names)
                manifest = _optimize(aside, some, named, write_groups or _each_written)
                version = manifest.version if manifest else version
            return version
        except PlanOvertaken:
            if attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _with_same_indexes(metadata: TableMetadata) -> Sequence[Sequence[str]]:
    """Return the names of segments that can be one; those without a live row are with the first."""
    alike: dict[frozenset[str], list[str]] = {}
    empty: list[str] = []
    for name, segment in metadata.segments.items():
        of = alike.setdefault(frozenset(segment.groups), []) if metadata.row_counts[name] else empty
        of.append(name)
    first, *others = alike.values() or [[]]
    return [[*empty, *first], *others]


def _optimize(
    aside: StagedWrite, metadata: TableMetadata, commit: Commit, write_groups: WriteGroups
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
    written = write_groups(aside, metadata, names, order)
    groups = {name: of for name, of in written.items() if of is not None}
    merged = Segment(
        metadata.files, metadata.source.generation, write_files(aside, files.take(order)), groups
    )
    places = _Places.of(metadata, order)

    def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        newest = TableState.from_parts(parts)
        if newest is None or any(
            name not in newest.segments or newest.segments[name].groups != segment.groups
            for name, segment in before.items()
        ):
            raise PlanOvertaken("the metadata was changed meanwhile; run this again")
        others = {name: segment for name, segment in newest.current.items() if name not in before}
        now = live_rows(metadata.storage, newest.current) if others else {}
        # The segments that go may list dead rows of those that stay.
        dead = {name: _dead(now[name], segment) for name, segment in others.items()}
        dead[commit.name] = places.dead_since(now)
        dead = {name: rows for name, rows in dead.items() if len(rows)}
        removed = write_rows(aside, "removed", removed_table(dead)) if dead else ()
        return replace(newest, segments={**others, commit.name: replace(merged, removed=removed)}).to_parts()

    return metadata_chain(metadata.storage, aside.artefact).commit(
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
    aside: StagedWrite, metadata: TableMetadata, names: Sequence[str], order: pa.Array
) -> Mapping[str, Written]:
    return {name: _written(aside, metadata, name, order) for name in names}


def _written(aside: StagedWrite, metadata: TableMetadata, index: str, order: pa.Array) -> Written:
    """Write an index's rows of all segments as one file, None if they cannot be merged.

    If a user's index type has changed its columns, that index alone is left out.
    """
    of = next((files for s in metadata.segments.values() if (files := s.groups.get(index))), ())
    if not of:
        return ()
    schema = read_schema(metadata.storage, of[0])
    parts = (files for segment in metadata.segments.values() for files in segment.groups.get(index, ()))
    if any(not read_schema(metadata.storage, each).equals(schema) for each in parts):
        log.warning(
            "%s: left out, since its metadata has columns of several kinds; the next refresh makes it anew",
            printable(index),
        )
        return None
    tables = []
    for name, segment in metadata.segments.items():
        files, positions = segment.groups.get(index), metadata.live[name]
        if files:
            table = read_columns(metadata.storage, files, schema.names)
            tables.append(table if positions is None else table.take(pa.array(positions)))
        else:
            tables.append(schema.empty_table().take(pa.nulls(metadata.row_counts[name], pa.int64())))
    rows = pa.concat_tables(tables)
    columns = {field.name: narrow(joined(rows, field.name).take(order), field.type) for field in schema}
    return write_rows(aside, index, pa.table(columns))
