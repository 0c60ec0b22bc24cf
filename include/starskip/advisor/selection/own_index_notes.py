"""Notes on queries that only a JSON, text or timestamp index can answer, some once they are rewritten.

Pinot refuses JSON_MATCH and TEXT_MATCH on a column without that index, so such queries are in the log with
exceptions and without entries: no vote can be for it. A filter on JSON_EXTRACT_SCALAR reads every row, and a
JSON index does not help it; JSON_MATCH of the same path needs no scan (measured on 0.11: 775 and 13 ms).

A timestamp index stores DATETRUNC of a column beside it, with a range index: measured on 0.11, a range of
DATETRUNC scanned no entries instead of all, and grouping by it took 23 instead of 38 ms. But it then yields
timestamps, not numbers, so answers change their type.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import printable
from starskip.number_text import percent
from starskip.sql.predicate import Operator, leaves
from starskip.sql.query_shape import parsed_shape
from starskip.tables.table_overview import TableOverview

_OWN_INDEX = re.compile(r'(?i)\b(json_?match|text_?match)\s*\(\s*"?([\w.$]+)"?\s*,')
_EXTRACTS = re.compile(r"(?i)\bjson_?extract_?scalar\b")
_TRUNCATES = re.compile(r'(?i)^date_?trunc\(:p(\d+), "([^"]+)"\) (?:[<>]=?|between) ')
_UNITS = frozenset(("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"))
"""TimestampIndexGranularity of Pinot."""
_KEYS = {"JSON": "tableIndexConfig.jsonIndexColumns", "TEXT": "fieldConfigList, indexTypes TEXT"}
_LEAST_RATIO = 0.01


def own_index_notes(
    shapes: Sequence[ShapeWorkload], overview: TableOverview | None = None
) -> tuple[str, ...]:
    """Return the notes on the understood ``shapes`` of a table; ``overview``: None if it has no segments."""
    return (*_failing(shapes), *_extracting(shapes), *_truncating(shapes, overview))


def _failing(shapes: Sequence[ShapeWorkload]) -> Iterator[str]:
    asked: dict[tuple[str, str], float] = {}
    answered: set[tuple[str, str]] = set()
    for shape in shapes:
        for function, column in set(_OWN_INDEX.findall(shape.skeleton)):
            key = function[:4].upper(), column
            asked[key] = asked.get(key, 0.0) + shape.estimated_queries
            if shape.failed < shape.estimated_queries:
                answered.add(key)
    for (kind, column), queries in sorted(asked.items()):
        if (kind, column) not in answered:
            index = "a JSON index" if kind == "JSON" else "a text index"
            yield (
                f"all {queries:,.0f} queries with {kind}_MATCH on {printable(column, 80)} failed:"
                f" Pinot answers it with {index} alone ({_KEYS[kind]})"
            )


def _extracting(shapes: Sequence[ShapeWorkload]) -> Iterator[str]:
    total = sum(shape.weighted_entries for shape in shapes)
    by_column: dict[str, float] = {}
    for shape in shapes:
        read = {
            leaf.columns[0]
            for leaf in leaves(parsed_shape(shape.skeleton).filter)
            if leaf.operator is Operator.EXPRESSION and leaf.columns and _EXTRACTS.search(leaf.expression)
        }
        for column in read:
            by_column[column] = by_column.get(column, 0.0) + shape.weighted_entries
    for column, entries in sorted(by_column.items()):
        if total and entries >= _LEAST_RATIO * total:
            yield (
                f"queries with {percent(entries / total)} of the entries in filters extract values of"
                f" {printable(column, 80)} row by row: JSON_MATCH on a JSON index needs no scan"
            )


def _truncating(shapes: Sequence[ShapeWorkload], overview: TableOverview | None) -> Iterator[str]:
    total = sum(shape.weighted_entries for shape in shapes)
    found: dict[tuple[str, str], float] = {}
    for shape in shapes:
        parts = {
            (column, unit)
            for leaf in leaves(parsed_shape(shape.skeleton).filter)
            if (match := _TRUNCATES.match(leaf.expression))
            for column, unit in [(match[2], _unit(shape, int(match[1])))]
            if overview is not None and _lacks(overview, column, unit)
        }
        for each in parts:
            found[each] = found.get(each, 0.0) + shape.weighted_entries
    for (column, unit), entries in sorted(found.items()):
        if total and entries >= _LEAST_RATIO * total:
            yield (
                f"queries with {percent(entries / total)} of the entries in filters ask ranges of"
                f" DATETRUNC('{unit}', {printable(column, 80)}): a timestamp index of that granularity"
                " (fieldConfigList, timestampConfig) answers them without a scan, but DATETRUNC then yields"
                " timestamps, not numbers"
            )


def _unit(shape: ShapeWorkload, slot: int) -> str:
    """Return the granularity in the first query of a shape, empty if no text holds it."""
    literals = next(iter(shape.instances), ())
    text = literals[slot][0].lstrip("'").upper() if slot < len(literals) and literals[slot] else ""
    return text if text in _UNITS else ""


def _lacks(overview: TableOverview, column: str, unit: str) -> bool:
    """Return whether a TIMESTAMP column has no such index: it is a column of the segments by itself."""
    found = overview.columns.get(column)
    is_timestamp = found is not None and found.data_type == "TIMESTAMP"
    return is_timestamp and bool(unit) and f"${column}${unit}" not in overview.columns
