"""Sample a table's columns from a few files, spread evenly over it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from starskip.file_metadata.skipping_engine import ColumnMeans
from starskip.predicates.column_name import quoted
from starskip.predicates.data_types import arrow_type_of, family_of
from starskip.spark.skipping.arrow_times import in_utc
from starskip.spark.skipping.list_files import list_files
from starskip.spark.skipping.table_relation import TableRelation

_SAMPLED_FILES = 16
_SEED = 20261122
_DISTINCT_ERROR_RATIO = 0.05


def column_facts(relation: TableRelation, columns: Sequence[str], files: int) -> dict[str, ColumnMeans]:
    """Return facts of the ``columns`` that the table has, from one pass over ``files`` files."""
    known = _known(relation, columns)
    if not known:
        return {}
    types = relation.data_types
    aggregates = [sql.count(sql.lit(1)).alias("rows")]
    for number, resolved in enumerate(known.values()):
        column = sql.expr(quoted(resolved))
        aggregates.append(sql.count(column).alias(f"values_{number}"))
        if arrow_type_of(types[resolved]) is not None or family_of(types[resolved]) == "collated":
            distinct = sql.approx_count_distinct(column, _DISTINCT_ERROR_RATIO)
            aggregates.append(distinct.alias(f"distinct_{number}"))
        if family_of(types[resolved]) in ("string", "binary", "collated"):
            aggregates.append(sql.sum(sql.octet_length(column)).alias(f"bytes_{number}"))
    rows = _spread_rows(relation, files)
    by_file = rows.groupBy(rows.metadataColumn("_metadata")["file_path"]).agg(*aggregates).toArrow()
    return {
        name: _facts(by_file, number, types[resolved])
        for number, (name, resolved) in enumerate(known.items())
    }


def sample_values(relation: TableRelation, columns: Sequence[str], rows: int) -> dict[str, pa.Array]:
    """Return the values of about ``rows`` rows of some files, for the ``columns`` that the table has."""
    known = _known(relation, columns)
    if not known:
        return {}
    frame = _spread_rows(relation, _SAMPLED_FILES)
    count = frame.count()
    sampled = frame if count <= rows else frame.sample(fraction=rows / count, seed=_SEED)
    chosen = [sql.expr(quoted(resolved)).alias(f"_{at}") for at, resolved in enumerate(known.values())]
    found = in_utc(sampled.select(*chosen).toArrow())
    return {name: found[f"_{at}"].combine_chunks() for at, name in enumerate(known)}


def _known(relation: TableRelation, columns: Sequence[str]) -> dict[str, str]:
    """Return the names in the table by given name."""
    types = relation.data_types
    resolved = {name: relation.resolved(name) for name in columns}
    return {name: found for name, found in resolved.items() if found in types}


def _spread_rows(relation: TableRelation, files: int) -> DataFrame:
    """Return the rows of some files, evenly spaced in the order of paths."""
    listed = list_files(relation, anew=False)
    paths = listed.files.paths
    order = pc.sort_indices(paths).to_numpy()
    places = np.linspace(0, len(paths) - 1, min(max(files, 1), len(paths))).round().astype(np.int64)
    chosen = np.zeros(len(paths), np.bool_)
    chosen[order[places]] = True
    return relation.rows_of(listed, chosen)


def _facts(by_file: pa.Table, number: int, data_type: str) -> ColumnMeans:
    if not len(by_file):
        return ColumnMeans()

    def of(what: str) -> Any:
        name = f"{what}_{number}"
        return by_file[name].to_numpy() if name in by_file.column_names else None

    values, distinct, texts = of("values"), of("distinct"), of("bytes")
    count = int(values.sum())
    if texts is not None:
        value_bytes = float(np.nansum(texts.astype(np.float64)) / count) if count else None
    else:
        value_bytes = _width_bytes(data_type)
    return ColumnMeans(
        distinct_values=None if distinct is None else float(distinct.mean()),
        value_bytes=value_bytes,
        has_nulls=bool((values < by_file["rows"].to_numpy()).any()),
    )


def _width_bytes(data_type: str) -> float | None:
    kind = arrow_type_of(data_type)
    return None if kind is None else max(1.0, kind.bit_width / 8)
