"""Parts of a built tree: each made by a task, hung below the nodes that were split between tasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

Prefix = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TreePart:
    """Files of one task, by name; ``place`` orders the parts as their documents are ordered.

    ``parent``: prefix of the split node above its roots, None if its only root is the tree's root.
    """

    place: Prefix
    parent: Prefix | None
    base_documents: int
    star_documents: int
    nodes: int
    base_file: str | None = None
    star_file: str | None = None
    node_file: str | None = None


@dataclass(frozen=True, slots=True)
class SplitNode:
    """A node with too many documents for one task.

    ``total_place``: the place of the part that holds only its aggregated document; None where a child has it:
    the star child, or the only child.
    """

    prefix: Prefix
    total_place: Prefix | None = None


@dataclass(frozen=True, slots=True)
class TreeLayout:
    """One tree without its dictionaries; parts in order of their places."""

    parts: tuple[TreePart, ...]
    split_nodes: tuple[SplitNode, ...]

    @property
    def documents(self) -> int:
        """The number of all documents."""
        return sum(part.base_documents + part.star_documents for part in self.parts)

    @property
    def base_documents(self) -> int:
        """The number of documents without a star."""
        return sum(part.base_documents for part in self.parts)

    def to_document(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "parts": [_plain(asdict(part)) for part in self.parts],
            "split_nodes": [_plain(asdict(node)) for node in self.split_nodes],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the layout that ``to_document`` wrote."""
        return cls(
            tuple(TreePart(**_with_prefixes(part)) for part in document["parts"]),
            tuple(SplitNode(**_with_prefixes(node)) for node in document["split_nodes"]),
        )


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}


def _with_prefixes(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
