"""Finds the files that a Delta or Iceberg table's own statistics skip: indexes gain only what is beyond.

Delta's log and Iceberg's manifests have least and greatest values, numbers of nulls and values of partitions,
and the format plans its scans by them before any index is asked. So indexes that hold the same statistics are
never worth building, and other indexes only for the files that the format would read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import SourceError, SourceOutage
from starskip.file_metadata.match_paths import match_paths
from starskip.lake.lake_table import LakeTable
from starskip.lake.open_lake_table import format_at, open_lake_table
from starskip.lake.plain_paths import plain_paths
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Column, Expression, nodes
from starskip.skipping.build_clause import build_clause
from starskip.skipping.failing_indexes import Failures
from starskip.skipping.file_metadata import Mask
from starskip.skipping.index_types.min_max import MinMax
from starskip.skipping.index_types.null_count import NullCount
from starskip.skipping.skipping_index import SkippingIndex

_TITLES = {"delta": "Delta", "iceberg": "Iceberg"}
_IDENTITY = "identity"


@dataclass(frozen=True, slots=True)
class OwnStatistics:
    """Statistics of the files of a snapshot, as columns of the indexes that would hold the same."""

    indexes: tuple[SkippingIndex, ...]
    columns: Mapping[str, Mapping[str, pa.Array]]
    files: int

    def column(self, index: str, name: str) -> pa.Array:
        """See FileMetadata."""
        return self.columns[index][name]

    def read(self, predicate: Expression) -> Mask:
        """Return the files that the format's own planning leaves to read."""
        asked = {column_name(each.path) for each in nodes(predicate) if isinstance(each, Column)}
        indexes = [each for each in self.indexes if each.columns[0] in asked]
        failures: Failures = {}
        clause = build_clause(indexes, [predicate], failures)
        return np.ones(self.files, np.bool_) if clause is None else clause.may_match(self)


def format_with_statistics(lake: LakeTable) -> str | None:
    """Return the name of a table's format if it plans scans by its own statistics, else None.

    Raises SourceOutage for a store that does not answer.
    """
    try:
        return _TITLES.get(format_at(lake.path, lake.listed_format))
    except SourceOutage:
        raise
    except SourceError:
        # A path that Spark alone can list, such as a pattern, is no table of such a format.
        return None


def is_of_own_statistics(index: SkippingIndex) -> bool:
    """Return whether such a format keeps the same statistics of files as an index."""
    return isinstance(index, (MinMax, NullCount))


def own_statistics(lake: LakeTable, paths: pa.Array) -> OwnStatistics | None:
    """Return the statistics of the files at ``paths``, the paths of a metadata; None for plain files.

    A file that is not in the newest snapshot has no known statistics. Raises SourceError.
    """
    if format_with_statistics(lake) is None:
        return None
    snapshot = open_lake_table(lake.path, lake.listed_format)
    at = match_paths(plain_paths(paths), plain_paths(snapshot.files["path"].combine_chunks()))
    places = pa.array(at, mask=at < 0)
    indexes: dict[str, SkippingIndex] = {}
    columns: dict[str, Mapping[str, pa.Array]] = {}
    for index, values in _known(snapshot):
        # Bounds of a column that files are split by replace its partition values, being of all specs.
        indexes[index.specification] = index
        columns[index.specification] = {name: _array(each).take(places) for name, each in values.items()}
    return OwnStatistics(tuple(indexes.values()), columns, len(paths))


def _known(snapshot: TableSnapshot) -> Iterator[tuple[SkippingIndex, Mapping[str, pa.Array]]]:
    """Yield the indexes whose metadata the format has, with that metadata, a row for each file."""
    rows = snapshot.files["rows"]
    if snapshot.partitions is not None:
        for field in snapshot.partition_fields:
            if field.transform != _IDENTITY or field.source is None:
                continue
            # A null may come from a file of another spec, of which nothing is known.
            value = snapshot.partitions[field.name]
            of_column = MinMax([column_name(field.source)])
            yield of_column, {"min": value, "max": value, "values": pa.nulls(len(value), pa.int64())}
    if snapshot.bounds is None:
        return
    told = set(snapshot.bounds.column_names)
    for column in snapshot.columns:
        name = column.name
        nulls = snapshot.bounds[f"null_count.{name}"] if f"null_count.{name}" in told else None
        if nulls is not None:
            yield NullCount([name]), {"nulls": nulls, "rows": rows}
        if {f"min.{name}", f"max.{name}"} <= told:
            values = pa.nulls(len(rows), pa.int64()) if nulls is None else pc.subtract(rows, nulls)
            ends = {end: snapshot.bounds[f"{end}.{name}"] for end in ("min", "max")}
            yield MinMax([name]), {**ends, "values": values}


def _array(values: pa.Array | pa.ChunkedArray) -> pa.Array:
    return values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
