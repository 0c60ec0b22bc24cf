"""Build the star-trees of one table, from its files to the part to publish.

Source: Star-tree index, "Index generation".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from starskip.errors import SourceError, StorageError
from starskip.star_tree.build.build_subtrees import SplitRules
from starskip.star_tree.build.build_tree import DOCUMENTS_PER_TASK, RunTasks, build_tree
from starskip.star_tree.build.dimension_values import ChunkValues, TogetherValues
from starskip.star_tree.build.document_files import DocumentSchema
from starskip.star_tree.build.file_digests import digests_by_tasks
from starskip.star_tree.build.node_tasks import NodeTasks
from starskip.star_tree.build.partial_documents import AggregatePiece, FormerDocuments
from starskip.star_tree.build.source_files import (
    RecordedFile,
    recorded_files,
    require_unchanged,
    settled_files,
)
from starskip.star_tree.build.source_table import SourceChunk, SourceTable
from starskip.star_tree.build.stored_sources import write_recorded
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.tree_artefact import TableTrees, TreeRecord
from starskip.star_tree.validate_config import validate_config
from starskip.storage.manifest import DataFile, Part
from starskip.storage.staged_write import StagedWrite

ROWS_PER_TASK = 4_000_000


@dataclass(frozen=True, slots=True)
class FormerTrees:
    """Trees over fewer files of the same table, so that only the new files need to be read."""

    trees: TableTrees
    recorded: tuple[RecordedFile, ...]
    files: Mapping[str, DataFile]


def build_trees(
    run_tasks: RunTasks,
    staged: StagedWrite,
    table: str,
    source: SourceTable,
    configs: Sequence[StarTreeConfig],
    *,
    observed_at_ns: int,
    former: FormerTrees | None = None,
    is_named: bool = False,
    clock_ns: Callable[[], int] | None = None,
    rows_per_task: int = ROWS_PER_TASK,
    documents_per_task: int = DOCUMENTS_PER_TASK,
) -> Part:
    """Build the trees and return the part to publish; their files are in ``staged``.

    ``observed_at_ns``: time of the listing. ``clock_ns`` returns the time of the second listing, after the
    build. With ``former``, which has the same configurations and types, ``source`` holds all files, and only
    the files that ``former`` lacks are read. Raises ConfigError for a configuration that the table cannot
    have, SourceError for files that cannot be read or were changed.
    """
    types: dict[str, Any] = {field.name: field.type for field in source.schema}
    for config in configs:
        validate_config(config, types, table=table)
    # Recorded before the files are read, so that any later change is found at the end.
    digests = partial(digests_by_tasks, run_tasks)
    before = former.recorded if former else ()
    recorded = recorded_files(source, observed_at_ns=observed_at_ns, before=before, digests=digests)
    if former is not None:
        _require_grown(former, source, configs, recorded)
    build = _Build(run_tasks, staged, table, source, former, rows_per_task, documents_per_task)
    names = tuple(dict.fromkeys(name for config in configs for name in config.dimensions_split_order))
    dictionaries = build.dictionaries(names)
    files = [file for file, _ in dictionaries.values()]
    records = []
    for position, config in enumerate(configs):
        record, of_tree = build.tree(config, position, dictionaries)
        records.append(record)
        files.extend(of_tree)
    looked_at_ns = observed_at_ns if clock_ns is None else clock_ns()
    unchanged = require_unchanged(source, recorded, digests).unchanged
    recorded = settled_files(recorded, unchanged, observed_at_ns=looked_at_ns)
    casts = {name: str(type_) for name, type_ in source.casts.items()}
    order = TreeOrder(
        table, source.path, tuple(configs), casts, is_named, source.asked_format, source.asked_version
    )
    sources_file = write_recorded(staged, table, recorded, order.to_document())
    trees = TableTrees(
        source_path=source.path,
        file_format=source.file_format,
        schema=source.schema,
        casts=casts,
        sources_file=sources_file.name,
        dictionaries={name: file.name for name, (file, _) in dictionaries.items()},
        trees=tuple(records),
        is_named=is_named,
        asked_format=source.asked_format,
        asked_version=source.asked_version,
        column_ids=source.column_ids,
    )
    build.remove_waiting({file.name for file in (*files, sources_file)})
    return Part((*files, sources_file), trees.to_properties())


def _require_grown(
    former: FormerTrees,
    source: SourceTable,
    configs: Sequence[StarTreeConfig],
    recorded: Sequence[RecordedFile],
) -> None:
    if (former.trees.schema, [tree.config for tree in former.trees.trees]) != (source.schema, list(configs)):
        raise ValueError("former trees must have the same configurations and types")
    now = {file.identity.path: file.identity for file in recorded}
    for before in former.recorded:
        name = before.identity.path
        if now.get(name) != before.identity:
            raise SourceError(
                f"{name}: was changed or removed, which cannot be subtracted from its star-tree; build anew",
                source=name,
            )


@dataclass(frozen=True, slots=True)
class _Build:
    run_tasks: RunTasks
    staged: StagedWrite
    table: str
    source: SourceTable
    former: FormerTrees | None
    rows_per_task: int
    documents_per_task: int

    @property
    def chunks(self) -> list[SourceChunk]:
        """The pieces to be read: all, or only pieces of files that the former trees lack."""
        known = {file.identity.path for file in self.former.recorded} if self.former else set()
        chunks = self.source.chunks(self.rows_per_task)
        return [chunk for chunk in chunks if chunk.file.identity.path not in known]

    def dictionaries(self, dimensions: tuple[str, ...]) -> dict[str, tuple[DataFile, int]]:
        values = ChunkValues(self.staged, self.table, self.source, dimensions)
        pieces = tuple(self.run_tasks("reading dimensions", self.chunks, values))
        former = tuple(self._former_dictionaries(dimensions))
        together = TogetherValues(self.staged, self.table, self.source, pieces, former)
        found = self.run_tasks("sorting dimensions", dimensions, together)
        return dict(zip(dimensions, found, strict=True))

    def tree(
        self, config: StarTreeConfig, position: int, dictionaries: Mapping[str, tuple[DataFile, int]]
    ) -> tuple[TreeRecord, tuple[DataFile, ...]]:
        order = config.dimensions_split_order
        types = {name: self.source.schema.field(name).type for name in config.columns}
        schema = DocumentSchema(order, config.measures, types)
        used = tuple((name, dictionaries[name][0]) for name in order)
        aggregate = AggregatePiece(self.staged, self.table, self.source, schema, used)
        pieces: list[SourceChunk | FormerDocuments] = [*self.chunks, *self._former_documents(position)]
        aggregated = self.run_tasks(f"aggregating rows of tree {position + 1}", pieces, aggregate)
        rules = SplitRules(
            config.max_leaf_records,
            tuple(name in config.skip_star_node_creation_for_dimensions for name in order),
            tuple(dictionaries[name][1] + 1 for name in order),
        )
        tasks = NodeTasks(self.staged, self.table, schema, rules)
        waiting = [piece.documents for piece in aggregated if piece.documents is not None]
        built = build_tree(self.run_tasks, tasks, waiting, documents_per_task=self.documents_per_task)
        with_nulls = frozenset().union(*(piece.columns_with_nulls for piece in aggregated))
        rows = sum(piece.rows for piece in aggregated)
        if self.former is not None:
            before = self.former.trees.trees[position]
            with_nulls |= before.columns_with_nulls
            rows += before.rows
        return TreeRecord(config, built.layout, with_nulls, rows), built.files

    def remove_waiting(self, kept: set[str]) -> None:
        """Remove the files that tasks wrote for one another; a vacuum would do it later."""
        for stored in list(self.staged.storage.objects_below(self.staged.folder)):
            if stored.name not in kept:
                with suppress(StorageError):
                    self.staged.storage.delete(stored.name)

    def _former_dictionaries(self, dimensions: Sequence[str]) -> list[tuple[str, DataFile]]:
        if self.former is None:
            return []
        named = self.former.trees.dictionaries
        return [(name, self.former.files[named[name]]) for name in dimensions]

    def _former_documents(self, position: int) -> list[FormerDocuments]:
        if self.former is None:
            return []
        tree = self.former.trees.trees[position]
        used = tuple(self._former_dictionaries(tree.config.dimensions_split_order))
        return [
            FormerDocuments(self.former.files[part.base_file], used)
            for part in tree.layout.parts
            if part.base_file is not None
        ]
