"""The folder of star-trees of a command: its store, its trees, and their build orders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from starskip.errors import SourceError, StarskipError

if TYPE_CHECKING:
    from starskip.star_tree.build.tree_order import TreeOrder
    from starskip.star_tree.serving.tree_set import TreeSet
    from starskip.storage.artefact_store import ArtefactStore

of_directory = click.argument("directory", metavar="DIR", type=click.Path())
of_table = click.option(
    "--table", metavar="NAME", help="The table, if DIR has star-trees of several, as the night's store has."
)


def tree_store(directory: str) -> ArtefactStore:
    """Return the store that DIR is, whether it exists or not."""
    from starskip.storage.artefact_store import ArtefactStore
    from starskip.storage.storage_for import storage_for

    return ArtefactStore(storage_for(directory))


def existing_store(directory: str) -> ArtefactStore:
    """Return the store of DIR; raises SourceError if there is no such folder."""
    if "://" not in directory and not Path(directory).is_dir():
        raise SourceError(f"{directory}: there is no such folder", source=directory)
    return tree_store(directory)


def former_order(store: ArtefactStore, directory: str, table: str | None) -> TreeOrder:
    """Return the build order of the trees of DIR, also if their files or their manifest are damaged."""
    from starskip.sql.spelled_names import meant_table
    from starskip.star_tree.build.published_trees import published_orders

    former = published_orders(store)
    if not former:
        raise StarskipError(f"{directory}: there is no star-tree; build one (starskip star-tree build)")
    if table is None and len(former) > 1:
        raise StarskipError(f"{directory}: has star-trees of {', '.join(sorted(former))}; name the table")
    name = next(iter(former)) if table is None else meant_table(table, former)
    if name is None:
        raise StarskipError(f"{directory}: has no star-tree of {table}, but of {', '.join(sorted(former))}")
    order = former[name]
    if order is None:
        raise StarskipError(
            f"{directory}: there is no star-tree that this version could refresh; build it again"
        )
    return order


def opened_trees(directory: str, table: str | None) -> TreeSet:
    """Return the newest trees of DIR, or of ``table`` if DIR has trees of several tables."""
    from starskip.star_tree.serving.tree_set import open_trees

    return open_trees(existing_store(directory), table)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, ``1 file`` and ``2 files``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
