"""Find and open a table's metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from starskip.errors import ConfigError, SourceError
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.parquet_store import store_of
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_state import ARTEFACT, TableState
from starskip.file_metadata.unlock import unlock
from starskip.skipping.failing_indexes import reason_of_failure
from starskip.skipping.registry import index_from_specification
from starskip.skipping.skipping_index import SkippingIndex
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.encryption.keyring import Keyring, process_keys
from starskip.storage.manifest_log import ManifestLog
from starskip.storage.storage import Storage


def open_metadata(location: str) -> TableMetadata | None:
    """Return the newest metadata at ``location`` (see metadata_location), None if there is none.

    Raises StorageError if it cannot be read.
    """
    return read_metadata(metadata_storage(location))


def metadata_chain(storage: Storage, artefact: str = ARTEFACT) -> ManifestLog:
    """Return the manifest log of one table's metadata; ``artefact``: the family's."""
    return ArtefactStore(storage).chain(artefact, CURRENT)


ParseIndex = Callable[[str], SkippingIndex]
"""Parses the specification of an index; raises ConfigError."""


def read_metadata(
    storage: Storage,
    artefact: str = ARTEFACT,
    parse: ParseIndex = index_from_specification,
    keyring: Keyring | None = None,
) -> TableMetadata | None:
    """Return the newest metadata in the store; as ``open_metadata``.

    ``keyring``: by default the keys of the process's environment. Indexes whose key is not in it are locked.
    """
    manifest = metadata_chain(storage, artefact).latest()
    state = TableState.from_parts(manifest.parts) if manifest else None
    if manifest is None or state is None:
        return None
    indexes, not_understood = understood_indexes(state.active, parse)
    unlocked = unlock(state, process_keys() if keyring is None else keyring)
    locked = unlocked.locked_indexes
    return TableMetadata(
        store_of(storage).with_keys(unlocked.data_keys),
        manifest.version,
        state,
        tuple(each for each in indexes if each.specification not in locked),
        not_understood=not_understood,
        unlocked=unlocked,
        locked_indexes=tuple(each for each in indexes if each.specification in locked),
    )


def existing_metadata(
    storage: Storage,
    artefact: str = ARTEFACT,
    parse: ParseIndex = index_from_specification,
    keyring: Keyring | None = None,
) -> TableMetadata:
    """Return the newest metadata in the store; raise SourceError if there is none."""
    metadata = read_metadata(storage, artefact, parse, keyring)
    if metadata is None:
        raise SourceError(
            f"{storage.place}: there is no metadata; create an index first, or name the metadata's root",
            source=storage.place,
        )
    return metadata


def understood_indexes(
    specifications: Iterable[str], parse: ParseIndex = index_from_specification
) -> tuple[tuple[SkippingIndex, ...], dict[str, str]]:
    """Parse specifications; return the indexes, and why others cannot be made in this process.

    The module of a user's index type may be missing or faulty.
    """
    found, why_not = [], {}
    for specification in specifications:
        try:
            found.append(parse(specification))
        except ConfigError as error:
            why_not[specification] = str(error)
        except Exception as error:
            why_not[specification] = reason_of_failure(error)
    return tuple(found), why_not
