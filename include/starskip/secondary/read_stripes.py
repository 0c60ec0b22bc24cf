"""Read the rows of ORC files, columns as the table has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from starskip.lake.orc.orc_file import Positions
from starskip.secondary.data_file import DataFileOfTable, reading
from starskip.secondary.read_rows import as_table_has
from starskip.secondary.table_schema import TableSchema


def read_stripes(
    file: DataFileOfTable, schema: TableSchema, names: Sequence[str], positions: Positions | None = None
) -> Iterator[tuple[int, pa.Table]]:
    """Yield the position of the first row and the rows of each stripe that holds some ``positions``.

    Raises SourceError naming a file that cannot be read.
    """
    if file.size_bytes == 0:
        return
    with reading(file.path):
        stored = [name for name in names if name not in schema.partition]
        for start, rows in file.orc().stripes(stored, positions):
            yield start, as_table_has(rows, file, schema, names, rows.num_rows)
