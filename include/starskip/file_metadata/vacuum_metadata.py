"""Remove deleted indexes for good, and the files that no version needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from starskip.file_metadata.collect_order import BOUNDS, FILES
from starskip.file_metadata.commit_refresh import Commit
from starskip.file_metadata.open_metadata import metadata_chain
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_state import ARTEFACT, TableState
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage import Storage
from starskip.storage.vacuum import VacuumReport, vacuum


def vacuum_metadata(
    storage: Storage, commit: Commit, *, now: datetime, grace: timedelta, artefact: str = ARTEFACT
) -> VacuumReport:
    """Drop deleted indexes from the metadata, then remove unneeded files.

    Readers and writers are safe for ``grace`` (see storage.vacuum); ``now`` is the store's time.
    """
    chain = metadata_chain(storage, artefact)
    newest = chain.latest()
    if newest is not None and _kept(newest.parts) != newest.parts:
        chain.commit(_kept, commit_id=commit.name, created_at=commit.created_at, created_by=commit.created_by)
    store = ArtefactStore(storage)
    settled = (chain.key,) if newest is not None and not newest.parts else ()
    return vacuum(store, now=now, grace=grace, keep_manifests=1, settled=settled, artefacts=(artefact,))


def _kept(parts: Mapping[str, Part]) -> Mapping[str, Part]:
    state = TableState.from_parts(parts)
    if state is None:
        return {}
    if not state.active:
        return {}
    segments = {name: _active(segment, state) for name, segment in state.current.items()}
    indexes = {index: name for index, name in state.keys.indexes.items() if index in state.active}
    keys = replace(state.keys, indexes=indexes)
    kept = replace(state, indexes=dict.fromkeys(state.active, True), segments=segments, keys=keys)
    return kept.to_parts()


def _active(segment: Segment, state: TableState) -> Segment:
    kept = (*state.active, BOUNDS)
    groups = {index: files for index, files in segment.groups.items() if index in kept}
    keys = {group: key for group, key in segment.keys.items() if group == FILES or group in groups}
    return replace(segment, groups=groups, keys=keys)
