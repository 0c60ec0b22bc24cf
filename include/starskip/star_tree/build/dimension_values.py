"""The dictionaries of all dimensions: distinct values a piece of the table, then together, a task each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.parquet as pq

from starskip.artefacts.aside import Aside
from starskip.artefacts.manifest import DataFile
from starskip.artefacts.storage import Storage
from starskip.errors import CapExceeded, StorageError
from starskip.star_tree.build.document_files import DAMAGE
from starskip.star_tree.build.source_table import SourceChunk, SourceTable
from starskip.star_tree.dimension import Dimension, distinct_values

MAX_DIMENSION_VALUES = 20_000_000
"""Beyond it a dictionary would not fit beside the documents in a task's memory, nor would a tree help."""


@dataclass(frozen=True, slots=True)
class ChunkValues:
    """Task: the distinct values of some columns in one piece of the table, written as a file."""

    aside: Aside
    table: str
    source: SourceTable
    dimensions: tuple[str, ...]

    def __call__(self, chunk: SourceChunk) -> DataFile:
        """Return the file: one row, a list a dimension."""
        held: dict[str, pa.Array] = {}
        for rows in self.source.batches(chunk, list(self.dimensions)):
            for name in self.dimensions:
                found = distinct_values(rows.column(name).combine_chunks())
                held[name] = (
                    found if name not in held else distinct_values(pa.concat_arrays([held[name], found]))
                )
                _require_few(name, len(held[name]))
        columns = [
            pa.ListArray.from_arrays([0, len(values)], values)
            for values in (
                held.get(n, pa.array([], self.source.schema.field(n).type)) for n in self.dimensions
            )
        ]
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns, names=list(self.dimensions)), sink, compression="zstd")
        return self.aside.write_file(self.table, "values.parquet", sink.getvalue().to_pybytes())


@dataclass(frozen=True, slots=True)
class TogetherValues:
    """Task: the dictionary of one dimension, of the values of all pieces and of a former dictionary."""

    aside: Aside
    table: str
    source: SourceTable
    pieces: tuple[DataFile, ...]
    former: tuple[tuple[str, DataFile], ...] = ()

    def __call__(self, dimension: str) -> tuple[DataFile, int]:
        """Return the dictionary's file and its number of values."""
        storage = self.aside.storage
        values: pa.Array | None = None
        for file in self.pieces:
            column = _read(storage, file, [dimension]).column(0).combine_chunks()
            found = column.flatten() if isinstance(column, pa.ListArray) else column
            values = found if values is None else distinct_values(pa.concat_arrays([values, found]))
        for name, file in self.former:
            if name == dimension:
                found = read_dictionary(storage, file, dimension).values
                values = found if values is None else distinct_values(pa.concat_arrays([values, found]))
        if values is None:  # no file has any row
            values = pa.array([], self.source.schema.field(dimension).type)
        _require_few(dimension, len(values))
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table({"value": values}), sink, compression="zstd", write_page_checksum=True)
        file = self.aside.write_file(self.table, "dictionary.parquet", sink.getvalue().to_pybytes())
        return replace(file, rows=len(values)), len(values)


def read_dictionary(storage: Storage, file: DataFile, name: str) -> Dimension:
    """Return a stored dictionary."""
    column = _read(storage, file, ["value"]).column(0)
    if file.rows is not None and len(column) != file.rows:
        raise _damaged(file)
    return Dimension(name, column.chunk(0) if column.num_chunks == 1 else column.combine_chunks())


def _read(storage: Storage, file: DataFile, columns: Sequence[str]) -> pa.Table:
    try:
        with storage.arrow_filesystem().open_input_file(file.name) as opened:
            table = pq.read_table(opened, columns=list(columns), page_checksum_verification=True)
            return table.select(list(columns))
    except DAMAGE as error:
        raise _damaged(file) from error


def _damaged(file: DataFile) -> StorageError:
    return StorageError(f"{file.name}: is gone or damaged; run the build again", location=file.name)


def _require_few(dimension: str, count: int) -> None:
    if count > MAX_DIMENSION_VALUES:
        raise CapExceeded(
            f"column {dimension} has more than {MAX_DIMENSION_VALUES} distinct values: leave it out of "
            "dimensionsSplitOrder, no star-tree of it would help"
        )
