"""The columns and indexes in the facts of a table."""

from __future__ import annotations

from dataclasses import dataclass

from starskip.advisor.families.families import configured_indexes, families_of_night, segment_indexes
from starskip.advisor.run.night import Night
from starskip.night.quality.count_rows import counted
from starskip.night.quality.table_facts_gate import largest_index


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """Names of columns, (family, column) of each index, and the names of all families."""

    columns: frozenset[str]
    indexes: frozenset[tuple[str, str]]
    families: frozenset[str]


def known_columns(night: Night, table: str) -> KnownColumns:
    """Return the columns of ``table_facts``, and the indexes of the table config, if any, or of the facts."""
    families = families_of_night(night).known
    facts, _ = counted(night, "table_facts", table)
    configured = configured_indexes(night.table_configs(), families).get(table)
    if configured is None:
        found = [family for family, index in segment_indexes(families).items() if index]
        configured = {
            family: tuple(str(row["column"]) for row in facts if (row.get(largest_index(family)) or 0) > 0)
            for family in found
        }
    indexes = {(family, column) for family, columns in configured.items() for column in columns}
    names = frozenset(family.name for family in families)
    return KnownColumns(frozenset(row["column"] for row in facts), frozenset(indexes), names)
