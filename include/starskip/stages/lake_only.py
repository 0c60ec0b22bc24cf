"""Tables that lie in the lake alone: they have no segments, and no query of Pinot's asks them."""

from __future__ import annotations

from starskip.errors import SourceError
from starskip.pinot.segments.segment_files import segment_tables
from starskip.stages.night import Night

LAKE_ONLY = "lake_only"
"""Property of the ``table_facts`` of such a table, which hold no row."""


def find_lake_only(night: Night) -> frozenset[str]:
    """Return the night's lake tables for which ``segments_root`` has no folder.

    Raises SourceError for a table that was asked for and that nothing is known of, where the night has no
    segments at all, and what listing them raises.
    """
    wanted = {table for table in night.lake_tables if night.wants(table)}
    if night.segments_root:
        return frozenset(wanted.difference(segment_tables(night.segments_root) if wanted else ()))
    for table in sorted((night.tables or frozenset()) - wanted):
        known = ", ".join(sorted(night.lake_tables))
        raise SourceError(
            f"unknown table {table}: lake_tables of the configuration has {known}", source=table
        )
    return frozenset(wanted)


def lake_only_tables(night: Night) -> frozenset[str]:
    """Return those that collect_segment_metadata found of this night."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    parts = snapshot.parts() if snapshot else {}
    return frozenset(table for table, part in parts.items() if part.properties.get(LAKE_ONLY))
