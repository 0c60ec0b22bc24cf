"""Find the clustering key of a table that declares none: a column that all files are sorted by."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pyarrow as pa

from starskip.errors import SourceError, SourceOutage
from starskip.lake.file_columns import require_same_names
from starskip.lake.parquet.parquet_footers import open_footer
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.column_name import column_name
from starskip.secondary.table_schema import TableSchema
from starskip.secondary.zones import are_disjoint

_MOST_FILES = 1_024
"""Files whose footers are read; for a table with more files the key must be declared."""


def found_clustering_key(snapshot: TableSnapshot, schema: TableSchema) -> list[str]:
    """Return the columns whose ranges in the row groups, in the files' order, are disjoint and rising.

    A table with partition columns is clustered by these, and no other is looked for. Footers of Parquet files
    have the ranges; for other formats the key must be declared.
    """
    if snapshot.partition_columns or snapshot.file_format != "parquet":
        return []
    sizes, paths = snapshot.files["size_bytes"].to_pylist(), snapshot.files["path"].to_pylist()
    paths = [path for path, size in zip(paths, sizes, strict=True) if size]
    if not paths or len(paths) > _MOST_FILES:
        return []
    is_by_name = all(each.stored == each.path for each in snapshot.columns)
    ranges: dict[str, list[tuple[Any, Any]]] = {}
    groups = 0
    for path in paths:
        try:
            footer = open_footer(path)
            if not is_by_name:
                require_same_names(footer.schema.to_arrow_schema(), snapshot.columns, path)
        except SourceOutage:
            raise
        except (OSError, SourceError, pa.ArrowException):
            # Damaged, or with other column names: its ranges are not known.
            return []
        for number in range(footer.num_row_groups):
            group = footer.row_group(number)
            groups += 1
            for at in range(group.num_columns):
                column = group.column(at)
                statistics = column.statistics
                if statistics is not None and statistics.has_min_max:
                    found = ranges.setdefault(column.path_in_schema, [])
                    # Python has no date before the year 1, which calendars of old files have.
                    with suppress(OverflowError, ValueError):
                        found.append((statistics.min, statistics.max))
    names = {column_name((field.name,)): field.name for field in schema.columns}
    return [
        name
        for name, stored in names.items()
        if len(ranges.get(stored, ())) == groups
        and are_disjoint([low for low, _ in ranges[stored]], [high for _, high in ranges[stored]])
    ][:1]
