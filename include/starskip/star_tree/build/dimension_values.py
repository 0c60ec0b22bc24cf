"""The dictionaries of all dimensions: distinct values of each piece, then merged; one task each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from starskip.errors import CapExceeded
from starskip.star_tree.build.source_table import SourceChunk, SourceTable
from starskip.star_tree.build.tree_files import read_rows, write_rows
from starskip.star_tree.dimension import Dimension, distinct_values
from starskip.star_tree.measures.arrow_buffers import one_array
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite
from starskip.storage.storage import Storage

MAX_DIMENSION_VALUES = 20_000_000
"""A larger dictionary would not fit beside the documents in a task's memory, nor would a tree help."""


@dataclass(frozen=True, slots=True)
class ChunkValues:
    """Task: write the distinct values of some columns in one piece of the table to a file."""

    staged: StagedWrite
    table: str
    source: SourceTable
    dimensions: tuple[str, ...]

    def __call__(self, chunk: SourceChunk) -> DataFile:
        """Return the file: one row, with a list for each dimension."""
        held: dict[str, pa.Array] = {}
        for rows in self.source.batches(chunk, list(self.dimensions)):
            for name in self.dimensions:
                found = distinct_values(rows.column(name).combine_chunks())
                held[name] = _together(held.get(name), found)
                _require_few(name, len(held[name]))
        columns = [
            pa.ListArray.from_arrays([0, len(values)], values)
            for values in (
                held.get(n, pa.array([], self.source.schema.field(n).type)) for n in self.dimensions
            )
        ]
        rows = pa.table(columns, names=list(self.dimensions))
        return write_rows(self.staged, self.table, "values.parquet", rows)


@dataclass(frozen=True, slots=True)
class TogetherValues:
    """Task: make the dictionary of one dimension from the values of all pieces and a former dictionary."""

    staged: StagedWrite
    table: str
    source: SourceTable
    pieces: tuple[DataFile, ...]
    former: tuple[tuple[str, DataFile], ...] = ()

    def __call__(self, dimension: str) -> tuple[DataFile, int]:
        """Return the dictionary's file and its number of values."""
        values: pa.Array | None = None
        for found in self._found(dimension):
            values = _together(values, found)
        if values is None:  # no file has any row
            values = pa.array([], self.source.schema.field(dimension).type)
        _require_few(dimension, len(values))
        file = write_rows(self.staged, self.table, "dictionary.parquet", pa.table({"value": values}))
        return replace(file, rows=len(values)), len(values)

    def _found(self, dimension: str) -> Iterator[pa.Array]:
        for file in self.pieces:
            yield one_array(read_rows(self.staged.storage, file, [dimension]).column(0)).flatten()
        for name, file in self.former:
            if name == dimension:
                yield read_dictionary(self.staged.storage, file, dimension).values


def read_dictionary(storage: Storage, file: DataFile, name: str) -> Dimension:
    """Return a stored dictionary."""
    column = read_rows(storage, file, ["value"], rows=file.rows).column(0)
    return Dimension(name, one_array(column))


def _together(held: pa.Array | None, found: pa.Array) -> pa.Array:
    return found if held is None else distinct_values(pa.concat_arrays([held, found]))


def _require_few(dimension: str, count: int) -> None:
    if count > MAX_DIMENSION_VALUES:
        raise CapExceeded(
            f"column {dimension} has more than {MAX_DIMENSION_VALUES} distinct values: leave it out of "
            "dimensionsSplitOrder, no star-tree of it would help"
        )
