"""Read the chosen star-trees of a table, and the trees in force, from the artefact ``recommendations``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starskip.errors import ConfigError, StorageError
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.manifest import Part


@dataclass(frozen=True, slots=True)
class ChosenTree:
    """A chosen tree with its estimates.

    ``saving_ratio``: share of all entries that its queries no longer scan. ``shapes``: by id, the shapes that
    the tree was chosen for, with the documents that a mean query of each would read, None if not estimated.
    ``is_in_force``: the table's configuration holds it already.
    """

    config: StarTreeConfig
    estimated_documents: int | None = None
    estimated_bytes: int | None = None
    saving_ratio: float | None = None
    shapes: Mapping[str, float | None] = field(default_factory=dict)
    is_in_force: bool = False


def chosen_trees(table: str, part: Part) -> tuple[ChosenTree, ...]:
    """Return the chosen trees of ``table``, best first, from its part of ``recommendations``.

    Raises StorageError if another version of Starskip wrote them.
    """
    return _read(table, part, "star_trees", _chosen)


def held_trees(table: str, part: Part) -> tuple[ChosenTree, ...]:
    """Return the trees that the configuration of ``table`` holds, in its order, from the same part.

    Raises StorageError as ``chosen_trees`` does.
    """
    return _read(table, part, "star_trees_in_force", _held)


def _read(
    table: str, part: Part, name: str, read: Callable[[Mapping[str, Any]], ChosenTree]
) -> tuple[ChosenTree, ...]:
    try:
        return tuple(map(read, part.properties.get(name, ())))
    except (ConfigError, KeyError, TypeError, AttributeError) as error:
        raise StorageError(
            f"recommendations of {table}: the star-trees are of another version; run select_indexes again",
            location="recommendations",
        ) from error


def _chosen(document: Mapping[str, Any]) -> ChosenTree:
    config = StarTreeConfig.from_document(document["config"])
    return ChosenTree(
        config,
        estimated_documents=document["documents"],
        estimated_bytes=document["size_bytes"],
        saving_ratio=document["saving_ratio"],
        shapes=dict(document["shapes"]),
    )


def _held(document: Mapping[str, Any]) -> ChosenTree:
    config = StarTreeConfig.from_document(document["config"])
    return ChosenTree(config, shapes=dict.fromkeys(document["shapes"]), is_in_force=True)
