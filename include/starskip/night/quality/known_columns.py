"""The columns and indexes in the facts of a table."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc

from starskip.advisor.families.families import configured_indexes, families_of_night, segment_indexes
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.night import Night
from starskip.night.quality.reduce_rows import Measure, reduce_rows


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Names of columns, (family, column) of each index, and the names of all families."""

    columns: frozenset[str]
    indexes: frozenset[tuple[str, str]]
    families: frozenset[str]


def known_columns(night: Night, table: str) -> KnownColumns:
    """Return the columns of ``table_facts``, and the indexes of the table config, if any, or of the facts."""
    families = families_of_night(night).known
    sizes = {
        family: Measure(pc.map_lookup(pc.field("index_bytes"), query_key=index, occurrence="first"), "max")
        for family, index in segment_indexes(families).items()
        if index
    }
    facts = list(reduce_rows(published(night, "table_facts"), table, sizes, by=["column"]))
    configured = configured_indexes(night.table_configs(), families).get(table)
    if configured is None:
        configured = {
            family: tuple(str(row["column"]) for row in facts if (row[family] or 0) > 0) for family in sizes
        }
    indexes = {(family, column) for family, columns in configured.items() for column in columns}
    names = frozenset(family.name for family in families)
    return KnownColumns(frozenset(row["column"] for row in facts), frozenset(indexes), names)
