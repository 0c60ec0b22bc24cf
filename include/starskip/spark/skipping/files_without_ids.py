"""Read Iceberg files without field ids, such as ``add_files`` adds, by the names of their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StructField, StructType

from starskip.lake.file_columns import names_without_ids
from starskip.lake.parquet.parquet_footers import each_footer
from starskip.lake.snapshot_columns import SnapshotColumn
from starskip.spark.map_in_arrow import map_in_arrow

FIELD_ID = "parquet.field.id"
"""The key of a field's id in the metadata of a schema of Spark."""
_FILES_AT_ONCE = 100
_FOUND = pa.schema([("position", pa.int64()), ("names", pa.string())])


def files_without_ids(
    session: SparkSession, paths: pa.Array, columns: Sequence[SnapshotColumn]
) -> dict[str, list[int]]:
    """Return the positions of files without field ids, by the names of their columns, as JSON.

    ``columns``: the table's top-level columns. Tasks read the footers. A file that cannot be read is left to
    Spark, which names it.
    """
    asked = tuple(columns)

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for at in range(0, batch.num_rows, _FILES_AT_ONCE):
                some = batch.slice(at, _FILES_AT_ONCE)
                positions, of_files = some.column(0).to_pylist(), some.column(1).to_pylist()
                found = [_names(footer, asked) for footer in each_footer(of_files)]
                bare = [at for at, names in enumerate(found) if names is not None]
                columns = [[positions[at] for at in bare], [found[at] for at in bare]]
                yield pa.RecordBatch.from_arrays(list(map(pa.array, columns, _FOUND.types)), schema=_FOUND)

    tasks = max(1, min(len(paths) // _FILES_AT_ONCE, 4 * session.sparkContext.defaultParallelism))
    listed = session.createDataFrame(pa.table({"position": np.arange(len(paths)), "path": paths}))
    found = map_in_arrow(listed.repartition(tasks), read, _FOUND).toArrow()
    by_names: dict[str, list[int]] = {}
    for position, names in zip(*(column.to_pylist() for column in found.columns), strict=True):
        by_names.setdefault(names, []).append(position)
    return by_names


def _names(footer: Any, columns: Sequence[SnapshotColumn]) -> str | None:
    if not hasattr(footer, "schema"):
        return None
    names = names_without_ids(footer.schema.to_arrow_schema(), columns)
    return None if names is None else json.dumps(names)


def schema_by_names(schema: StructType, columns: Sequence[SnapshotColumn], names: Any) -> StructType:
    """Return the schema by which to read files with ``names``, for the columns of a ``schema`` with ids."""
    by_id = {each.field_id: each for each in columns}
    fields = []
    for field in schema:
        column = by_id[field.metadata[FIELD_ID]]
        stored, inner = names[column.path[-1]]
        kind: DataType = field.dataType
        if isinstance(kind, StructType):
            kind = schema_by_names(kind, column.children, inner)
        # A column that the file lacks gets a name that no file has, and is null.
        fields.append(StructField(stored or f"_absent_{column.field_id}", kind))
    return StructType(fields)
