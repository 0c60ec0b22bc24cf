"""Tables that lie in the lake alone: they have no segments, and no query of Pinot reads them."""

from __future__ import annotations

from starskip.advisor.run.night import Night

LAKE_ONLY = "lake_only"
"""Property of the ``table_facts`` and ``queries`` of such a table, which hold no row."""


def lake_only_tables(night: Night) -> frozenset[str]:
    """Return the tables of this night that collect_segment_metadata found in the lake alone."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    parts = snapshot.parts() if snapshot else {}
    return frozenset(table for table, part in parts.items() if part.properties.get(LAKE_ONLY))
