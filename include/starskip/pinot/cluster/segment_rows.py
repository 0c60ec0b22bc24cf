"""Read rows of one segment through a broker, by bounded SELECTs one after the other, marked as our own.

The rows come from all over the segment in short runs, as ``thin_window`` takes them from a tar. Where they do
not show all distinct values of a column, these are asked for, up to a number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.errors import SourceOutage
from starskip.pinot.cluster.broker import Broker, QueryAnswer
from starskip.pinot.replay_mark import REPLAY_OPTIONS, marked
from starskip.pinot.segments.pulled_rows import NO_ROWS, PulledRows, sorted_values
from starskip.tables.segment_facts import ColumnFacts
from starskip.tables.thin_window import LEAST_RUN_ROWS, MOST_RUNS

_CELLS_A_QUERY = 500_000
_MOST_VALUES = 100_000
"""Distinct values of a column that are asked for; beyond, those of the rows must do."""
_TIMEOUT_MS = 60_000
_DOCUMENT = '"$docId"'

_TYPES: dict[str, tuple[pa.DataType, Callable[[Any], Any]]] = {
    "INT": (pa.int32(), int),
    "LONG": (pa.int64(), int),
    "FLOAT": (pa.float32(), float),
    "DOUBLE": (pa.float64(), float),
    "BOOLEAN": (pa.bool_(), lambda value: str(value).lower() in ("true", "1")),
    "STRING": (pa.string(), str),
    "JSON": (pa.string(), str),
    "BYTES": (pa.binary(), lambda value: bytes.fromhex(str(value))),
    "BIG_DECIMAL": (pa.decimal256(76, 38), lambda value: Decimal(str(value))),
    "TIMESTAMP": (pa.timestamp("ms"), int),
}
"""The Arrow type of each data type, as windows of tars have it, and how JSON's values become it."""

_CASTS = {"BIG_DECIMAL": "STRING", "TIMESTAMP": "LONG"}
"""Types that are asked for as another: JSON numbers are not exact, and a broker writes in its own zone."""


@dataclass(frozen=True, slots=True)
class SegmentQuestion:
    """A segment to read rows of; ``table`` has its type, ``nullable`` are the columns that know nulls."""

    table: str
    segment: str
    rows: int
    columns: Sequence[ColumnFacts]
    nullable: Collection[str]

    def source(self, condition: str = "") -> str:
        """Return FROM and WHERE of a query for this segment alone."""
        more = f" AND {condition}" if condition else ""
        return f'FROM {quoted(self.table)} WHERE "$segmentName" = {_literal(self.segment)}{more}'


def segment_rows(broker: Broker, asked: SegmentQuestion, max_rows: int) -> PulledRows:
    """Return at most ``max_rows`` rows; columns of types that are not read are left out."""
    columns = [each for each in asked.columns if _is_read(each)]
    if not asked.rows or not columns:
        return NO_ROWS
    part = _window_condition(asked.rows, max_rows)
    count = min(asked.rows, max_rows)
    width = max(_CELLS_A_QUERY // count, 1)
    arrays: dict[str, pa.Array] = {}
    documents: list[int] | None = None
    for first in range(0, len(columns), width):
        some = columns[first : first + width]
        names = ", ".join([_DOCUMENT, *map(_selected, some)])
        answer = _asked(broker, f"SELECT {names} {asked.source(part)} LIMIT {count}")
        found = [int(row[0]) for row in answer.rows]
        if not found or (documents is not None and found != documents):
            raise SourceOutage(
                f"{asked.table}: segment {asked.segment} changed while it was read", source=asked.table
            )
        documents = found
        for place, column in enumerate(some, start=1):
            found_values = _column(column, [row[place] for row in answer.rows])
            if found_values is not None:
                arrays[column.name] = found_values
    known = [each for each in columns if each.name in arrays]
    values = {each.name: _values(broker, asked, each, arrays[each.name]) for each in known}
    nulls = {
        each.name: _nulls(broker, asked, each.name, part, documents or [])
        for each in known
        if each.name in asked.nullable
    }
    return PulledRows(pa.table(arrays), {n: v for n, v in values.items() if v is not None}, nulls)


def quoted(name: str) -> str:
    """Return a name as SQL takes it, whatever is in it."""
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _literal(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"


def _selected(column: ColumnFacts) -> str:
    cast = _CASTS.get(column.data_type)
    return f"CAST({quoted(column.name)} AS {cast})" if cast else quoted(column.name)


def _is_read(column: ColumnFacts) -> bool:
    return column.data_type in _TYPES and (column.is_single_value or column.data_type not in _CASTS)


def _window_condition(rows: int, max_rows: int) -> str:
    """Return the condition of rows in evenly spread runs, empty if all rows are taken."""
    if rows <= max_rows:
        return ""
    runs = max(min(MOST_RUNS, max_rows // LEAST_RUN_ROWS), 1)
    return f"MOD({_DOCUMENT}, {rows // runs}) < {max_rows // runs}"


def _asked(broker: Broker, sql: str) -> QueryAnswer:
    # Of an upsert table all documents are in a scan's way, also those that are replaced.
    return broker.whole(marked(sql), {**REPLAY_OPTIONS, "skipUpsert": True}, timeout_ms=_TIMEOUT_MS)


def _column(column: ColumnFacts, values: Sequence[Any]) -> pa.Array | None:
    """Return the rows of a column, None if a value is not of its type."""
    if column.is_single_value:
        return _array(column, values)
    try:
        entries = _array(column, [each for value in values for each in value])
        offsets = np.concatenate([[0], np.cumsum([len(value) for value in values])]).astype(np.int32)
    except TypeError:
        return None
    return None if entries is None else pa.ListArray.from_arrays(offsets, entries)


def _array(column: ColumnFacts, values: Sequence[Any]) -> pa.Array | None:
    kind, converted = _TYPES[column.data_type]
    try:
        return pa.array([converted(value) for value in values], kind)
    except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
        return None


def _values(broker: Broker, asked: SegmentQuestion, column: ColumnFacts, rows: pa.Array) -> pa.Array | None:
    """Return all distinct values of the segment, None where they are too many or not known."""
    cardinality = column.cardinality
    if not column.has_dictionary or not cardinality:
        return None
    shown = pc.unique(rows if column.is_single_value else rows.flatten())
    if len(shown) == cardinality:
        return sorted_values(shown)
    if len(shown) > cardinality or cardinality > _MOST_VALUES or len(rows) == asked.rows:
        return None
    sql = f"SELECT DISTINCT {_selected(column)} {asked.source()} LIMIT {cardinality + 1}"
    values = _array(column, [row[0] for row in _asked(broker, sql).rows])
    return sorted_values(values) if values is not None and len(values) == cardinality else None


def _nulls(
    broker: Broker, asked: SegmentQuestion, column: str, part: str, documents: Sequence[int]
) -> pa.Array:
    condition = f"{quoted(column)} IS NULL" + (f" AND {part}" if part else "")
    sql = f"SELECT {_DOCUMENT} {asked.source(condition)} LIMIT {max(len(documents), 1)}"
    found = {int(row[0]) for row in _asked(broker, sql).rows}
    return pa.array([each in found for each in documents], pa.bool_())
