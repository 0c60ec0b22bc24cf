"""The columns that the facts of a table know, and the indexes in force."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from starskip.quality.reduce_rows import Measure, reduce_rows
from starskip.quality.stream_rows import published
from starskip.run.night import Night
from starskip.tables.table_overview import INDEXES_IN_SEGMENTS


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Names of columns, and (kind, column) of each index."""

    columns: frozenset[str]
    indexes: frozenset[tuple[str, str]]


def known_columns(night: Night, table: str) -> KnownColumns:
    """Return what ``table_facts`` says, and the table's config about its indexes, where there is one."""
    sizes = {
        kind: Measure(pc.map_lookup(pc.field("index_bytes"), query_key=index, occurrence="first"), "max")
        for kind, index in INDEXES_IN_SEGMENTS.items()
    }
    facts = list(reduce_rows(published(night, "table_facts"), table, sizes, by=["column"]))
    configured = night.configured_indexes().get(table)
    if configured is None:
        configured = {
            kind: tuple(str(row["column"]) for row in facts if (row[kind] or 0) > 0) for kind in sizes
        }
    indexes = {(kind, column) for kind, columns in configured.items() for column in columns}
    return KnownColumns(frozenset(row["column"] for row in facts), frozenset(indexes))
