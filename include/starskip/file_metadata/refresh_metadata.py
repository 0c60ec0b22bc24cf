"""Create or refresh metadata: list, plan, collect, compare again, publish; retry after a conflict."""

from __future__ import annotations

import logging
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Protocol
from uuid import uuid4

import numpy as np
import pyarrow as pa

from starskip.errors import ConfigError, printable
from starskip.file_metadata.collect_order import Collection, CollectOrder
from starskip.file_metadata.commit_refresh import Commit, PlanOvertaken, commit_refresh
from starskip.file_metadata.damaged_groups import DamagedGroups, damaged_groups
from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.match_paths import match_paths
from starskip.file_metadata.metadata_files import joined
from starskip.file_metadata.new_keys import with_new_keys
from starskip.file_metadata.open_metadata import ParseIndex, read_metadata
from starskip.file_metadata.parquet_store import store_of
from starskip.file_metadata.refresh_plan import RefreshPlan, plan_refresh
from starskip.file_metadata.table_files import RACY_MS, DamagedFiles, TableFiles
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.table_state import ARTEFACT
from starskip.skipping.file_metadata import Mask
from starskip.skipping.registry import index_from_specification
from starskip.skipping.skipping_index import SkippingIndex
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage
from starskip.storage.store_clock import store_clock

ATTEMPTS = 5
_TICK_MS = 20
_MOST_DAMAGED = 20
"""Passes that leave out damaged files: an engine may find one damaged file at a time."""
_DAMAGED_TOLD = 10
log = logging.getLogger("starskip.skipping")


class TableReader(Protocol):
    """An engine that lists and reads the files of one table; paths are as Hadoop writes them."""

    @property
    def source(self) -> TableSource:
        """The table and the way it is read."""
        ...

    def list_files(self, *, anew: bool, clock_behind_ms: int) -> TableFiles:
        """List the files; unless ``anew``, a recent listing of the engine may be reused.

        ``clock_behind_ms``: how far the clock that stamps files is behind the engine's.
        """
        ...

    def collect(self, order: CollectOrder, staged: StagedWrite) -> Collection:
        """Collect from files of the last listing.

        Raises PlanOvertaken if some are gone, and DamagedFiles for files that cannot be read, as far as
        known.
        """
        ...

    def changed_files(self, chosen: Mask) -> pa.Array:
        """Return the chosen files of the last listing that have changed or are gone."""
        ...


@dataclass(frozen=True, slots=True)
class Clock:
    """``now`` returns this machine's time with a zone; ``wait`` sleeps for seconds."""

    now: Callable[[], datetime]
    wait: Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Refreshed:
    """Result of a create or refresh: ``location`` of the metadata, ``version`` after it, and counts of files.

    ``changed_meanwhile``: files that changed while they were read; no metadata of them is kept yet.
    ``damaged_files``: paths of files that cannot be read; the next refresh tries them again.
    """

    location: str
    version: int
    files: int
    collected_files: int
    unchanged_files: int
    gone_files: int
    changed_meanwhile: int
    in_full: bool
    indexes: tuple[str, ...]
    damaged_files: tuple[str, ...] = ()
    failed_indexes: Mapping[str, str] = field(default_factory=dict)
    """Reasons why indexes were left out, by specification; they do not cover new or changed files."""


def refresh_metadata(
    storage: Storage,
    reader: TableReader,
    created: Sequence[SkippingIndex],
    clock: Clock,
    *,
    created_by: str,
    in_full: bool = False,
    failed: Mapping[str, str] = MappingProxyType({}),
    artefact: str = ARTEFACT,
    parse: ParseIndex = index_from_specification,
    encryption: Encryption | None = None,
    unnamed: Sequence[SkippingIndex] = (),
) -> Refreshed:
    """Bring metadata up to date, and add the indexes ``created`` to the existing ones.

    ``failed``: by specification, why active indexes are to be left out; indexes of unavailable types are left
    out, too. If files were written within the last two seconds, the listing is repeated once after that time:
    later versions of them could not be distinguished. ``unnamed``: further groups of columns to collect for
    each file, which are no indexes of their own. ``encryption``: the keys; groups whose key is missing are
    left as they are, with a warning. A damaged file is left out with a warning, unless all files are damaged.
    Groups whose metadata files are gone, damaged or replaced are collected anew, with a warning. Raises
    StarskipError; the former metadata stays then.
    """
    for attempt in range(ATTEMPTS):
        try:
            return _attempt(
                _Metadata(storage, artefact, parse, encryption or Encryption()),
                reader,
                created,
                clock,
                created_by,
                in_full,
                failed,
                unnamed,
                anew=attempt > 0,
            )
        except PlanOvertaken:
            if attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class _Metadata:
    """Place of the metadata, the family's artefact, the parser of its indexes, and keys."""

    storage: Storage
    artefact: str
    parse: ParseIndex
    encryption: Encryption

    def read(self) -> TableMetadata | None:
        return read_metadata(self.storage, self.artefact, self.parse, self.encryption.keyring)

    def staged_write(self) -> StagedWrite:
        return ArtefactStore(self.storage).staged_write(self.artefact, CURRENT)


def _attempt(
    place: _Metadata,
    reader: TableReader,
    created: Sequence[SkippingIndex],
    clock: Clock,
    created_by: str,
    in_full: bool,
    failed: Mapping[str, str],
    unnamed: Sequence[SkippingIndex],
    *,
    anew: bool,
) -> Refreshed:
    storage, metadata = place.storage, place.read()
    names = [index.specification for index in created]
    keys = place.encryption.keys_from_now_on(metadata, names)
    failed = {**(metadata.not_understood if metadata else {}), **failed}
    indexes = _all_indexes(metadata, created, failed)
    if keys.names and not store_of(storage).encrypts:
        raise ConfigError(
            f"{storage.place}: this store does not encrypt; keep the metadata in a folder or a bucket",
            setting="encrypt",
        )
    if metadata is not None and _is_all_locked(metadata, indexes, failed):
        _warn_locked(metadata, names)
        return _unchanged(storage.place, metadata)
    unsound = DamagedGroups()
    if metadata is not None and (not in_full or metadata.locked_indexes):
        unsound = damaged_groups(metadata, [each.specification for each in (*indexes, *unnamed)])
        if unsound.groups and not in_full and not unsound.is_listing:
            metadata = unsound.left_out_of(metadata)
    behind_ms = max(0, int((clock.now() - store_clock(storage)).total_seconds() * 1000))
    listing = reader.list_files(anew=anew, clock_behind_ms=behind_ms)
    wait_ms = _until_settled_ms(listing)
    if wait_ms:
        clock.wait(wait_ms / 1000)
        listing = reader.list_files(anew=True, clock_behind_ms=behind_ms)

    def plan_of(readable: TableFiles) -> RefreshPlan:
        plan = plan_refresh(
            readable,
            metadata,
            reader.source,
            (*indexes, *unnamed),
            creates=names,
            in_full=in_full,
            keys=keys,
            is_listing_lost=unsound.is_listing,
        )
        return with_new_keys(plan, place.encryption.keyring)

    found = _collect_readable(place, reader, listing, plan_of, is_first=metadata is None)
    plan, damaged = found.plan, found.damaged
    version, chosen, changed = 0, np.zeros(len(listing.paths), np.bool_), pa.array([], pa.string())
    if metadata is not None and plan.is_nothing:
        version = metadata.version
    else:
        for order in plan.orders:
            at = match_paths(joined(order.files, "path"), listing.paths)
            chosen[at[at >= 0]] = True
        changed = reader.changed_files(chosen)
        commit = Commit(uuid4().hex, clock.now(), created_by)
        version = commit_refresh(
            found.staged,
            plan,
            found.collections,
            commit,
            changed_meanwhile=changed,
            keyring=place.encryption.keyring,
        ).version
    _warn(damaged)
    for each in unsound.reasons[:_DAMAGED_TOLD]:
        log.warning("%s; what it held was collected anew", each)
    _warn_locked(metadata, names)
    return Refreshed(
        storage.place,
        version,
        len(listing.paths),
        int(np.count_nonzero(chosen)),
        plan.unchanged_files,
        # The plan counts the files that it left out as gone; a plan in full counts none.
        plan.gone_files and max(plan.gone_files - _known_files(damaged, metadata), 0),
        len(changed),
        plan.in_full,
        tuple(index.specification for index in indexes),
        tuple(sorted(damaged)),
        failed,
    )


@dataclass(frozen=True, slots=True)
class _Collected:
    """``damaged``: by path, why files were left out of the plan."""

    plan: RefreshPlan
    staged: StagedWrite
    collections: Sequence[Collection]
    damaged: Mapping[str, str]


def _collect_readable(
    place: _Metadata,
    reader: TableReader,
    listing: TableFiles,
    plan_of: Callable[[TableFiles], RefreshPlan],
    *,
    is_first: bool,
) -> _Collected:
    """Collect from the files that can be read; raise DamagedFiles if none can, or too few.

    Files of an earlier pass stay staged, where a vacuum finds them.
    """
    damaged: dict[str, str] = {}
    passes = 0
    while True:
        plan = plan_of(listing.without(damaged))
        staged = place.staged_write()
        if plan.is_nothing and not is_first:
            return _Collected(plan, staged, (), damaged)
        try:
            return _Collected(plan, staged, [reader.collect(order, staged) for order in plan.orders], damaged)
        except DamagedFiles as error:
            passes += 1
            damaged |= error.reasons
            if passes > _MOST_DAMAGED or len(damaged) >= len(listing.paths):
                raise DamagedFiles(damaged) from error


def _known_files(damaged: Mapping[str, str], metadata: TableMetadata | None) -> int:
    if metadata is None or not damaged:
        return 0
    return int(np.count_nonzero(match_paths(pa.array(list(damaged), pa.string()), metadata.paths) >= 0))


def _warn(damaged: Mapping[str, str]) -> None:
    for path in sorted(damaged)[:_DAMAGED_TOLD]:
        log.warning("%s: left out, cannot be read: %s", printable(path), damaged[path])
    if len(damaged) > _DAMAGED_TOLD:
        log.warning("%d more damaged files left out", len(damaged) - _DAMAGED_TOLD)


def _warn_locked(metadata: TableMetadata | None, created: Container[str]) -> None:
    for each in metadata.unlocked.locked if metadata else ():
        if each.listing or any(index not in created for index in each.indexes):
            log.warning("%s", each.means("left as it is until a refresh with the key"))


def _is_all_locked(
    metadata: TableMetadata, indexes: Sequence[SkippingIndex], failed: Mapping[str, str]
) -> bool:
    if metadata.unlocked.locked_listing is not None:
        return True
    return bool(metadata.locked_indexes) and not (indexes or failed)


def _unchanged(location: str, metadata: TableMetadata) -> Refreshed:
    files = 0 if metadata.unlocked.locked_listing else metadata.files
    return Refreshed(location, metadata.version, files, 0, files, 0, 0, in_full=False, indexes=())


def _until_settled_ms(listing: TableFiles) -> int:
    # Files with a time in the future are not waited for.
    young = listing.modified_ms[~listing.trusted & (listing.modified_ms <= listing.observed_ms + RACY_MS)]
    return int(young.max()) + RACY_MS - listing.observed_ms + _TICK_MS if len(young) else 0


def _all_indexes(
    metadata: TableMetadata | None, created: Sequence[SkippingIndex], failed: Container[str]
) -> tuple[SkippingIndex, ...]:
    known = metadata.indexes if metadata else ()
    by_name = {each.specification: each for each in (*known, *created) if each.specification not in failed}
    return tuple(by_name[name] for name in sorted(by_name))
