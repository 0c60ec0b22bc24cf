"""Notes on queries that only a JSON or text index can answer, or could answer if they were rewritten.

Pinot refuses JSON_MATCH and TEXT_MATCH on a column without that index, so such queries are in the log with
exceptions and without entries: no vote can be for it. A filter on JSON_EXTRACT_SCALAR reads every row, and a
JSON index does not help it; JSON_MATCH of the same path does without a scan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.errors import printable
from starskip.number_text import percent
from starskip.sql.predicate import Operator, leaves
from starskip.sql.query_shape import parsed_shape

_OWN_INDEX = re.compile(r'(?i)\b(json_?match|text_?match)\s*\(\s*"?([\w.$]+)"?\s*,')
_EXTRACTS = re.compile(r"(?i)\bjson_?extract_?scalar\b")
_KEYS = {"JSON": "tableIndexConfig.jsonIndexColumns", "TEXT": "fieldConfigList, indexTypes TEXT"}
_LEAST_RATIO = 0.01


def own_index_notes(shapes: Sequence[ShapeWorkload]) -> tuple[str, ...]:
    """Return the notes on the understood ``shapes`` of a table."""
    return (*_failing(shapes), *_extracting(shapes))


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
