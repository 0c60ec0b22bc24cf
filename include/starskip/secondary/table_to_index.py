"""A table of files as the lifecycle of metadata reads it, without Spark: list, collect, compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.errors import DamagedFile, SourceError, SourceOutage
from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.file_metadata.collect_order import FILES, Collection, CollectOrder
from starskip.file_metadata.commit_refresh import PlanOvertaken
from starskip.file_metadata.match_paths import match_paths, same_files
from starskip.file_metadata.metadata_files import (
    FILES_SCHEMA,
    ROW_GROUPS,
    joined,
    write_files,
)
from starskip.file_metadata.table_files import DamagedFiles, TableFiles
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_source import TableSource
from starskip.lake.table_snapshot import TableSnapshot
from starskip.secondary.collect_entries import FileToIndex, TaskFiles, collect_entries
from starskip.secondary.column_ids import (
    CHAR_LENGTHS,
    COLUMN_IDS,
    column_ids,
    known_lengths,
    lengths_text,
)
from starskip.secondary.data_file import DataFileOfTable
from starskip.secondary.file_schemas import file_schemas
from starskip.secondary.secondary_index import SecondaryIndex
from starskip.secondary.settings import SecondarySettings
from starskip.secondary.table_files import (
    hadoop_path,
    listed_table,
    table_files,
)
from starskip.secondary.table_schema import TableSchema, table_schema
from starskip.skipping.file_metadata import Mask
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite

SCHEMA, FORMAT, PRIMARY = "schema", "format", "primary"
"""Options of a table source: the files' schema, the requested format, the declared clustering key."""
_PIECE_BYTES = 64 << 20
"""About the stored bytes of files between two reports of progress; a task takes one piece or several."""


@dataclass
class TableToIndex:
    """Implements TableReader; ``primary``: the declared clustering key.

    ``version``: of a Delta table, or the id of an Iceberg snapshot. ``known``: metadata of the table; columns
    of files that it knows are not read again.
    """

    path: str
    file_format: str | None = None
    primary: str | None = None
    version: int | None = None
    engine: Engine = field(default_factory=LocalEngine)
    settings: SecondarySettings = field(default_factory=SecondarySettings)
    known: TableMetadata | None = None
    _snapshot: TableSnapshot | None = None
    _schema: TableSchema | None = None

    @property
    def snapshot(self) -> TableSnapshot:
        """The last listing."""
        if self._snapshot is None:
            self._snapshot = listed_table(self.path, self.file_format, self.version)
        return self._snapshot

    @property
    def schema(self) -> TableSchema:
        """The columns of all files of the last listing."""
        if self._schema is None:
            unread = np.ones(self.snapshot.files.num_rows, np.bool_)
            text, lengths = None, None
            if self.known is not None:
                options = self.known.source.options
                # If the stored listing is damaged, no file is known, and a refresh collects all anew.
                with suppress(DamagedFile):
                    unread &= ~known_files(table_files(self.snapshot), self.known)
                    text, lengths = options.get(SCHEMA), known_lengths(options)
            files = list(files_of_snapshot(self.snapshot).values())
            chosen = [file for file, is_unread in zip(files, unread.tolist(), strict=True) if is_unread]
            run_tasks = EngineTasks(self.engine).run_tasks
            self._schema = table_schema(self.snapshot, text, lambda: file_schemas(chosen, run_tasks), lengths)
        return self._schema

    @property
    def source(self) -> TableSource:
        """See TableReader."""
        options = {SCHEMA: self.schema.to_text()}
        ids = column_ids(self.snapshot)
        options |= {} if ids is None else {COLUMN_IDS: ids}
        lengths = lengths_text(self.schema.chars)
        options |= {} if lengths is None else {CHAR_LENGTHS: lengths}
        options |= {} if self.file_format is None else {FORMAT: self.file_format}
        options |= {} if self.primary is None else {PRIMARY: self.primary}
        # A metadata file, or a catalog, names the table of a folder.
        place = self.snapshot.location if self.snapshot.table_format == "iceberg" else self.snapshot.path
        return TableSource(hadoop_path(place), self.snapshot.file_format, {}, options)

    def list_files(self, *, anew: bool, clock_behind_ms: int) -> TableFiles:
        """See TableReader."""
        if anew:
            self._snapshot = self._schema = None
        found = table_files(self.snapshot)
        return TableFiles(found.paths, found.sizes, found.modified_ms, found.observed_ms - clock_behind_ms)

    def collect(self, order: CollectOrder, staged: StagedWrite) -> Collection:
        """See TableReader; the engine cuts pieces of files into parts, whose entries share their runs."""
        indexes = tuple(each for each in order.indexes if isinstance(each, SecondaryIndex))
        files = files_of_snapshot(self.snapshot)
        schema = self.schema
        for index in indexes:
            index.check(schema.types_by_name())
        collect = _Collect(indexes, schema, staged, self.settings.stop_share)
        found = EngineTasks(self.engine).run_parts("indexing", list(_pieces(order, files)), collect)
        collected_files = _sound(found)
        collected: list[Mapping[str, tuple[DataFile, ...]]] = []
        start = 0
        for segment, count in enumerate(order.row_counts):
            mine = [done for of_segment, done in collected_files if of_segment == segment]
            groups = {
                index.specification: tuple(file for done in mine for file in done.groups[index.specification])
                for index in indexes
            }
            if order.with_files:
                groups[FILES] = write_files(staged, _with_rows(order.files.slice(start, count), mine))
            collected.append(groups)
            start += count
        return collected

    def changed_files(self, chosen: Mask) -> pa.Array:
        """See TableReader."""
        before = table_files(self.snapshot)
        now = table_files(listed_table(self.path, self.file_format, self.version))
        same = same_files(match_paths(before.paths, now.paths), before, now) >= 0
        return before.paths.filter(pa.array(chosen & ~same))


@dataclass(frozen=True, slots=True)
class _Piece:
    segment: int
    files: tuple[FileToIndex, ...]


@dataclass(frozen=True, slots=True)
class _Unread:
    """A file that a task could not read: a value, since engines keep little of an error's class."""

    path: str
    reason: str
    is_gone: bool


@dataclass(frozen=True, slots=True)
class _Collect:
    """Collects the entries of pieces, segment by segment; it may run in another process."""

    indexes: tuple[SecondaryIndex, ...]
    schema: TableSchema
    staged: StagedWrite
    stop_share: float

    def __call__(self, pieces: Iterable[_Piece]) -> Iterator[tuple[int, TaskFiles | tuple[_Unread, ...]]]:
        for segment, of_segment in groupby(pieces, key=lambda each: each.segment):
            yield segment, self._collected(file for each in of_segment for file in each.files)

    def _collected(self, files: Iterator[FileToIndex]) -> TaskFiles | tuple[_Unread, ...]:
        unread: list[_Unread] = []
        while True:
            try:
                found = collect_entries(
                    files, self.indexes, self.schema, self.staged, stop_share=self.stop_share
                )
            except SourceOutage:
                raise
            except SourceError as error:
                is_gone = isinstance(error.__cause__, FileNotFoundError)
                unread.append(_Unread(hadoop_path(error.source), str(error), is_gone=is_gone))
                # The remaining files are read, too, so that all unreadable files are reported at once.
                continue
            return tuple(unread) or found


def _sound(results: Sequence[tuple[int, TaskFiles | tuple[_Unread, ...]]]) -> list[tuple[int, TaskFiles]]:
    """Return the results with their segments; raise PlanOvertaken or DamagedFiles if files were not read."""
    unread = [each for _, found in results if not isinstance(found, TaskFiles) for each in found]
    for each in unread:
        if each.is_gone:
            raise PlanOvertaken(f"{each.path}: is gone since it was listed")
    if unread:
        raise DamagedFiles({each.path: each.reason for each in unread})
    return [(segment, found) for segment, found in results if isinstance(found, TaskFiles)]


def files_of_snapshot(snapshot: TableSnapshot) -> Mapping[str, DataFileOfTable]:
    """Return the files of a snapshot by Hadoop's paths."""
    is_orc = snapshot.file_format == "orc"
    is_by_name = all(each.stored == each.path for each in snapshot.columns)
    columns = () if is_by_name else snapshot.columns
    listed = table_files(snapshot)
    names = snapshot.files["path"].to_pylist()
    partitions = snapshot.files["partition"].to_pylist()
    return {
        hadoop: DataFileOfTable(name, int(size), int(modified), tuple(partition or ()), is_orc, columns)
        for hadoop, name, size, modified, partition in zip(
            listed.paths.to_pylist(), names, listed.sizes, listed.modified_ms, partitions, strict=True
        )
    }


def _pieces(order: CollectOrder, files: Mapping[str, DataFileOfTable]) -> Iterator[_Piece]:
    paths = order.files["path"].to_pylist()
    start = 0
    for segment, count in enumerate(order.row_counts):
        held: list[FileToIndex] = []
        size = 0
        for position, path in enumerate(paths[start : start + count]):
            if path is None:
                continue
            if path not in files:
                raise PlanOvertaken(f"{path}: is gone since it was listed")
            held.append(FileToIndex(position, files[path]))
            size += files[path].size_bytes
            if size >= _PIECE_BYTES:
                yield _Piece(segment, tuple(held))
                held, size = [], 0
        if held:
            yield _Piece(segment, tuple(held))
        start += count


def _with_rows(files: pa.Table, done: Iterable[TaskFiles]) -> pa.Table:
    counted: dict[int, int] = {}
    row_groups_of: dict[int, int] = {}
    for each in done:
        counted.update(each.rows)
        row_groups_of.update(each.row_groups)
    rows, row_groups = (
        pa.array([of.get(position) for position in range(files.num_rows)], pa.int64())
        for of in (counted, row_groups_of)
    )
    columns: Sequence[Any] = [
        joined(files, "path"),
        files["size_bytes"],
        files["modified_ms"],
        rows,
        files["trusted"],
        row_groups,
    ]
    return pa.table(columns, names=[*FILES_SCHEMA.names, ROW_GROUPS])


def known_files(listing: TableFiles, metadata: TableMetadata) -> Mask:
    """Return which files of a listing are unchanged since the metadata was collected."""
    at = same_files(match_paths(listing.paths, metadata.paths), listing, metadata)
    return (at >= 0) & metadata.trusted[at] if metadata.files else at >= 0
