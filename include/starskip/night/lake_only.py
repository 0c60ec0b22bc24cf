"""Tables that lie in the lake alone: they have no segments, and no query of Pinot reads them."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.advisor.run.night import Night
from starskip.errors import SourceError, some_of
from starskip.pinot.segments.segment_files import folder_of, segment_tables

LAKE_ONLY = "lake_only"
"""Property of the ``table_facts`` and ``queries`` of such a table, which hold no row."""


def find_lake_only(night: Night) -> frozenset[str]:
    """Return the night's lake tables without a folder in ``segments_root`` and without a table config.

    A table with a config is a Pinot table whose segments are missing. Raises the errors of ``absent_tables``.
    """
    if not night.lake_tables:
        return frozenset()
    absent_tables(night)
    in_pinot = segment_tables(night.segments_root) if night.segments_root else ()
    wanted = {table for table in night.lake_tables if night.wants(table)}
    return frozenset(wanted.difference(in_pinot, night.table_configs()))


def absent_tables(night: Night) -> Mapping[str, str]:
    """Return the night's tables that lie neither in Pinot nor in the lake, with a sentence on each.

    A table that was dropped stays in a configuration for a while: the others go on. Raises SourceError for a
    table that this run was asked for by name, where all are absent, and every error of listing the segments.
    """
    if night.tables is None:
        return {}
    in_pinot = segment_tables(night.segments_root) if night.segments_root else ()
    known = {**night.lake_tables, **dict.fromkeys(in_pinot)}
    places = {f"{night.segments_root} has segments of": in_pinot, "lake_tables has": night.lake_tables}
    absent = {}
    for table in sorted(night.tables):
        if folder_of(table, known) is None:
            told = [f"{place} {some_of(names, table)}" for place, names in places.items() if names]
            absent[table] = f"unknown table {table}: {' and '.join(told)}"
    if absent and (night.is_of_some or len(absent) == len(night.tables)):
        table, problem = next(iter(absent.items()))
        raise SourceError(problem, source=table)
    return absent


def lake_only_tables(night: Night) -> frozenset[str]:
    """Return the tables of this night that collect_segment_metadata found in the lake alone."""
    snapshot = night.store.snapshot("table_facts", night.date_text)
    parts = snapshot.parts() if snapshot else {}
    return frozenset(table for table, part in parts.items() if part.properties.get(LAKE_ONLY))
