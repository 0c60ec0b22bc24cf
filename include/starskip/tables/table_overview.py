"""Sum up the facts of a table's segments for scoring and selection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.storage.schemas import COLUMN_SUMS

_NULLS = "nullvalue_vector"

IndexColumns = Mapping[str, Collection[str]]
"""Columns by the family of the index that they have."""


@dataclass(frozen=True, slots=True)
class ColumnOverview:
    """One column over all segments of its table.

    ``cardinality``: distinct values a segment, weighted by rows (None where no segment knows it).
    ``entries_per_row``: 1 for single-value columns. ``sorted_ratio``, ``dictionary_ratio``: shares of
    segments. ``index_bytes``: sizes by Pinot's index id, summed over segments. ``column_type``: DIMENSION,
    METRIC, TIME or DATE_TIME, empty if unknown.
    """

    name: str
    data_type: str = "STRING"
    cardinality: float | None = None
    entries_per_row: float = 1.0
    is_single_value: bool = True
    sorted_ratio: float = 0.0
    dictionary_ratio: float = 1.0
    index_bytes: Mapping[str, int] = field(default_factory=dict)
    column_type: str = ""


@dataclass(frozen=True, slots=True)
class TableOverview:
    """A table: its segments, rows and columns, and for each family the columns with an index in force.

    ``barred``: by family, columns on which the table config must not have an index, with the reason.
    ``raw_columns``: columns that the table config stores without a dictionary, whatever older segments do.
    """

    table: str
    segments: int
    rows: int
    columns: Mapping[str, ColumnOverview]
    in_force: Mapping[str, frozenset[str]] = field(default_factory=dict)
    barred: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    raw_columns: frozenset[str] = frozenset()

    @property
    def booleans(self) -> frozenset[str]:
        """Return the BOOLEAN columns."""
        return frozenset(name for name, column in self.columns.items() if column.data_type == "BOOLEAN")

    def indexed(self, family: str) -> frozenset[str]:
        """Return the columns that have an index of ``family``."""
        return self.in_force.get(family, frozenset())

    @property
    def columns_with_nulls(self) -> frozenset[str]:
        """Return the columns that some segment has a null value vector of; one without nulls has none."""
        return frozenset(name for name, column in self.columns.items() if column.index_bytes.get(_NULLS))

    @property
    def stored_bytes(self) -> int:
        """Bytes of all columns and indexes in the segments as they were collected."""
        return sum(size for column in self.columns.values() for size in column.index_bytes.values())


def column_sums(batches: Iterable[pa.RecordBatch]) -> pa.Table:
    """Return COLUMN_SUMS of TABLE_FACTS rows: one row a table and column, or index of a column."""
    return _summed([_sums(batch) for batch in batches])


def merge_column_sums(tables: Iterable[pa.Table | pa.RecordBatch]) -> pa.Table:
    """Merge COLUMN_SUMS of the same table, column and index; associative."""
    return _summed([pa.Table.from_batches([t]) if isinstance(t, pa.RecordBatch) else t for t in tables])


def table_overviews(
    sums: pa.Table,
    segment_indexes: Mapping[str, str],
    configured: Mapping[str, IndexColumns] | None = None,
) -> dict[str, TableOverview]:
    """Return the overview of each table in ``sums``.

    ``segment_indexes`` maps families to the names that segments have for their indexes.
    ``configured`` maps tables to the index columns of their current config, which counts where it is
    given: deep-store tars do not show indexes that a reload has built since.
    """
    configured = configured or {}
    tables: dict[str, list[dict[str, object]]] = {}
    for row in sums.to_pylist():
        tables.setdefault(row["table"], []).append(row)
    return {
        table: _overview(table, rows, segment_indexes, configured.get(table))
        for table, rows in sorted(tables.items())
    }


def _sums(batch: pa.RecordBatch) -> pa.Table:
    facts = pa.Table.from_batches([batch])
    is_known = pc.is_valid(facts["cardinality"])
    columns = {
        "table": facts["table"],
        "column": facts["column"],
        "index": pa.array([""] * len(facts), pa.string()),
        "data_type": facts["data_type"],
        "column_type": facts["column_type"],
        "segments": pa.array([1] * len(facts), pa.int64()),
        "rows": facts["rows"],
        "entries": facts["entries"],
        "rows_of_known_cardinality": pc.if_else(is_known, facts["rows"], 0),
        "cardinality_times_rows": pc.multiply(
            pc.fill_null(facts["cardinality"], 0).cast(pa.float64()), facts["rows"].cast(pa.float64())
        ),
        "sorted_segments": facts["is_sorted"].cast(pa.int64()),
        "dictionary_segments": facts["has_dictionary"].cast(pa.int64()),
        "multi_value_segments": pc.invert(facts["is_single_value"]).cast(pa.int64()),
        "index_bytes": pa.array([0] * len(facts), pa.int64()),
    }
    return pa.concat_tables([pa.table(columns, schema=COLUMN_SUMS), _index_sums(batch)])


def _index_sums(batch: pa.RecordBatch) -> pa.Table:
    maps = batch.column("index_bytes")
    offsets = maps.offsets.to_numpy()
    owners = pa.array(np.repeat(np.arange(len(maps)), np.diff(offsets)))
    start, stop = (int(offsets[0]), int(offsets[-1])) if len(maps) else (0, 0)
    sizes = pa.table(
        {
            "table": batch.column("table").take(owners),
            "column": batch.column("column").take(owners),
            "index": maps.keys.slice(start, stop - start),
            "index_bytes": maps.items.slice(start, stop - start),
        }
    )
    missing = [f for f in COLUMN_SUMS if f.name not in sizes.column_names]
    for item in missing:
        empty = pa.array([""] * len(sizes) if pa.types.is_string(item.type) else [0] * len(sizes), item.type)
        sizes = sizes.append_column(item, empty)
    return sizes.select(COLUMN_SUMS.names).cast(COLUMN_SUMS)


def _summed(tables: list[pa.Table]) -> pa.Table:
    if not tables:
        return COLUMN_SUMS.empty_table()
    keys = ["table", "column", "index"]
    types = ("data_type", "column_type")
    sums = [f.name for f in COLUMN_SUMS if f.name not in (*keys, *types)]
    aggregates = [*((name, "max") for name in types), *((name, "sum") for name in sums)]
    # Threads would add floats in the order in which they come.
    grouped = pa.concat_tables(tables).group_by(keys, use_threads=False).aggregate(aggregates)
    renamed = grouped.rename_columns(
        [n.removesuffix("_sum").removesuffix("_max") for n in grouped.column_names]
    )
    return renamed.select(COLUMN_SUMS.names).cast(COLUMN_SUMS).sort_by([(name, "ascending") for name in keys])


def _overview(
    table: str,
    rows: list[dict[str, object]],
    segment_indexes: Mapping[str, str],
    configured: IndexColumns | None,
) -> TableOverview:
    sizes: dict[str, dict[str, int]] = {}
    for row in rows:
        if row["index"]:
            sizes.setdefault(str(row["column"]), {})[str(row["index"])] = int(str(row["index_bytes"]))
    columns = {
        str(row["column"]): _column(row, sizes.get(str(row["column"]), {}))
        for row in rows
        if not row["index"]
    }
    in_force = {
        family: frozenset(n for n, c in columns.items() if c.index_bytes.get(index, 0) > 0)
        if configured is None
        else frozenset(configured.get(family, ()))
        for family, index in segment_indexes.items()
    }
    whole = max(
        (row for row in rows if not row["index"]), key=lambda row: int(str(row["segments"])), default=None
    )
    return TableOverview(
        table=table,
        segments=int(str(whole["segments"])) if whole else 0,
        rows=int(str(whole["rows"])) if whole else 0,
        columns=columns,
        in_force=in_force,
    )


def _column(row: Mapping[str, object], index_bytes: Mapping[str, int]) -> ColumnOverview:
    number = {name: float(str(value)) for name, value in row.items() if name not in _TEXTS}
    known = number["rows_of_known_cardinality"]
    return ColumnOverview(
        name=str(row["column"]),
        data_type=str(row["data_type"]),
        cardinality=number["cardinality_times_rows"] / known if known else None,
        entries_per_row=number["entries"] / number["rows"] if number["rows"] else 1.0,
        is_single_value=number["multi_value_segments"] == 0,
        sorted_ratio=number["sorted_segments"] / number["segments"],
        dictionary_ratio=number["dictionary_segments"] / number["segments"],
        index_bytes=index_bytes,
        column_type=str(row["column_type"] or ""),
    )


_TEXTS = ("table", "column", "index", "data_type", "column_type")
