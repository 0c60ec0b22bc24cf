"""Tables that lie in the lake alone: they have no segments, and no query of Pinot reads them."""

from __future__ import annotations

from starskip.advisor.run.night import Night
from starskip.errors import SourceError, some_of
from starskip.pinot.segments.segment_files import folder_of, segment_tables

LAKE_ONLY = "lake_only"
"""Property of the ``table_facts`` and ``queries`` of such a table, which hold no row."""


def find_lake_only(night: Night) -> frozenset[str]:
    """Return the night's lake tables without a folder in ``segments_root`` and without a table config.

    A table with a config is a Pinot table whose segments are missing. Raises SourceError for a table that was
    asked for and is unknown, and every error of listing the segments.
    """
    if not night.lake_tables:
        return frozenset()
    in_pinot = segment_tables(night.segments_root) if night.segments_root else ()
    known = {**night.lake_tables, **dict.fromkeys(in_pinot)}
    unknown = [table for table in night.tables or () if folder_of(table, known) is None]
    for table in sorted(unknown):
        places = {f"{night.segments_root} has segments of": in_pinot, "lake_tables has": night.lake_tables}
        told = " and ".join(f"{place} {some_of(names, table)}" for place, names in places.items() if names)
        raise SourceError(f"unknown table {table}: {told}", source=table)
    wanted = {table for table in night.lake_tables if night.wants(table)}
    return frozenset(wanted.difference(in_pinot, night.table_configs()))


def lake_only_tables(night: Night) -> frozenset[str]:
    """Return the tables of this night that collect_segment_metadata found in the lake alone."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    parts = snapshot.parts() if snapshot else {}
    return frozenset(table for table, part in parts.items() if part.properties.get(LAKE_ONLY))
