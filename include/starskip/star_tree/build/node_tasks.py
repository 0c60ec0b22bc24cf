"""Tasks over the documents of a node: merge a range of them, or build the subtrees below."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from starskip.star_tree.build.build_subtrees import SplitRules, Subtrees, build_subtrees
from starskip.star_tree.build.document_files import (
    DocumentSchema,
    StoredDocuments,
    read_documents,
    write_documents,
    write_sorted,
)
from starskip.star_tree.build.tree_files import write_rows
from starskip.star_tree.build.tree_parts import Prefix, TreePart
from starskip.star_tree.documents import Documents, aggregated, appended
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite


@dataclass(frozen=True, slots=True)
class Waiting:
    """Documents of a node in a file; some dimensions count as dropped, whatever the file holds."""

    stored: StoredDocuments
    dropped: tuple[int, ...] = ()

    @property
    def rows(self) -> int:
        """The number of documents."""
        return self.stored.rows


@dataclass(frozen=True, slots=True)
class NodeRange:
    """The documents of the node ``prefix`` with ``codes`` (inclusive) of its dimension, or all."""

    prefix: Prefix
    inputs: tuple[Waiting, ...]
    codes: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class MergedRange:
    """A merged range: one file, and the number of codes of the node's dimension in it."""

    codes: tuple[int, int]
    waiting: Waiting
    distinct_codes: int


@dataclass(frozen=True, slots=True)
class BuiltFiles:
    """Result of a task: the part, its files, and the documents for the star child."""

    part: TreePart
    files: tuple[DataFile, ...]
    for_star_child: Waiting | None = None


@dataclass(frozen=True, slots=True)
class NodeTasks:
    """The tasks over ranges of nodes of one tree."""

    staged: StagedWrite
    table: str
    schema: DocumentSchema
    rules: SplitRules

    def merge(self, work: NodeRange) -> MergedRange:
        """Merge the documents of a range to one file."""
        documents = self._documents(work)
        depth = len(work.prefix)
        codes = documents.codes[depth]
        distinct = int(np.count_nonzero(np.diff(codes))) + 1
        # A range of one code becomes a node of its own, which is cut by the next dimension.
        cut_by = min(depth + (distinct == 1), len(documents.codes) - 1)
        stored = write_sorted(self.staged, self.table, self.schema, documents, cut_by)
        return MergedRange((int(codes[0]), int(codes[-1])), Waiting(stored), distinct)

    def build_node(self, work: NodeRange) -> BuiltFiles:
        """Build the node from all of its documents, with everything below it."""
        built = build_subtrees(self._documents(work), len(work.prefix), self.rules, is_node=True)
        parent = work.prefix[:-1] if work.prefix else None
        return self._written(built, work.prefix, parent)

    def build_children(self, work: NodeRange) -> BuiltFiles:
        """Build the children of a split node in a range, and drop the dimension for its star child."""
        documents = self._documents(work)
        depth = len(work.prefix)
        built = build_subtrees(documents, depth, self.rules, is_node=False)
        files = self._written(built, (*work.prefix, int(documents.codes[depth][0])), work.prefix)
        if self.rules.skips_star[depth]:
            return files
        dropped = aggregated(documents.with_codes(depth, self.rules.star_codes[depth]), self.rules.star_codes)
        stored = write_sorted(self.staged, self.table, self.schema, dropped, depth + 1)
        return replace(files, for_star_child=Waiting(stored, ()))

    def total(self, work: NodeRange) -> BuiltFiles:
        """Aggregate all documents of a split node that has no star child into one."""
        depth = len(work.prefix)
        totals: Documents | None = None
        for each in work.inputs:
            found = self._documents(replace(work, inputs=(each,)))
            for dimension in range(depth, len(found.codes)):
                found = found.with_codes(dimension, self.rules.star_codes[dimension])
            together = found if totals is None else appended([totals, found])
            totals = aggregated(together, self.rules.star_codes)
        if totals is None:
            raise ValueError("a split node has documents")
        file = write_documents(self.staged, self.table, "star.parquet", self.schema, totals)
        place = (*work.prefix, self.rules.star_codes[depth])
        return BuiltFiles(TreePart(place, None, 0, 1, 0, star_file=file.name), (file,))

    def _documents(self, work: NodeRange) -> Documents:
        depth = len(work.prefix)
        read = []
        for each in work.inputs:
            documents = read_documents(
                self.staged.storage, self.schema, each.stored.file, depth=depth, codes=work.codes
            )
            for dimension in each.dropped:
                documents = documents.with_codes(dimension, self.rules.star_codes[dimension])
            if len(documents) or len(work.inputs) == 1:
                read.append(documents)
        return aggregated(appended(read), self.rules.star_codes)

    def _written(self, built: Subtrees, place: Prefix, parent: Prefix | None) -> BuiltFiles:
        base = built.base_documents
        star = len(built.documents) - base
        files: dict[str, DataFile] = {}
        if base:
            files["base_file"] = self._write("base.parquet", built.documents.take(np.arange(base)))
        if star:
            files["star_file"] = self._write(
                "star.parquet", built.documents.take(np.arange(base, base + star))
            )
        files["node_file"] = write_rows(self.staged, self.table, "nodes.parquet", built.nodes.to_arrow())
        names = {field: file.name for field, file in files.items()}
        part = TreePart(place, parent, base, star, len(built.nodes), **names)
        return BuiltFiles(part, tuple(files.values()))

    def _write(self, name: str, documents: Documents) -> DataFile:
        return write_documents(self.staged, self.table, name, self.schema, documents)
