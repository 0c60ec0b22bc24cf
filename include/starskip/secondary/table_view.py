"""A table and its indexes at one moment: indexed files, and files that are scanned as well."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa

from starskip.errors import printable
from starskip.file_metadata.match_paths import match_paths, same_files
from starskip.file_metadata.open_metadata import metadata_chain
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Expression
from starskip.predicates.ordered_values import valid_mask
from starskip.secondary.access_paths import PathMapping, access_paths
from starskip.secondary.column_ids import is_of_same_columns, known_lengths
from starskip.secondary.cost import Stride, TableLayout
from starskip.secondary.data_file import DataFileOfTable, reading
from starskip.secondary.file_schemas import file_schemas
from starskip.secondary.indexed_segments import indexed_segment
from starskip.secondary.lifecycle import ARTEFACT, existing_indexes
from starskip.secondary.postings import IndexedSegment
from starskip.secondary.read_rows import column_bytes, dictionary_columns
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.secondary.table_files import listed_table, table_files
from starskip.secondary.table_schema import TableSchema, table_schema
from starskip.secondary.table_to_index import (
    FORMAT,
    SCHEMA,
    files_of_snapshot,
    known_files,
)
from starskip.secondary.where_clause import where_expression

log = logging.getLogger("starskip.secondary")
_CONDITIONS = 256
"""Texts of conditions that are kept with their paths, so that entries of ranges are counted once."""

_STRIDE_STEP = 2.0
"""Columns whose page lengths differ by less than this factor are one stride."""


@dataclass(frozen=True)
class TableView:
    """A listing of the table against its newest metadata.

    ``files``: by segment and position, the files that an index answers for. ``beside``: all others.
    ``unknown``: files whose number of row groups is not known.
    """

    schema: TableSchema
    indexes: tuple[SecondaryIndex, ...]
    segments: tuple[IndexedSegment, ...]
    files: Mapping[tuple[str, int], DataFileOfTable]
    beside: tuple[DataFileOfTable, ...]
    known_row_groups: int = 0
    unknown: tuple[DataFileOfTable, ...] = ()
    _layouts: dict[tuple[str, ...], TableLayout] = field(default_factory=dict, repr=False, compare=False)

    def file(self, segment: str, position: int) -> DataFileOfTable | None:
        """Return a file that an index answers for; None for a file that is gone or changed."""
        return self.files.get((segment, position))

    def indexed_files(self) -> Iterator[DataFileOfTable]:
        """Yield the files that an index answers for."""
        yield from self.files.values()

    @cached_property
    def condition(self) -> Callable[[str], tuple[Expression, PathMapping]]:
        """Parses a WHERE into its expression and the paths that serve it; recent results are kept.

        Calling it raises the errors of ``where_expression``.
        """

        @lru_cache(maxsize=_CONDITIONS)
        def bound(where: str) -> tuple[Expression, PathMapping]:
            expression = where_expression(where, self.schema)
            return expression, access_paths(expression, self.indexes)

        return bound

    @cached_property
    def bytes_total(self) -> int:
        """The sizes of all live files."""
        return sum(file.size_bytes for file in (*self.files.values(), *self.beside))

    @cached_property
    def row_groups(self) -> int:
        """The row groups of all live files; footers are read of files that were not counted at indexing."""
        return self.known_row_groups + sum(file.units() for file in self.unknown)

    def layout(self, columns: Sequence[str]) -> TableLayout:
        """Return the layout of the indexed rows; its strides are the largest file's."""
        found = self._layouts.get(tuple(columns))
        if found is None:
            # Reading every row group of the footer takes long compared with a query's other work.
            found = self._layouts[tuple(columns)] = self._layout(columns)
        return found

    def _layout(self, columns: Sequence[str]) -> TableLayout:
        rows = sum(int(segment.file_rows[segment.live].sum()) for segment in self.segments)
        largest = max(self.files, key=lambda place: self.files[place].size_bytes, default=None)
        strides: tuple[Stride, ...] = ()
        if largest is not None:
            name, position = largest
            of_file = next(each for each in self.segments if each.name == name).file_rows[position]
            texts = frozenset(
                each.name for each in self.schema.columns if not pa.types.is_primitive(each.type)
            )
            strides = strides_of(self.files[largest], columns, int(of_file), texts)
        files = max(1, sum(int(segment.live.sum()) for segment in self.segments))
        return TableLayout(rows, strides or (Stride(1.0, dict.fromkeys(columns, 1.0), is_page=False),), files)


@dataclass
class OpenedTable:
    """Finds the present state; unchanged parts are not read again. ``metadata``: as it was last read."""

    path: str
    metadata: TableMetadata = field(repr=False)
    metadata_root: str | None = None
    file_format: str | None = None
    version: int | None = None
    _state: TableView | None = field(default=None, repr=False)
    _seen: tuple[int, str] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Warn if the metadata is of no use."""
        self._warn_of_outdated()

    def now(self) -> TableView:
        """Return the state of the table's newest files and the newest metadata."""
        metadata = self._newest_metadata()
        file_format = self.file_format or metadata.source.options.get(FORMAT)
        is_first = self._state is None
        snapshot = listed_table(self.path, file_format, self.version, look_above=is_first)
        seen = metadata.version, snapshot.snapshot_id
        if self._state is None or seen != self._seen:
            self._state, self._seen = table_view(metadata, snapshot), seen
        return self._state

    def _newest_metadata(self) -> TableMetadata:
        chain = metadata_chain(self.metadata.storage, ARTEFACT)
        if max(chain.listed(), default=None) != self.metadata.version:
            self.metadata = existing_indexes(self.path, self.metadata_root)
            self._warn_of_outdated()
        return self.metadata

    def _warn_of_outdated(self) -> None:
        if self.metadata.why_outdated is not None:
            log.warning("%s; until then all files are scanned", printable(self.metadata.why_outdated, 400))


def table_view(metadata: TableMetadata, snapshot: TableSnapshot) -> TableView:
    """Compare a listing with the metadata; an index counts if all segments with live files have it."""
    listing = table_files(snapshot)
    by_path = files_of_snapshot(snapshot)
    paths = listing.paths.to_pylist()
    at = same_files(match_paths(listing.paths, metadata.paths), listing, metadata)
    known = known_files(listing, metadata)
    beside = tuple(by_path[paths[number]] for number in np.flatnonzero(~known).tolist())
    options = metadata.source.options
    schema = table_schema(snapshot, options[SCHEMA], lambda: file_schemas(beside), known_lengths(options))
    listed_at = np.full(metadata.files, -1, np.int64)
    listed_at[at[known]] = np.flatnonzero(known)
    segments: dict[str, Segment] = dict(metadata.segments)
    live_files: dict[str, dict[int, DataFileOfTable]] = {}
    for name in segments:
        rows, live = metadata.row_slices[name], metadata.live[name]
        positions = np.arange(segments[name].rows) if live is None else live
        listed = listed_at[rows]
        live_files[name] = {
            int(position): by_path[paths[place]]
            for position, place in zip(positions[listed >= 0], listed[listed >= 0], strict=True)
        }
    used = {name: segment for name, segment in segments.items() if live_files[name]}
    indexes = tuple(
        index
        for index in metadata.indexes
        if isinstance(index, SecondaryIndex)
        and all(index.specification in segment.groups for segment in used.values())
        and all(name in schema.types_by_name() for name in index.columns)
        and is_of_same_columns(index, metadata.source.options, snapshot)
    )
    partitioned = tuple(
        SecondaryIndex(Kind.PRIMARY, (column_name((name,)),)) for name in snapshot.partition_columns
    )
    state = [
        indexed_segment(metadata, name, segment, live_files[name], indexes, schema)
        for name, segment in used.items()
    ]
    files = {(name, position): file for name in used for position, file in live_files[name].items()}
    row_groups = metadata.row_groups.take(pa.array(at[known]))
    uncounted = np.flatnonzero(known)[~valid_mask(row_groups)]
    return TableView(
        schema,
        (*indexes, *partitioned),
        tuple(state),
        files,
        beside,
        int(np.sum(row_groups.fill_null(0).to_numpy())),
        (*(by_path[paths[number]] for number in uncounted.tolist()), *beside),
    )


def strides_of(
    file: DataFileOfTable,
    columns: Sequence[str],
    rows: int,
    texts: frozenset[str] = frozenset(),
) -> tuple[Stride, ...]:
    """Return the strides of columns of a file with ``rows`` rows, none for an empty file.

    ``texts``: columns whose values vary in length; texts in a short dictionary are read as numbers.

    Only a Parquet file's first row group is looked at for pages and dictionaries. Raises SourceError naming a
    file that cannot be read.
    """
    if file.is_orc:
        return _orc_strides(file, columns, rows, texts)
    footer = file.footer()
    if footer is None or not footer.num_rows:
        return ()
    paged = file.paged()
    groups = range(footer.num_row_groups)
    group_rows = footer.num_rows / footer.num_row_groups
    strides: list[tuple[float, bool, dict[str, float]]] = [(group_rows, False, {})]
    stored = file.stored_names(columns)
    short = dictionary_columns(footer, 0, list(stored.values()))
    texts -= {name for name, there in stored.items() if there in short}
    for name in columns:
        there = stored.get(name, name)
        pages = None if paged is None else paged.pages(0, there)
        is_page = pages is not None and len(pages.offsets) > 1
        unit_rows = pages.rows / len(pages.offsets) if is_page and pages is not None else group_rows
        row_bytes = column_bytes(footer, groups, [there]) / footer.num_rows
        for length, of_pages, found in strides:
            if of_pages == is_page and 1 / _STRIDE_STEP < unit_rows / length < _STRIDE_STEP:
                found[name] = row_bytes
                break
        else:
            strides.append((unit_rows, is_page, {name: row_bytes}))
    return tuple(Stride(rows, found, is_page, texts & found.keys()) for rows, is_page, found in strides)


def _orc_strides(
    file: DataFileOfTable, columns: Sequence[str], rows: int, texts: frozenset[str]
) -> tuple[Stride, ...]:
    """Return the one stride of an ORC file, its stripes; its bytes are shared evenly among its columns."""
    stripes = file.units()
    if not rows or not stripes:
        return ()
    with reading(file.path):
        row_bytes = file.size_bytes / rows / max(len(file.orc().schema), 1)
    return (Stride(rows / stripes, dict.fromkeys(columns, row_bytes), False, texts & set(columns)),)
