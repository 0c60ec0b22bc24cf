"""Published star-trees of a table, as far as they can be read, and the order by which they were built."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from starskip.errors import ConfigError, DamagedManifest, StorageError, TransientError
from starskip.star_tree.build.source_files import RecordedFile, known_files
from starskip.star_tree.build.source_table import SourceFile
from starskip.star_tree.build.stored_sources import SOURCES_FILE, read_order, read_recorded
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.tree_artefact import ARTEFACT, TableTrees
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import DataFile, Part
from starskip.storage.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class PublishedPart:
    """A part of the newest manifest that is whole, with its contents.

    ``trees`` is None if this version cannot read them, ``recorded`` if the list of files is gone or damaged.
    ``is_newest``: whether no damaged manifest came after it.
    """

    part: Part
    trees: TableTrees | None
    recorded: tuple[RecordedFile, ...] | None
    is_newest: bool


def published_part(store: ArtefactStore, table: str) -> PublishedPart | None:
    """Return the published part of ``table``, None if none can be read.

    Raises StorageError for a store that cannot be asked.
    """
    snapshot = _snapshot(store)
    part = snapshot.manifest.parts.get(table) if snapshot else None
    if snapshot is None or part is None:
        return None
    trees, recorded = _readable(part), None
    if trees is not None:
        try:
            recorded = read_recorded(store.storage, part.by_name[trees.sources_file])
        except TransientError:
            raise
        except StorageError:
            recorded = None
    newest = max(store.chain(ARTEFACT, CURRENT).listed(), default=0)
    return PublishedPart(part, trees, recorded, snapshot.manifest.version >= newest)


def published_order(store: ArtefactStore, table: str) -> TreeOrder | None:
    """Return the order of a table's published trees, None if there are none."""
    return published_orders(store).get(table)


def published_orders(store: ArtefactStore) -> Mapping[str, TreeOrder | None]:
    """Return by table the order of its trees; None for trees that this version cannot read.

    Where no manifest is whole, the lists of files in the store show the order.
    """
    snapshot = _snapshot(store)
    if snapshot is None:
        return _kept_orders(store)
    return {table: _order(table, part) for table, part in snapshot.parts().items()}


def data_folder(store: ArtefactStore) -> str:
    """Return the folder of the store that holds the files of all star-trees."""
    return f"{store.chain(ARTEFACT, CURRENT).key}/data"


def known_of_table(store: ArtefactStore, table: str) -> Mapping[str, SourceFile]:
    """Return the table's files as the published trees know them, none if there are no trees."""
    before = published_part(store, table)
    return known_files(before.recorded) if before and before.recorded else {}


def _snapshot(store: ArtefactStore) -> Snapshot | None:
    try:
        return store.snapshot(ARTEFACT, CURRENT)
    except DamagedManifest:
        return None


def _readable(part: Part) -> TableTrees | None:
    try:
        return TableTrees.from_properties(part.properties)
    except (ConfigError, ValueError, KeyError, TypeError):
        return None  # another version's trees count as missing


def _order(table: str, part: Part) -> TreeOrder | None:
    trees = _readable(part)
    if trees is None:
        return None
    configs = tuple(record.config for record in trees.trees)
    return TreeOrder(
        table,
        trees.source_path,
        configs,
        trees.casts,
        trees.is_named,
        trees.asked_format,
        trees.asked_version,
    )


def _kept_orders(store: ArtefactStore) -> Mapping[str, TreeOrder | None]:
    lists = [
        found
        for found in store.storage.objects_below(data_folder(store))
        if found.name.endswith(f"-{SOURCES_FILE}")
    ]
    orders: dict[str, TreeOrder | None] = {}
    for found in sorted(lists, key=lambda each: each.modified_ns):
        try:
            # The manifest that knew its footer is damaged.
            document = read_order(store.storage, DataFile(found.name, found.size_bytes, None))
        except TransientError:
            raise
        except StorageError:
            continue
        with suppress(ConfigError, KeyError, TypeError, AttributeError):
            order = TreeOrder.from_document(document)
            orders[order.table] = order
    return orders
