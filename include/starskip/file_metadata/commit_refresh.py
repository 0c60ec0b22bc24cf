"""Publish collected metadata as a new version, merged with versions that others published meanwhile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.errors import CommitConflict
from starskip.file_metadata.collect_order import FILES, Collection
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.metadata_files import FILES_SCHEMA, joined
from starskip.file_metadata.metadata_store import REMOVED, MetadataStore, Positions
from starskip.file_metadata.open_metadata import metadata_chain
from starskip.file_metadata.parquet_store import store_of
from starskip.file_metadata.refresh_plan import RefreshPlan
from starskip.file_metadata.removed_rows import live_rows, removed_table
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_keys import WrappedKey
from starskip.file_metadata.table_state import TableState
from starskip.file_metadata.unlock import unlock
from starskip.storage.encryption.keyring import Keyring, process_keys
from starskip.storage.manifest import Manifest, Part
from starskip.storage.staged_write import StagedWrite, require_written


class PlanOvertaken(CommitConflict):
    """The plan conflicts with a version that was published meanwhile; plan again."""


@dataclass(frozen=True, slots=True)
class Commit:
    """Author and time of a commit; ``name`` is unique, and names the segment that the commit adds."""

    name: str
    created_at: datetime
    created_by: str


def new_commit(created_by: str) -> Commit:
    """Return a commit of the present time."""
    return Commit(uuid4().hex, datetime.now(UTC), created_by)


def commit_refresh(
    staged: StagedWrite,
    plan: RefreshPlan,
    collections: Sequence[Collection],
    commit: Commit,
    *,
    changed_meanwhile: pa.Array | None = None,
    keyring: Keyring | None = None,
) -> Manifest:
    """Publish the collections for ``plan.orders``, in their order, and return the manifest.

    ``changed_meanwhile``: paths of files that changed while they were read; their rows are dead. If another
    writer has published the same file, the row of the newer version stays; of two equal rows one stays.
    ``keyring``: for file names that others have encrypted. Raises PlanOvertaken, StorageError, and
    CommitConflict.
    """
    changed = pa.array([], pa.string()) if changed_meanwhile is None else changed_meanwhile
    fresh, *patches = collections
    groups = dict(fresh[0])
    of_fresh, *of_patches = plan.wrapped_keys or [{} for _ in plan.orders]
    mine = Segment(
        len(plan.fresh.files), plan.source.generation, groups.pop(FILES, ()), groups, keys=of_fresh
    )
    files = (file for each in (mine, *_patched_files(patches)) for file in each.to_part().files)
    require_written(staged.storage, staged.folder, files, "this")
    store = store_of(staged.storage)
    read = _Reader(store, {}, keyring or process_keys())

    def change(parts: Mapping[str, Part]) -> Mapping[str, Part]:
        newest = _newest(parts, plan)
        stays = {
            name: segment
            for name, segment in newest.current.items()
            if not (plan.in_full and name in plan.known)
        }
        stays = _with_patches(stays, plan, patches, of_patches)
        others = {name: segment for name, segment in newest.current.items() if name not in plan.known}
        removed = dict(plan.removed)
        own = (
            match_paths(changed, joined(plan.fresh.files, "path")) if len(changed) else np.empty(0, np.int64)
        )
        own = own[own >= 0]
        if others:
            overlap = _Overlap(plan, mine, own)
            live = live_rows(store, newest.current)
            for name, segment in others.items():
                lost = overlap.against(segment, read.files(newest, name), live[name])
                if len(lost):
                    removed[name] = lost
            own = overlap.dead
        if len(own):
            removed[commit.name] = own
        removed = {name: rows for name, rows in removed.items() if name in stays or name == commit.name}
        written = store.write(staged, [(REMOVED, removed_table(removed))] if removed else [])
        added = replace(mine, removed=written.get(REMOVED, ()))
        if added.rows or added.removed:
            stays = {**stays, commit.name: added}
        active = {**newest.indexes, **dict.fromkeys(plan.creates, True)}
        return TableState(plan.source, active, stays, plan.keys).to_parts()

    return metadata_chain(store.storage, staged.artefact).commit(
        change, commit_id=commit.name, created_at=commit.created_at, created_by=commit.created_by
    )


def _newest(parts: Mapping[str, Part], plan: RefreshPlan) -> TableState:
    newest = TableState.from_parts(parts)
    if newest is None:
        if plan.known:
            raise PlanOvertaken("the metadata was removed meanwhile; run this again")
        return TableState(plan.source, {}, {}, plan.keys_before)
    if newest.keys != plan.keys_before:
        raise PlanOvertaken("the keys of the metadata were changed meanwhile; run this again")
    if plan.in_full:
        return replace(newest, source=plan.source)
    # If two first creates meet, ours has no columns for the other's segments.
    is_first = not plan.known and any(segment.rows for segment in newest.current.values())
    if newest.source.generation != plan.source.generation or is_first:
        raise PlanOvertaken("the metadata was created anew meanwhile; run this again")
    return newest


def _with_patches(
    stays: Mapping[str, Segment],
    plan: RefreshPlan,
    patches: Sequence[Collection],
    wrapped: Sequence[Mapping[str, WrappedKey]],
) -> dict[str, Segment]:
    patched = dict(stays)
    for patch, collection, new_keys in zip(plan.patches, patches, wrapped, strict=True):
        for name, groups in zip(patch.segments, collection, strict=True):
            if name not in stays:
                raise PlanOvertaken("the metadata was optimized meanwhile; run this again")
            before = patched[name]
            keys = {group: key for group, key in before.keys.items() if group not in groups} | dict(new_keys)
            patched[name] = replace(before, groups={**before.groups, **groups}, keys=keys)
    return patched


@dataclass(slots=True)
class _Overlap:
    """Decides which row of a file stays if another writer has published a row for it, too."""

    plan: RefreshPlan
    mine: Segment
    dead: Positions
    """Positions of our own dead rows."""

    def against(self, segment: Segment, files: pa.Table, live: Positions | None) -> Positions:
        """Return the positions of the other segment's rows that are dead."""
        positions = np.arange(segment.rows) if live is None else live
        theirs = files.take(pa.array(positions))
        gone = _same_identity(theirs, self.plan.dead)
        ours = self.plan.fresh.files
        at = match_paths(joined(theirs, "path"), joined(ours, "path"))
        both = np.flatnonzero((at >= 0) & ~gone)
        both = both[~np.isin(at[both], self.dead)]
        wins = _worth(ours, self.mine, at[both]) > _worth(theirs, segment, both)
        self.dead = np.union1d(self.dead, at[both][~wins])
        gone[both[wins]] = True
        return positions[gone]


def _worth(files: pa.Table, segment: Segment, positions: Positions) -> npt.NDArray[np.float64]:
    """Return a number for each row: greater for a newer file, then a trusted one, then more indexes."""
    modified: npt.NDArray[np.int64] = files["modified_ms"].to_numpy()[positions]
    trusted: npt.NDArray[np.bool_] = files["trusted"].to_numpy()[positions]
    return modified + trusted / 2 + min(len(segment.groups), 1000) / 4000


def _same_identity(files: pa.Table, among: pa.Table) -> npt.NDArray[np.bool_]:
    at = match_paths(joined(files, "path"), joined(among, "path"))
    found: npt.NDArray[np.bool_] = at >= 0
    for name in ("size_bytes", "modified_ms"):
        values: Any = files[name].to_numpy()[found]
        found[found] = values == among[name].to_numpy()[at[found]]
    return found


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads the files of a segment once, however often the commit is retried."""

    store: MetadataStore
    seen: dict[str, pa.Table]
    keyring: Keyring

    def files(self, state: TableState, name: str) -> pa.Table:
        if name not in self.seen:
            segment = state.segments[name]
            store = self.store
            if FILES in segment.keys:
                store = store.with_keys(unlock(state, self.keyring).data_keys)
            self.seen[name] = (
                store.read(segment.files, FILES_SCHEMA.names).combine_chunks()
                if segment.files
                else FILES_SCHEMA.empty_table()
            )
        return self.seen[name]


def _patched_files(patches: Sequence[Collection]) -> list[Segment]:
    return [Segment(0, "", groups=groups) for collection in patches for groups in collection]
