"""Find users' index types that fail while metadata is collected, by collecting each of them alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import functions as sql

from starskip.errors import StarskipError
from starskip.indexes.skipping.failing_indexes import reason_of_failure
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.collect import in_utc, quoted
from starskip.spark.skipping.failures import is_of_files, reason_of
from starskip.spark.skipping.list_files import file_path_of
from starskip.spark.skipping.table_relation import TableRelation


def failing_types(indexes: Sequence[SkippingIndex], relation: TableRelation) -> dict[str, str]:
    """Return, by specification, why indexes cannot be collected; each costs a pass over the files.

    Failures because of a file are not the fault of an index type.
    """
    found = {}
    for index in indexes:
        try:
            _collect_alone(index, relation)
        except Exception as error:
            if not is_of_files(error):
                found[index.specification] = _reason(error)
    return found


def _collect_alone(index: SkippingIndex, relation: TableRelation) -> None:
    rows = relation.rows(relation.relation.location())
    aggregates = index.aggregates([quoted(name) for name in index.columns])
    columns = [sql.expr(text).alias(name) for name, text in aggregates.items()]

    def finished(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            collected = in_utc(pa.Table.from_batches([batch])).drop_columns("_file_path")
            kept = pa.table(dict(index.finish(collected)))
            if kept.num_rows != collected.num_rows:
                raise StarskipError(f"finish() gave {kept.num_rows} rows for {collected.num_rows} files")
            yield pa.RecordBatch.from_pydict({"schema": [str(kept.schema)]})

    of_files = rows.groupBy(file_path_of(rows).alias("_file_path")).agg(*columns)
    schemas = {row["schema"] for row in of_files.mapInArrow(finished, "schema string").distinct().collect()}
    if len(schemas) > 1:
        raise StarskipError(f"finish() gives columns of {len(schemas)} kinds, which cannot be merged")


def _reason(error: Exception) -> str:
    return (
        reason_of(error)
        if type(error).__module__.startswith(("pyspark", "py4j"))
        else reason_of_failure(error)
    )
