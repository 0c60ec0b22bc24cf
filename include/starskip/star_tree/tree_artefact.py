"""The published artefact of a table's star-trees: plain-JSON properties of its part, and their files."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa

from starskip.star_tree.build.tree_parts import TreeLayout
from starskip.star_tree.star_tree_config import StarTreeConfig

ARTEFACT = "star_trees"
FORMAT_VERSION = 2


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """One tree: its configuration, its layout of documents, and its columns that have nulls."""

    config: StarTreeConfig
    layout: TreeLayout
    columns_with_nulls: frozenset[str]
    rows: int

    def to_document(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "config": self.config.to_document(),
            "layout": self.layout.to_document(),
            "columns_with_nulls": sorted(self.columns_with_nulls),
            "rows": self.rows,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the record that ``to_document`` wrote."""
        return cls(
            StarTreeConfig.from_document(document["config"]),
            TreeLayout.from_document(document["layout"]),
            frozenset(document["columns_with_nulls"]),
            document["rows"],
        )


@dataclass(frozen=True, slots=True)
class TableTrees:
    """Trees of a table, all over the same files of it.

    ``dictionaries``: the file of each dimension's values; ``sources_file`` lists the table's files with their
    identities; ``schema`` and ``casts`` as in ``SourceTable``. ``is_named``: whether the table was given a
    name; then the trees answer to that name only. ``asked_format`` and ``asked_version``: the arguments of
    ``lake.open_lake_table``. ``column_ids``: ids of a versioned table's columns, by name.
    """

    source_path: str
    file_format: str
    schema: pa.Schema
    casts: Mapping[str, str]
    sources_file: str
    dictionaries: Mapping[str, str]
    trees: tuple[TreeRecord, ...]
    is_named: bool
    asked_format: str | None
    asked_version: int | None
    column_ids: Mapping[str, str]

    def to_properties(self) -> dict[str, Any]:
        """Return the properties of the published part."""
        return {
            "format_version": FORMAT_VERSION,
            "source_path": self.source_path,
            "file_format": self.file_format,
            "schema": base64.b64encode(self.schema.serialize().to_pybytes()).decode("ascii"),
            "casts": dict(self.casts),
            "sources_file": self.sources_file,
            "dictionaries": dict(self.dictionaries),
            "trees": [tree.to_document() for tree in self.trees],
            "is_named": self.is_named,
            "asked_format": self.asked_format,
            "asked_version": self.asked_version,
            "column_ids": dict(self.column_ids),
        }

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> Self:
        """Return the trees that ``to_properties`` wrote; ValueError for another format version."""
        if properties.get("format_version") != FORMAT_VERSION:
            raise ValueError(f"star-trees of format {properties.get('format_version')!r}")
        return cls(
            source_path=properties["source_path"],
            file_format=properties["file_format"],
            schema=pa.ipc.read_schema(pa.py_buffer(base64.b64decode(properties["schema"]))),
            casts=properties["casts"],
            sources_file=properties["sources_file"],
            dictionaries=properties["dictionaries"],
            trees=tuple(TreeRecord.from_document(tree) for tree in properties["trees"]),
            is_named=properties["is_named"],
            asked_format=properties["asked_format"],
            asked_version=properties["asked_version"],
            column_ids=properties["column_ids"],
        )
