"""The columns that the facts of a table know, and those with an inverted index in force."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from starskip.quality.reduce_rows import Measure, reduce_rows
from starskip.quality.stream_rows import published
from starskip.stages.night import Night


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Names of columns."""

    columns: frozenset[str]
    inverted_index_columns: frozenset[str]


def known_columns(night: Night, table: str) -> KnownColumns:
    """Return what ``table_facts`` says, and the table's config about its indexes, where there is one."""
    size = pc.map_lookup(pc.field("index_bytes"), query_key="inverted_index", occurrence="first")
    facts = reduce_rows(published(night, "table_facts"), table, {"size": Measure(size, "max")}, by=["column"])
    configured = night.configured_inverted_indexes().get(table)
    built = (row["column"] for row in facts if (row["size"] or 0) > 0)
    indexed = built if configured is None else configured
    return KnownColumns(frozenset(row["column"] for row in facts), frozenset(indexed))
