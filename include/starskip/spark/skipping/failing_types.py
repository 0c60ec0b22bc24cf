"""Find the index types of users that cannot be collected, each by a pass of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
from pyspark.sql import functions as sql

from starskip.errors import StarskipError
from starskip.predicates.column_name import quoted
from starskip.skipping.failing_indexes import reason_of_failure
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.map_in_arrow import map_in_arrow
from starskip.spark.skipping.arrow_times import in_utc
from starskip.spark.skipping.collect_batches import FILE, PARTS_SCHEMA, BatchPlan, MergedFile, file_hashes
from starskip.spark.skipping.failures import is_of_files, reason_of
from starskip.spark.skipping.table_relation import TableRelation, file_path_of


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
    plan = BatchPlan.of([index], rows)
    names = [quoted(name) for name in index.columns]
    columns = [sql.expr(text).alias(f"_{name}") for name, text in index.aggregates(names).items()]
    if not columns and not plan.schemas:
        raise StarskipError("it has neither aggregates() nor row_values()")
    hashes = zip(file_hashes(sql.col("_file_path")), FILE, strict=True)
    path = file_path_of(rows).alias("_file_path")
    of_files = rows.groupBy(path).agg(sql.count(sql.lit(1)).alias("_rows"), *columns)
    of_files = of_files.withColumns({name: each for each, name in hashes}).drop("_file_path")
    if plan.schemas:
        of_files = plan.parts(rows, file_path_of(rows)).join(of_files, on=[*FILE], how="left")
    ordered = of_files.repartition(*map(sql.col, FILE)).sortWithinPartitions(*FILE)
    schemas = {row["schema"] for row in map_in_arrow(ordered, _Finished(plan), _SCHEMAS).collect()}
    if len(schemas) > 1:
        raise StarskipError(f"finish() gives columns of {len(schemas)} kinds, which cannot be merged")


_SCHEMAS = pa.schema([("schema", pa.string())])


class _Finished:
    """Yields the schema of an index's metadata of each file in a task."""

    def __init__(self, plan: BatchPlan) -> None:
        self._plan = plan

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for of_file in self._aggregates_and_parts(batches):
            kept = pa.table(dict(self._plan.indexes[0].finish(of_file)))
            if kept.num_rows != of_file.num_rows:
                raise StarskipError(f"finish() gave {kept.num_rows} rows for {of_file.num_rows} files")
            yield pa.RecordBatch.from_pydict({"schema": [str(kept.schema)]}, schema=_SCHEMAS)

    def _aggregates_and_parts(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
        last, merged = None, None
        for batch in batches:
            for at in range(batch.num_rows):
                row = batch.slice(at, 1)
                if last is not None and merged is not None and any(last[n] != row[n] for n in FILE):
                    yield self._of_file(last, merged)
                    merged = None
                merged = merged or MergedFile(self._plan)
                if self._plan.schemas:
                    merged.add(row, 0)
                last = row
        if last is not None and merged is not None:
            yield self._of_file(last, merged)

    def _of_file(self, row: pa.RecordBatch, merged: MergedFile) -> pa.Table:
        found = merged.result().tables.get(0)
        table = in_utc(pa.Table.from_batches([row]))
        skipped = {*FILE, *PARTS_SCHEMA.names, "_rows"}
        for name in table.column_names:
            if name not in skipped:
                column = table.select([name]).rename_columns([name.removeprefix("_")])
                found = column if found is None else found.append_column(*column.column_names, column[0])
        return found


def _reason(error: Exception) -> str:
    return (
        reason_of(error)
        if type(error).__module__.startswith(("pyspark", "py4j"))
        else reason_of_failure(error)
    )
