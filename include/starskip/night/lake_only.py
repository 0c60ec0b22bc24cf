"""Tables that lie in the lake alone: they have no segments, and no query of Pinot reads them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from starskip.advisor.run.night import Night
from starskip.errors import SourceError, some_of
from starskip.pinot.segments.segment_files import folder_of, segment_tables

LAKE_ONLY = "lake_only"
"""Property of the ``table_facts`` and ``queries`` of such a table, which hold no row."""


@dataclass(frozen=True, slots=True)
class TablesElsewhere:
    """The tables of a night without segments: in the lake alone, or absent, with a sentence on each."""

    lake_only: frozenset[str] = frozenset()
    absent: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> frozenset[str]:
        """The names of all of them."""
        return self.lake_only.union(self.absent)


def tables_elsewhere(night: Night) -> TablesElsewhere:
    """Return the night's tables without segments; the folder of segments is listed once.

    A lake table without a folder and without a table config lies in the lake alone: a table with a config is
    a Pinot table whose segments are missing. A table that was dropped stays in a configuration for a while,
    and the others go on. Raises SourceError for an absent table that this run was asked for by name, where
    all tables are absent, and every error of listing the segments.
    """
    if night.tables is None and not night.lake_tables:
        return TablesElsewhere()
    in_pinot = segment_tables(night.segments_root) if night.segments_root else ()
    absent = _absent(night, in_pinot)
    if absent and (night.is_of_some or len(absent) == len(night.tables or ())):
        table, problem = next(iter(absent.items()))
        raise SourceError(problem, source=table)
    wanted = {table for table in night.lake_tables if night.wants(table)}
    return TablesElsewhere(
        frozenset(wanted.difference(in_pinot, night.table_configs())) if wanted else frozenset(), absent
    )


def _absent(night: Night, in_pinot: Collection[str]) -> dict[str, str]:
    known = {*night.lake_tables, *in_pinot}
    places = {f"{night.segments_root} has segments of": in_pinot, "lake_tables has": night.lake_tables}
    found = {}
    for table in sorted(night.tables or ()):
        if folder_of(table, known) is None:
            told = [f"{place} {some_of(names, table)}" for place, names in places.items() if names]
            found[table] = f"unknown table {table}: {' and '.join(told)}"
    return found


def lake_only_tables(night: Night) -> frozenset[str]:
    """Return the tables of this night that collect_segment_metadata found in the lake alone."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    parts = snapshot.parts() if snapshot else {}
    return frozenset(table for table, part in parts.items() if part.properties.get(LAKE_ONLY))
