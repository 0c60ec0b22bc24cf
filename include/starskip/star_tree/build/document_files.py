"""Write documents to Parquet files of a store, and read them, or only a range of one dimension."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.errors import CapExceeded
from starskip.star_tree.build.tree_files import naming_damage
from starskip.star_tree.documents import Documents
from starskip.star_tree.measure import Measure
from starskip.star_tree.measures.arrow_buffers import one_array
from starskip.star_tree.measures.initial_measure import stored_measure
from starskip.storage.checked_parquet import checked_parquet, opened_parquet
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

DOCUMENTS_PER_ROW_GROUP = 32_768
"""The fewest documents that an answer reads; larger groups compress better."""


def code_column(dimension: str) -> str:
    """Return the name of the column of a dimension's codes; no measure has such a name."""
    return f"code({dimension})"


@dataclass(frozen=True, slots=True)
class DocumentSchema:
    """Schema of stored documents: dimensions in the order of the split, measures with their column types."""

    dimensions: tuple[str, ...]
    measures: tuple[Measure, ...]
    column_types: Mapping[str, pa.DataType]

    @property
    def code_columns(self) -> tuple[str, ...]:
        """The columns of the codes."""
        return tuple(map(code_column, self.dimensions))

    def documents(self, table: pa.Table) -> Documents:
        """Return rows of a file as documents."""
        codes = tuple(
            one_array(table.column(name)).to_numpy(zero_copy_only=False).astype(np.int32)
            for name in self.code_columns
        )
        measures = {
            item: stored_measure(item, one_array(table.column(item.name)), self.column_types.get(item.column))
            for item in self.measures
        }
        return Documents(codes, measures)

    def table(self, documents: Documents) -> pa.Table:
        """Return documents as rows of a file; CapExceeded names the column of a sum that is too large."""
        columns = {
            name: pa.array(codes) for name, codes in zip(self.code_columns, documents.codes, strict=True)
        }
        for item in self.measures:
            try:
                columns[item.name] = documents.measures[item].to_arrow()
            except CapExceeded as error:
                raise CapExceeded(f"column {item.column}: {error}") from error
        return pa.table(columns)


@dataclass(frozen=True, slots=True)
class StoredDocuments:
    """A file of sorted documents; ``samples``: codes of dimension ``depth`` at even steps through it."""

    file: DataFile
    rows: int
    depth: int
    samples: tuple[int, ...]


_SAMPLES = 64


def write_documents(
    staged: StagedWrite, table: str, name: str, schema: DocumentSchema, documents: Documents
) -> DataFile:
    """Write documents as one file of the store and return it."""
    in_store = staged.new_name(table, name)
    written = parquet_bytes(schema.table(documents), schema.code_columns, in_store)
    return staged.write_named(in_store, written.to_pybytes())


def parquet_bytes(rows: pa.Table, with_dictionary: Sequence[str], name: str = "") -> pa.Buffer:
    """Return the bytes of the store's file ``name``; size estimates weigh such files (document_bytes)."""
    return checked_parquet(rows, name, row_group_size=DOCUMENTS_PER_ROW_GROUP, use_dictionary=with_dictionary)


def write_sorted(
    staged: StagedWrite, table: str, schema: DocumentSchema, documents: Documents, depth: int
) -> StoredDocuments:
    """Write documents that wait for their place in the tree, sorted from dimension ``depth`` on."""
    file = write_documents(staged, table, "waiting.parquet", schema, documents)
    codes = documents.codes[depth] if depth < len(documents.codes) else documents.codes[-1]
    steps = np.linspace(0, max(len(documents) - 1, 0), min(_SAMPLES, len(documents))).astype(np.int64)
    return StoredDocuments(file, len(documents), depth, tuple(codes[steps].tolist()))


def read_documents(
    storage: Storage,
    schema: DocumentSchema,
    file: DataFile,
    *,
    depth: int = 0,
    codes: tuple[int, int] | None = None,
) -> Documents:
    """Return the documents of a file; with ``codes`` only codes of dimension ``depth`` in that range.

    ``codes`` is inclusive. The file is sorted by that dimension; all dimensions before it have one value
    each.
    """
    with naming_damage(file.name), storage.arrow_filesystem().open_input_file(file.name) as opened:
        parquet = opened_parquet(opened, file)
        if codes is None:
            return schema.documents(parquet.read())
        groups = _row_groups(parquet, schema.code_columns[depth], codes)
        read = schema.documents(parquet.read_row_groups(groups))
    low, high = np.searchsorted(read.codes[depth], [codes[0], codes[1] + 1])
    return read.take(np.arange(low, high))


def _row_groups(parquet: Any, column: str, codes: tuple[int, int]) -> list[int]:
    position = parquet.schema_arrow.names.index(column)
    found = []
    for group in range(parquet.num_row_groups):
        statistics = parquet.metadata.row_group(group).column(position).statistics
        if statistics.min <= codes[1] and statistics.max >= codes[0]:
            found.append(group)
    return found


def code_bins(inputs: Sequence[StoredDocuments], rows_per_bin: int) -> list[tuple[int, int]]:
    """Return ranges of codes, inclusive and without gaps, of about ``rows_per_bin`` rows each.

    A code that has as many rows by itself is a range of its own.
    """
    codes = np.concatenate([np.array(each.samples, np.int64) for each in inputs])
    weights = np.concatenate(
        [np.full(len(each.samples), each.rows / len(each.samples)) for each in inputs if each.rows]
    )
    distinct, where = np.unique(codes, return_inverse=True)
    rows = np.bincount(where, weights)
    bins: list[tuple[int, int]] = []
    low, held = int(distinct[0]), 0.0
    for code, of_code in zip(distinct.tolist(), rows.tolist(), strict=True):
        if held and held + of_code > rows_per_bin:
            if of_code >= rows_per_bin:
                bins.append((low, code - 1))
                low, held = code, 0.0
            else:
                bins.append((low, code))
                low, held = code + 1, 0.0
                continue
        held += of_code
        if of_code >= rows_per_bin:
            bins.append((low, code))
            low, held = code + 1, 0.0
    if held:
        bins.append((low, int(distinct[-1])))
    return bins
