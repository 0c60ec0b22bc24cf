"""The order of a build: the trees to build over the files of one table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from starskip.star_tree.star_tree_config import StarTreeConfig


@dataclass(frozen=True, slots=True)
class TreeOrder:
    """The trees of ``table`` over the files at ``source_path``, read with ``casts``.

    ``casts`` names Arrow types by column. ``is_named``: the trees answer to the name ``table`` only.
    ``file_format`` and ``version``: as in ``lake.open_lake_table``; None for the detected format and the
    newest version.
    """

    table: str
    source_path: str
    configs: tuple[StarTreeConfig, ...]
    casts: Mapping[str, str]
    is_named: bool = False
    file_format: str | None = None
    version: int | None = None

    def to_document(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "table": self.table,
            "source_path": self.source_path,
            "configs": [config.to_document() for config in self.configs],
            "casts": dict(self.casts),
            "is_named": self.is_named,
            "file_format": self.file_format,
            "version": self.version,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the order that ``to_document`` wrote."""
        return cls(
            document["table"],
            document["source_path"],
            tuple(StarTreeConfig.from_document(config) for config in document["configs"]),
            document["casts"],
            document["is_named"],
            document["file_format"],
            document["version"],
        )
