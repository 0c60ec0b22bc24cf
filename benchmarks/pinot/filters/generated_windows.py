"""Generated rows as Starskip's readers would read them from Pinot's segments, without a segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pinot.filters.generated_table import GeneratedColumn, GeneratedTable, rows_of
from starskip.tables.row_window import ColumnWindow, RowWindow

_TYPES = {
    "INT": pa.int32(),
    "LONG": pa.int64(),
    "DOUBLE": pa.float64(),
    "STRING": pa.string(),
    "BOOLEAN": pa.bool_(),
    "TIMESTAMP": pa.timestamp("ms"),
}
_DEFAULTS = {"STRING": "null", "INT": -(2**31)}
"""Values that Pinot stores for a null of a dimension."""


def row_windows(table: GeneratedTable) -> tuple[RowWindow, ...]:
    """Return all rows of each segment; segments are named by the table and their number."""
    return tuple(
        RowWindow(
            table=table.name,
            segment=f"{table.name}_{number}",
            segment_rows=rows_of(rows),
            rows=rows_of(rows),
            columns={
                column.name: _window(column, rows[column.name], handles_nulls=table.handles_nulls)
                for column in table.columns
            },
        )
        for number, rows in enumerate(table.segments)
    )


def sorted_columns(window: RowWindow) -> frozenset[str]:
    """Return the columns that Pinot's metadata would call sorted: single values that never fall."""
    return frozenset(
        name
        for name, column in window.columns.items()
        if column.dictionary is not None and column.offsets is None and (np.diff(column.codes) >= 0).all()
    )


def _window(column: GeneratedColumn, values: Sequence[Any], *, handles_nulls: bool) -> ColumnWindow:
    offsets = None
    is_null = np.array([value is None for value in values])
    nulls = is_null if handles_nulls and is_null.any() else None
    if column.is_multi_value:
        offsets = np.cumsum([0, *map(len, values)]).astype(np.int32)
        values = [entry for row in values for entry in row]
    if column.data_type == "BOOLEAN":
        values = [value == "true" for value in values]
    stored = [_DEFAULTS[column.data_type] if value is None else value for value in values]
    array = pa.array(stored, _TYPES[column.data_type])
    if column.is_raw:
        encoded = array.dictionary_encode()
        codes = encoded.indices.to_numpy().astype(np.int32)
        return ColumnWindow(codes, None, offsets, encoded.dictionary, nulls)
    distinct, codes = np.unique(np.asarray(stored), return_inverse=True)
    dictionary = pa.array(distinct.tolist(), _TYPES[column.data_type])
    return ColumnWindow(codes.astype(np.int32), dictionary, offsets, nulls=nulls)
