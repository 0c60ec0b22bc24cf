"""The dictionaries of all dimensions: values of each piece, then merged; one task each; and their codes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import CapExceeded, SourceError
from starskip.star_tree.build.source_table import SourceChunk, SourceTable
from starskip.star_tree.build.tree_files import read_rows, write_rows
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


@dataclass(frozen=True, slots=True)
class Dimension:
    """``values`` are distinct, without null, sorted by their own type (texts by UTF-8 bytes, NaN last)."""

    name: str
    values: pa.Array

    @property
    def null_code(self) -> int:
        """Return the code of null, behind all values."""
        return len(self.values)

    @property
    def star_code(self) -> int:
        """Return the code of the star, the greatest."""
        return len(self.values) + 1

    def encode(self, array: pa.Array) -> npt.NDArray[np.int32]:
        """Return the codes of values of the same type.

        Raises SourceError for a value that the dimension lacks: the table changed between two reads.
        """
        encoded = plain_values(array).dictionary_encode()
        positions = pc.index_in(encoded.dictionary, self.values)
        if positions.null_count:
            raise SourceError(
                f"column {self.name}: the table was changed while it was read; run the build again",
                source=self.name,
            )
        codes = np.append(positions.to_numpy(zero_copy_only=False), self.null_code).astype(np.int32)
        local = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        found: npt.NDArray[np.int32] = codes[local]
        return found


def distinct_values(array: pa.Array) -> pa.Array:
    """Return the sorted distinct values, without null."""
    return sorted_values(plain_values(array).unique().drop_null())


def sorted_values(values: pa.Array) -> pa.Array:
    """Return the values sorted by their own type."""
    return values.take(pc.sort_indices(values))


def plain_values(array: pa.Array) -> pa.Array:
    """Return the values without dictionary encoding; floats have one zero and one NaN."""
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    if pa.types.is_floating(array.type):
        # -0.0 equals 0.0 in SQL, and NaN equals NaN in a GROUP BY; Arrow compares their bits.
        array = pc.add(array, pa.scalar(0.0, array.type))
        array = pc.if_else(pc.is_nan(array), pa.scalar(float("nan"), array.type), array)
    return array
