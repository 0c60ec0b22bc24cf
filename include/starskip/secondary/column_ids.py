"""Checks by ids whether the columns of indexes are still the columns that were indexed, despite renames."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

from starskip.errors import SourceError, printable
from starskip.lake.snapshot_columns import char_lengths
from starskip.lake.table_snapshot import TableSnapshot
from starskip.predicates.column_name import column_name
from starskip.secondary.secondary_index import SecondaryIndex

COLUMN_IDS = "column_ids"
"""Option of a table source: JSON of each column's identity in files, by its name when indexes were made."""
CHAR_LENGTHS = "char_lengths"
"""Option of a table source: JSON of each CHAR(n) column's length in keys, by its name at that time."""


def column_ids(snapshot: TableSnapshot) -> str | None:
    """Return the text of ``COLUMN_IDS`` for a table, None for plain files, whose columns have only names."""
    if not snapshot.columns:
        return None
    return json.dumps({column.name: column.identity for column in snapshot.columns}, sort_keys=True)


def lengths_text(lengths: Mapping[tuple[str, ...], int]) -> str | None:
    """Return the text of ``CHAR_LENGTHS`` for a table's columns, None if it has no such column."""
    return json.dumps(_by_name(lengths), sort_keys=True) if lengths else None


def _by_name(lengths: Mapping[tuple[str, ...], int]) -> Mapping[str, int]:
    return {column_name(path): length for path, length in lengths.items()}


def known_lengths(options: Mapping[str, str]) -> Mapping[str, int]:
    """Return the lengths to which keys are padded in indexes of a table source, by columns' names."""
    found: Mapping[str, int] = json.loads(options.get(CHAR_LENGTHS, "{}"))
    return found


def is_of_same_columns(index: SecondaryIndex, options: Mapping[str, str], snapshot: TableSnapshot) -> bool:
    """Return whether the columns of an index, made with ``options``, still have their names.

    A column may have been renamed, and another column may have its name since. A column that was CHAR(n) has
    shorter values now.
    """
    lengths, lengths_now = known_lengths(options), _by_name(char_lengths(snapshot.columns))
    if snapshot.columns and any(lengths.get(name) != lengths_now.get(name) for name in index.columns):
        return False
    former, now = json.loads(options.get(COLUMN_IDS, "{}")), column_ids(snapshot)
    told = {} if now is None else json.loads(now)
    return all(former.get(name) in (None, told.get(name)) for name in index.columns)


def require_same_columns(
    indexes: Iterable[SecondaryIndex], options: Mapping[str, str], snapshot: TableSnapshot
) -> None:
    """Raise SourceError, which says what to do, for an index whose column's name now means another column."""
    for index in indexes:
        if not is_of_same_columns(index, options, snapshot):
            raise SourceError(
                f"{snapshot.path}: {printable(index.specification)} was made of a column that has another "
                "name or type now, or is gone: refresh with --full, or delete the index",
                source=snapshot.path,
            )
