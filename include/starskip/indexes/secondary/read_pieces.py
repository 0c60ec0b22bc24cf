"""Read the rows of files that are read in pieces, such as ORC files, columns as the table has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from starskip.indexes.secondary.data_file import DataFileOfTable, reading
from starskip.indexes.secondary.read_rows import as_table_has
from starskip.indexes.secondary.table_schema import TableSchema
from starskip.lake.data_pieces import Piece, Positions


def read_pieces(
    file: DataFileOfTable, schema: TableSchema, names: Sequence[str], positions: Positions | None = None
) -> Iterator[Piece]:
    """Yield the rows of a file in their order, of the stripes or blocks that hold some of ``positions``.

    Raises SourceError naming a file that cannot be read.
    """
    if file.size_bytes == 0:
        return
    with reading(file.path):
        stored = [schema.columns.field(name) for name in names if name not in schema.partition]
        for piece in file.pieced().pieces(pa.schema(stored), positions):
            rows = as_table_has(piece.rows, file, schema, names, piece.count)
            yield Piece(piece.start, rows, piece.unit, piece.count)
