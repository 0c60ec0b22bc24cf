"""The order of ``starskip star-tree build``: configs, folder and name, each checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from starskip.errors import ConfigError, SourceError
from starskip.star_tree.build.published_trees import published_orders
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.files.open_file import read_small_file
from starskip.storage.store_clock import PROBES


def tree_configs(name: str) -> list[StarTreeConfig]:
    """Return the configs in a file. Raises ConfigError naming the file."""
    try:
        document = json.loads(read_small_file(name))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: is not JSON ({error})", setting=name) from None
    entries = document if isinstance(document, list) else [document]
    if not entries:
        raise ConfigError(f"{name}: is an empty list", setting=name)
    try:
        return [StarTreeConfig.from_document(entry) for entry in entries]
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}", setting=error.setting) from None


def require_own(output: str, source: str) -> None:
    """Refuse a folder that holds anything but star-trees, or that would be a part of the table."""
    folder = Path(output)
    if "://" in output:
        return
    if Path(source).resolve() in (folder.resolve(), *folder.resolve().parents):
        raise SourceError(f"{output}: lies in {source}, the table itself; name another", source=output)
    if folder.exists() and not folder.is_dir():
        raise SourceError(f"{output}: is a file; name a folder for the tree", source=output)
    own = (ARTEFACT, PROBES)
    others = sorted(each.name for each in folder.iterdir() if each.name not in own) if folder.exists() else []
    if others:
        raise SourceError(
            f"{output}: holds something else ({others[0]}); name a new folder, or one of a star-tree",
            source=output,
        )


def named_order(
    store: ArtefactStore, output: str, order: TreeOrder, name: str | None
) -> tuple[TreeOrder, Sequence[str]]:
    """Return the order under its name, and the tables of the store that it replaces.

    A store keeps the name that it was given; a store without a name may get one for the same files.
    """
    former = published_orders(store)
    is_same = {table: of is not None and of.source_path == order.source_path for table, of in former.items()}
    given = next((of for of in former.values() if of is not None and of.is_named), None)
    if name is None and given is not None and len(former) == 1:
        if not is_same[given.table]:
            raise SourceError(
                f"{output}: holds the star-trees of {given.table}, which are of {given.source_path}; name a "
                f"new folder, or give --table {given.table}",
                source=output,
            )
        name = given.table
    order = replace(order, table=name or order.table, is_named=name is not None)
    others = [table for table in former if table != order.table]
    if len(others) == 1 == len(former) and given is None and is_same[others[0]]:
        return order, others
    if others:
        raise SourceError(
            f"{output}: holds the star-trees of {others[0]}; name a new folder, or one of {order.table}",
            source=output,
        )
    return order, ()
