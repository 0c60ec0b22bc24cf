"""Rows of one piece of the table as aggregated documents.

Source: Star-tree index, "Index generation", steps 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from starskip.star_tree.build.dimension_values import Dimension, read_dictionary
from starskip.star_tree.build.document_files import (
    DocumentSchema,
    StoredDocuments,
    read_documents,
    write_sorted,
)
from starskip.star_tree.build.source_table import SourceChunk, SourceTable
from starskip.star_tree.documents import Documents, aggregated, appended
from starskip.star_tree.measures.initial_measure import initial_measure
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite

_MAX_WAITING = 4_000_000
"""Documents of several batches that are held before they are merged."""


@dataclass(frozen=True, slots=True)
class FormerDocuments:
    """Base documents of the former tree, with the dictionaries of their codes."""

    file: DataFile
    dictionaries: tuple[tuple[str, DataFile], ...]


@dataclass(frozen=True, slots=True)
class PieceDocuments:
    """Result of a piece: its documents (None if it has no rows), its rows, and columns with nulls."""

    documents: StoredDocuments | None
    rows: int
    columns_with_nulls: frozenset[str]


@dataclass(frozen=True, slots=True)
class AggregatePiece:
    """Task: write one piece of the table, or of the former tree, as sorted documents to a file."""

    staged: StagedWrite
    table: str
    source: SourceTable
    schema: DocumentSchema
    dictionaries: tuple[tuple[str, DataFile], ...]

    def __call__(self, piece: SourceChunk | FormerDocuments) -> PieceDocuments:
        """Return the file of the documents."""
        dimensions = [read_dictionary(self.staged.storage, file, name) for name, file in self.dictionaries]
        if isinstance(piece, FormerDocuments):
            documents = self._former(piece, dimensions)
            return PieceDocuments(self._written(documents), 0, frozenset())
        return self._of_rows(piece, dimensions)

    def _of_rows(self, piece: SourceChunk, dimensions: list[Dimension]) -> PieceDocuments:
        star_codes = [dimension.star_code for dimension in dimensions]
        columns = list(self.schema.column_types)
        waiting: list[Documents] = []
        rows, with_nulls = 0, set()
        for batch in self.source.batches(piece, columns):
            rows += batch.num_rows
            arrays = {name: batch.column(name).combine_chunks() for name in columns}
            with_nulls |= {name for name, array in arrays.items() if array.null_count}
            waiting.append(aggregated(self._documents(arrays, batch.num_rows, dimensions), star_codes))
            if sum(map(len, waiting)) > _MAX_WAITING:
                waiting = [aggregated(appended(waiting), star_codes)]
        documents = aggregated(appended(waiting), star_codes) if waiting else None
        return PieceDocuments(self._written(documents), rows, frozenset(with_nulls))

    def _documents(self, arrays: dict[str, pa.Array], rows: int, dimensions: list[Dimension]) -> Documents:
        codes = tuple(dimension.encode(arrays[dimension.name]) for dimension in dimensions)
        measures = {
            item: initial_measure(item, arrays.get(item.column), rows) for item in self.schema.measures
        }
        return Documents(codes, measures)

    def _former(self, piece: FormerDocuments, dimensions: list[Dimension]) -> Documents:
        documents = read_documents(self.staged.storage, self.schema, piece.file)
        codes = []
        for (name, file), dimension, of_dimension in zip(
            piece.dictionaries, dimensions, documents.codes, strict=True
        ):
            former = read_dictionary(self.staged.storage, file, name)
            # Both are sorted, so the documents stay sorted.
            translated = dimension.encode(pa.concat_arrays([former.values, pa.nulls(1, former.values.type)]))
            codes.append(translated[of_dimension])
        return Documents(tuple(codes), documents.measures)

    def _written(self, documents: Documents | None) -> StoredDocuments | None:
        if documents is None or not len(documents):
            return None
        return write_sorted(self.staged, self.table, self.schema, documents, 0)
