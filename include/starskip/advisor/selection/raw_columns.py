"""Columns whose dictionary serves no query, and the bytes that they would take without it.

A dictionary serves filters, groups, orders and distinct values; sums and plain values are read faster without
one, and where nearly each row has a value of its own, it is most of the column. No entry is saved, so that no
vote can be for it: it is told in notes, with the bytes. Pinot converts a column in new segments; from 0.12 on
a reload does it, too.

The bytes are those of sampled rows, compressed as Pinot's raw forward index is: metrics not at all, other
columns by LZ4, a thousand rows a chunk, texts behind their offsets (ForwardIndexType, VarByteChunkWriter).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from sqlglot import exp

from starskip.advisor.families.answer import RowSource
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import UnsupportedQuery, printable
from starskip.number_text import size
from starskip.pinot.segments.damaged_segment import DamagedSegment
from starskip.pinot.segments.segment_files import SegmentFile
from starskip.pinot.segments.segment_reader import read_row_window
from starskip.pinot.table_config import TableConfig
from starskip.sql.parsed_query import parsed_query
from starskip.tables.row_window import ColumnWindow
from starskip.tables.table_overview import ColumnOverview, TableOverview

_WIDTHS = {"INT": 4, "FLOAT": 4, "LONG": 8, "DOUBLE": 8, "TIMESTAMP": 8}
_MOST_COLUMNS = 10
_SAMPLED_SEGMENTS = 2
_SAMPLED_ROWS = 50_000
_CHUNK_ROWS = 1_000
_LEAST_TABLE_RATIO = 0.01
_LEAST_COLUMN_RATIO = 0.1
_SUMMED = (exp.Sum, exp.Avg)
_NEEDING = (exp.Where, exp.Group, exp.Order, exp.Having, exp.Join, exp.Distinct)


def raw_column_notes(
    shapes: Sequence[ShapeWorkload],
    overview: TableOverview,
    configs: Sequence[TableConfig],
    rows: RowSource,
    chosen: Collection[str] = (),
) -> tuple[str, ...]:
    """Return a note a column that takes less room without its dictionary, the most bytes first.

    ``chosen``: columns of what is advised tonight, which need theirs.
    """
    least = _LEAST_TABLE_RATIO * overview.stored_bytes
    kept = needing_dictionary(shapes).union(chosen, *overview.in_force.values())
    named = json.dumps([config.document for config in configs])
    found = [
        column
        for name, column in overview.columns.items()
        if name.lower() not in {each.lower() for each in kept}
        and not name.startswith("$")
        # A column that the config names anywhere, as its time, key or partition, has a use of its own.
        and json.dumps(name) not in named
        and _may_be_raw(column)
        and _bytes(column) > least
    ]
    found = sorted(found, key=_bytes, reverse=True)[:_MOST_COLUMNS]
    files = rows.segments() if found and rows.segments else ()
    count = min(len(files), _SAMPLED_SEGMENTS)
    sampled = [files[position * len(files) // count] for position in range(count)]
    measured = (
        rows.run_tasks("sizing raw columns", sampled, partial(_measured, tuple(found))) if sampled else []
    )
    return tuple(_notes(found, measured, overview.rows, least))


def needing_dictionary(shapes: Iterable[ShapeWorkload]) -> frozenset[str]:
    """Return the columns that queries use otherwise than in a sum or as a plain value, in lower case.

    An alias may stand for any column of the SELECT where it is grouped or ordered by.
    """
    found: set[str] = set()
    for shape in shapes:
        try:
            query = parsed_query(shape.skeleton)
        except UnsupportedQuery:
            continue
        nodes = [
            *(node for kind in _NEEDING for node in query.find_all(kind)),
            *(each for each in query.find_all(exp.Func) if not isinstance(each, _SUMMED)),
        ]
        used = {column.name for node in nodes for column in node.find_all(exp.Column)}
        used |= {
            column.name
            for alias in query.find_all(exp.Alias)
            if alias.alias in used
            for column in alias.find_all(exp.Column)
        }
        for select in query.find_all(exp.Select):
            # Plain values beside a GROUP BY are its keys, and an ordinal may mean any of the SELECT.
            if any(select.args.get(part) for part in ("distinct", "group", "order")):
                used |= {name for each in select.expressions for name in _plain_columns(each)}
        found |= {name.lower() for name in used}
    return frozenset(found)


def _plain_columns(projection: exp.Expression) -> set[str]:
    if projection.find(*_SUMMED):
        return set()
    return {column.name for column in projection.find_all(exp.Column)}


def _may_be_raw(column: ColumnOverview) -> bool:
    is_known = column.data_type in _WIDTHS or column.data_type in ("STRING", "BYTES", "JSON")
    return is_known and column.is_single_value and column.dictionary_ratio == 1 and column.sorted_ratio == 0


def _bytes(column: ColumnOverview) -> int:
    return column.index_bytes.get("dictionary", 0) + column.index_bytes.get("forward_index", 0)


def _measured(columns: Sequence[ColumnOverview], file: SegmentFile) -> dict[str, float]:
    """Return the bytes a row of each column that can be read, without its dictionary."""
    try:
        window = read_row_window(file, [column.name for column in columns], max_rows=_SAMPLED_ROWS)
    except DamagedSegment:
        return {}
    found = {}
    for column in columns:
        if window.rows and column.name in window.columns:
            found[column.name] = raw_bytes(window.columns[column.name], column) / window.rows
    return found


def raw_bytes(window: ColumnWindow, column: ColumnOverview) -> float:
    """Return the bytes of the window's values as a raw forward index keeps them."""
    width = _WIDTHS.get(column.data_type)
    if width is not None and column.column_type == "METRIC":
        return float(width * len(window.codes))
    assert window.dictionary is not None
    values = window.dictionary.take(pa.array(window.codes))
    codec = pa.Codec("lz4_raw")
    total = 0
    for start in range(0, len(values), _CHUNK_ROWS):
        chunk = values[start : start + _CHUNK_ROWS]
        if width is not None:
            plain = np.frombuffer(chunk.buffers()[1], np.uint8)[
                chunk.offset * width : (chunk.offset + len(chunk)) * width
            ].tobytes()
        else:
            texts = [bytes(each, "utf-8") if isinstance(each, str) else each for each in chunk.to_pylist()]
            ends = np.cumsum([4 * len(texts), *map(len, texts)])[:-1].astype(">i4")
            plain = ends.tobytes() + b"".join(texts)
        total += len(codec.compress(plain, asbytes=True)) + 4
    return float(total)


def _notes(
    columns: Sequence[ColumnOverview], measured: Sequence[dict[str, float]], rows: int, least: float
) -> Iterable[str]:
    told: list[tuple[float, str]] = []
    for column in columns:
        each = [of_segment[column.name] for of_segment in measured if column.name in of_segment]
        if not each:
            continue
        now, raw = _bytes(column), rows * sum(each) / len(each)
        if now - raw > max(least, _LEAST_COLUMN_RATIO * now):
            words = (
                f"no query filters, groups or orders by {printable(column.name, 80)}: it takes {size(now)},"
                f" and about {size(round(raw))} in new segments without a dictionary"
                " (tableIndexConfig.noDictionaryColumns)"
            )
            told.append((now - raw, words))
    return [words for _, words in sorted(told, key=lambda each: (-each[0], each[1]))]
