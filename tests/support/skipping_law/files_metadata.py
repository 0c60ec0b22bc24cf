"""Files of rows in memory, and an index's metadata of them as Spark's aggregates would tell."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from skipping_law.sparks_rows import Functions, order_key, satisfied
from starskip.errors import ConfigError
from starskip.predicates.expression import Expression
from starskip.skipping.build_clause import generate_clause
from starskip.skipping.file_collector import FileCollector
from starskip.skipping.registry import index_from_specification
from starskip.skipping.skipping_index import SkippingIndex
from starskip.skipping.spark_xxhash64 import spark_xxhash64
from starskip.skipping.user_functions import implications

Rows = Sequence[Mapping[str, Any]]
Types = Mapping[str, pa.DataType]


@dataclass(frozen=True)
class Files:
    """Rows by file; ``types``: the Arrow types of the columns."""

    types: Mapping[str, pa.DataType]
    rows: Sequence[Sequence[Mapping[str, Any]]]

    @staticmethod
    def of(column_type: pa.DataType, *files: Sequence[Any], name: str = "c") -> Files:
        return Files({name: column_type}, [[{name: value} for value in rows] for rows in files])


@dataclass
class Collected:
    """The metadata of several indexes of the same files."""

    files: int
    tables: dict[str, Mapping[str, pa.Array]] = field(default_factory=dict)

    def column(self, index: str, name: str) -> pa.Array:
        return self.tables[index][name]


def collected(indexes: Sequence[SkippingIndex], files: Files) -> Collected:
    metadata = Collected(len(files.rows))
    for index in indexes:
        found = index.finish(aggregated(index, files))
        assert all(len(array) == len(files.rows) for array in found.values())
        metadata.tables[index.specification] = found
    return metadata


def aggregated(index: SkippingIndex, files: Files) -> pa.Table:
    """The columns of aggregates and of the collector, one row a file."""
    columns = {}
    names = [f"`{each}`" for each in index.columns]
    for name, sql in index.aggregates(names).items():
        values = [_aggregate(sql, rows, files.types) for rows in files.rows]
        columns[name] = pa.array(values, _type_of(sql, files.types))
    if index.row_values(names):
        of_batches = pa.concat_tables([_of_two_tasks(index, rows, files.types) for rows in files.rows])
        columns |= {name: of_batches[name].combine_chunks() for name in of_batches.column_names}
    return pa.table(columns)


def row_values(index: SkippingIndex, rows: Rows, types: Types) -> pa.RecordBatch:
    """Rows as Spark gives them to the collector."""
    texts = index.row_values([f"`{each}`" for each in index.columns])
    schema = pa.schema([(name, _scalar_type(sql, types)) for name, sql in texts.items()])
    arrays = [
        pa.array([_scalar(sql, row, types) for row in rows], schema.field(name).type)
        for name, sql in texts.items()
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _of_two_tasks(index: SkippingIndex, rows: Rows, types: Types) -> pa.Table:
    """Result of a collector of a file that two tasks have read, one of them in two batches."""
    batch = row_values(index, rows, types)
    middle, quarter = len(rows) // 2, len(rows) // 4
    tasks = [[batch.slice(middle)], [batch.slice(0, quarter), batch.slice(quarter, middle - quarter)]]
    return merged([index.collector(batch.schema) for _ in range(3)], tasks)


def merged(made: Sequence[FileCollector], tasks: Sequence[Sequence[pa.RecordBatch]]) -> pa.Table:
    """Result of a file that several tasks have read; ``made``: collectors of all and of each task."""
    whole, *of_tasks = made
    for collector, batches in zip(of_tasks, tasks, strict=True):
        for batch in batches:
            collector.add(batch)
        for part in collector.parts():
            whole.merge(part)
    return pa.table(dict(whole.result()))


def takes(specification: str, data_type: str) -> bool:
    """Return whether an index can be of a column ``c`` of that type."""
    try:
        index_from_specification(specification).check({"c": data_type})
    except ConfigError:
        return False
    return True


def _scalar_type(sql: str, types: Types) -> pa.DataType:
    if sql.startswith(("CAST(", "array(CAST")):
        return pa.float64() if sql.startswith("CAST") else pa.list_(pa.float64())
    return pa.int64() if "xxhash64" in sql else types[re.findall(r"`(\w+)`", sql)[0]]


def _type_of(sql: str, types: Types) -> pa.DataType:
    kind = types[re.findall(r"`(\w+)`", sql)[0]] if "`" in sql else pa.int64()
    if sql.startswith("count("):
        return pa.int64()
    return pa.list_(kind) if "collect_set(" in sql else kind


def files_read(predicate: Expression, indexes: Sequence[SkippingIndex], metadata: Collected) -> list[bool]:
    """For each file whether it is read."""
    clause = generate_clause(predicate, [each.label for each in indexes], implications())
    if clause is None:
        return [True] * metadata.files
    mask = clause.may_match(metadata)
    assert mask.dtype == np.bool_ and mask.shape == (metadata.files,)
    return mask.tolist()


def files_matching(predicate: Expression, files: Files, functions: Functions) -> list[bool]:
    """For each file whether a row satisfies the predicate."""
    return [any(satisfied(predicate, row, functions) for row in rows) for rows in files.rows]


def _aggregate(sql: str, rows: Rows, types: Types) -> Any:
    name, inner = _call(sql)
    values = [_scalar(inner, row, types) for row in rows]
    return _AGGREGATES[name]([each for each in values if each is not None])


def _distinct(values: list[Any]) -> list[Any]:
    # Spark keeps one of 0.0 and -0.0, NaN once, in any order.
    return list({_hashable(each): each for each in values}.values())


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(map(_hashable, value.values()))
    return tuple(map(_hashable, value)) if isinstance(value, list) else order_key(value)


_AGGREGATES: dict[str, Callable[[list[Any]], Any]] = {
    "min": lambda values: min(values, key=order_key, default=None),
    "max": lambda values: max(values, key=order_key, default=None),
    "count": len,
    "collect_set": _distinct,
}


def _scalar(sql: str, row: Mapping[str, Any], types: Types) -> Any:
    if re.fullmatch(r"`\w+`", sql):
        return row[sql.strip("`")]
    if sql == "1":
        return 1
    if array := re.fullmatch(r"array\((.*)\)", sql):
        return [_scalar(each, row, types) for each in array[1].split(", ")]
    if double := re.fullmatch(r"CAST\((.*) AS DOUBLE\)", sql):
        value = _scalar(double[1], row, types)
        return None if value is None else float(value)
    if hashed := re.fullmatch(r"if\((.*) IS NULL, NULL, xxhash64\(\1\)\)", sql):
        value = _scalar(hashed[1], row, types)
        return None if value is None else _xxhash64(value, sql, types)
    name, inner = _call(sql)
    first, count = inner.split(", ")
    value = _scalar(first, row, types)
    if value is None:
        return None
    return value[: int(count)] if name == "left" else value[-int(count) :]


def _xxhash64(value: Any, sql: str, types: Types) -> int:
    """Tests of spark_xxhash64 hold it against Spark's."""
    kind = types[re.findall(r"`(\w+)`", sql)[0]]
    hashes = spark_xxhash64(pa.array([value], kind))
    assert hashes is not None
    return int(hashes.view(np.int64)[0])


def _call(sql: str) -> tuple[str, str]:
    found = re.fullmatch(r"(\w+)\((.*)\)", sql)
    assert found, sql
    return found[1], found[2]
