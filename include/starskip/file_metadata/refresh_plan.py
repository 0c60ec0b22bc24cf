"""Plan a refresh: the files to collect, and the rows of metadata that are dead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from starskip.file_metadata.collect_order import CollectOrder
from starskip.file_metadata.match_paths import match_paths, same_files
from starskip.file_metadata.metadata_files import FILES_SCHEMA, joined
from starskip.file_metadata.metadata_store import Positions
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_files import TableFiles
from starskip.file_metadata.table_keys import TableKeys, WrappedKey
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_source import TableSource
from starskip.skipping.file_metadata import Mask
from starskip.skipping.skipping_index import SkippingIndex


@dataclass(frozen=True, slots=True)
class Patch:
    """Columns of further indexes for existing segments."""

    segments: tuple[str, ...]
    order: CollectOrder


@dataclass(frozen=True, slots=True)
class RefreshPlan:
    """The changes of a create or refresh to the metadata that it has read.

    ``known``: the segments that were read, which are dropped if ``in_full``. ``removed``: dead rows of these
    segments; ``dead``: the same files by path, size_bytes and modified_ms. ``fresh``: the files of the new
    segment. ``creates``: specifications that become active. ``keys``: the table's keys afterwards.
    """

    source: TableSource
    known: frozenset[str]
    in_full: bool
    fresh: CollectOrder
    patches: tuple[Patch, ...]
    removed: Mapping[str, Positions]
    dead: pa.Table
    creates: tuple[str, ...]
    unchanged_files: int
    gone_files: int
    keys: TableKeys = field(default_factory=TableKeys)
    keys_before: TableKeys = field(default_factory=TableKeys)
    wrapped_keys: tuple[Mapping[str, WrappedKey], ...] = ()
    """The keys of the groups of each order, in the order of ``orders``."""

    @property
    def is_nothing(self) -> bool:
        """True where nothing is to be changed."""
        changes = self.in_full or self.creates or self.removed or self.patches or len(self.fresh.files)
        return not changes and self.keys == self.keys_before

    @property
    def orders(self) -> tuple[CollectOrder, ...]:
        """The orders: of the fresh files, then of each patch."""
        return (self.fresh, *(patch.order for patch in self.patches))


def plan_refresh(
    listing: TableFiles,
    metadata: TableMetadata | None,
    source: TableSource,
    indexes: Sequence[SkippingIndex],
    *,
    creates: Sequence[str] = (),
    in_full: bool = False,
    keys: TableKeys | None = None,
    is_listing_lost: bool = False,
) -> RefreshPlan:
    """Compare a listing with the metadata, by whole columns.

    ``indexes``: the indexes to be active, new ones included. A file is collected if it is new or changed, or
    was too young when listed to be distinguished from a later version. Metadata of another source is dropped.
    ``keys``: the table's keys from now on, by default unchanged; with another key for file names everything
    is collected anew. Where indexes are locked, ``in_full`` collects the others anew. ``is_listing_lost``:
    the stored list of files cannot be read, so that no metadata can be kept.
    """
    before = metadata.state.keys if metadata else TableKeys()
    keys = before if keys is None else keys
    is_other = metadata is not None and (
        is_listing_lost
        or metadata.why_outdated is not None
        or metadata.source.generation != source.generation
        or keys.listing != before.listing
    )
    renews = in_full and not is_other and metadata is not None and bool(metadata.locked_indexes)
    in_full = is_other or (in_full and not renews)
    known = frozenset(metadata.state.segments) if metadata else frozenset()
    if metadata is None or in_full:
        return RefreshPlan(
            source=source,
            known=known,
            in_full=in_full and metadata is not None,
            fresh=_fresh(listing, np.arange(len(listing.paths)), indexes),
            patches=(),
            removed={},
            dead=_identities(metadata, np.empty(0, np.int64)),
            creates=tuple(creates),
            unchanged_files=0,
            gone_files=0,
            keys=keys,
            keys_before=before,
        )
    positions = match_paths(listing.paths, metadata.paths)
    at = same_files(positions, listing, metadata)
    same = (at >= 0) & metadata.trusted[at] if metadata.files else at >= 0
    stays = np.zeros(metadata.files, np.bool_)
    stays[positions[same]] = True
    listed = np.zeros(metadata.files, np.bool_)
    listed[positions[positions >= 0]] = True
    dead = np.flatnonzero(~stays)
    return RefreshPlan(
        source=source,
        known=known,
        in_full=False,
        fresh=_fresh(listing, np.flatnonzero(~same), indexes),
        patches=_patches(metadata, indexes, stays, None if renews else keys),
        removed=_by_segment(metadata, dead),
        dead=_identities(metadata, dead),
        creates=tuple(name for name in creates if not metadata.state.indexes.get(name)),
        unchanged_files=int(stays.sum()),
        gone_files=int((~listed).sum()),
        keys=keys,
        keys_before=before,
    )


def _fresh(listing: TableFiles, positions: Positions, indexes: Sequence[SkippingIndex]) -> CollectOrder:
    # By path, so that files that were written together are adjacent.
    files = listing.at(positions).sort_by("path")
    return CollectOrder(tuple(indexes), files, (len(files),), with_files=True)


def _by_segment(metadata: TableMetadata, dead: Positions) -> Mapping[str, Positions]:
    removed = {}
    for name, rows in metadata.row_slices.items():
        mine = dead[(dead >= rows.start) & (dead < rows.stop)] - rows.start
        live = metadata.live[name]
        if len(mine):
            removed[name] = mine if live is None else live[mine]
    return removed


def _identities(metadata: TableMetadata | None, positions: Positions) -> pa.Table:
    if metadata is None or not len(positions):
        return pa.schema([FILES_SCHEMA.field(number) for number in range(3)]).empty_table()
    return pa.table(
        {
            "path": metadata.paths.take(pa.array(positions)),
            "size_bytes": metadata.sizes[positions],
            "modified_ms": metadata.modified_ms[positions],
        }
    )


def _patches(
    metadata: TableMetadata, indexes: Sequence[SkippingIndex], stays: Mask, keys: TableKeys | None
) -> tuple[Patch, ...]:
    """Return the columns that segments lack, by index or by key; all columns without ``keys``."""
    lacking: dict[tuple[SkippingIndex, ...], list[str]] = {}
    for name, segment in metadata.segments.items():
        missing = tuple(each for each in indexes if _is_missing(each.specification, segment, keys))
        if missing and stays[metadata.row_slices[name]].any():
            lacking.setdefault(missing, []).append(name)
    return tuple(
        Patch(tuple(names), CollectOrder(missing, *_rows_of(metadata, names, stays), with_files=False))
        for missing, names in lacking.items()
    )


def _is_missing(group: str, segment: Segment, keys: TableKeys | None) -> bool:
    if keys is None or group not in segment.groups:
        return True
    key = segment.keys.get(group)
    return keys.of_group(group) != (None if key is None else key.name)


def _rows_of(metadata: TableMetadata, names: Sequence[str], stays: Mask) -> tuple[pa.Table, tuple[int, ...]]:
    """Return all rows of segments, without a path where nothing is to be collected."""
    tables = []
    for name in names:
        segment, live = metadata.segments[name], metadata.live[name]
        files = metadata.store.read(segment.files, FILES_SCHEMA.names).combine_chunks()
        wanted = np.zeros(segment.rows, np.bool_)
        wanted[np.arange(segment.rows) if live is None else live] = stays[metadata.row_slices[name]]
        paths = pa.array(np.arange(segment.rows), mask=~wanted)
        tables.append(files.drop_columns("rows").set_column(0, "path", joined(files, "path").take(paths)))
    return pa.concat_tables(tables), tuple(metadata.segments[name].rows for name in names)
