"""Inverted indexes that no metadata shows, given by a person (``-untrackedInvertedIndex`` of Pinot's tuner).

The format is ``{"table": ["column", …]}`` ("Automated Inverted Index Recommendation for Pinot",
III.5). Such a column counts as indexed, as in the original.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from starskip.errors import ConfigError, printable
from starskip.pinot.hybrid_tables import without_type
from starskip.tables.table_overview import TableOverview

_SETTING = "scoring.untracked_inverted_index"


def untracked_indexes(text: str) -> Mapping[str, frozenset[str]]:
    """Return table to columns; empty text names none. Raises ConfigError for any other text."""
    if not text.strip():
        return {}
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(text, f"is no JSON: {printable(str(error), 100)}") from error
    if not isinstance(document, dict):
        raise _wrong(text, 'must be an object such as {"table": ["column"]}')
    for table, columns in document.items():
        if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
            raise _wrong(text, f"table {table} must have a list of column names")
    return {table: frozenset(columns) for table, columns in document.items()}


def with_untracked_indexes(
    overviews: Mapping[str, TableOverview], text: str, family: str
) -> dict[str, TableOverview]:
    """Return the overviews with the untracked indexes of ``family`` in force.

    Indexes of other tables, and of columns that the table lacks, are ignored.
    """
    untracked = untracked_indexes(text)
    return {
        table: replace(
            overview,
            in_force={
                **overview.in_force,
                family: overview.indexed(family) | (_of_table(untracked, table) & overview.columns.keys()),
            },
        )
        for table, overview in overviews.items()
    }


def _of_table(untracked: Mapping[str, frozenset[str]], table: str) -> frozenset[str]:
    """Return the columns of a table; a half of a hybrid table may be named without its type."""
    return untracked.get(table) or untracked.get(without_type(table)[0], frozenset())


def _wrong(text: str, problem: str) -> ConfigError:
    return ConfigError(f"{_SETTING} {printable(text, 80)}: {problem}", setting=_SETTING)
