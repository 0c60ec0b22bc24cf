"""Sort the tables of a night by where they lie: in a folder of segments, in the lake alone, or nowhere."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from starskip.advisor.run.night import Night
from starskip.errors import SourceError, some_of
from starskip.pinot.hybrid_tables import hybrid_tables, with_halves
from starskip.pinot.segments.segment_files import (
    folder_of,
    no_table_folders,
    table_folder_names,
    tables_of_folders,
)


@dataclass(frozen=True, slots=True)
class NightTables:
    """The folder of segments of each table, the tables of the lake alone, and a sentence on each absent one.

    ``configured``: the tables that have a table config.
    """

    folders: Mapping[str, str]
    lake_only: frozenset[str]
    absent: Mapping[str, str]
    configured: frozenset[str]


def night_tables(night: Night) -> NightTables:
    """Return the night's tables; the folder of segments is listed once.

    A lake table without a folder and without a table config lies in the lake alone: a table with a config is
    a Pinot table whose segments are missing. Such a table is absent, and so is a half of a hybrid table of
    which the other half has a folder, or a table of the configuration that was dropped: the others go on.
    Raises SourceError for an absent table that this run was asked for by name, where no table is left, and
    every error of listing the folder of segments.
    """
    names = table_folder_names(night.segments_root) if night.segments_root else ()
    configs, _ = night.read_configs()  # the first stage says what is wrong
    in_pinot = tables_of_folders(names)
    of_lake = {table for table in night.lake_tables if night.wants(table)}
    lake_only = frozenset(of_lake.difference(in_pinot, configs))
    asked = {*in_pinot, *of_lake} if night.tables is None else night.tables
    wanted = with_halves(sorted(asked - lake_only), hybrid_tables(configs))
    found = {table: folder_of(table, names) for table in sorted(wanted)}
    root = night.segments_root.rstrip("/")
    folders = {table: f"{root}/{folder}" for table, folder in found.items() if folder is not None}
    absent = {table: _unknown(night, table, names) for table in found if table not in folders}
    if absent and (night.is_of_some or not (folders or lake_only)):
        table, problem = next(iter(absent.items()))
        raise SourceError(problem, source=table)
    if not (folders or lake_only):
        raise no_table_folders(night.segments_root)
    return NightTables(folders, lake_only, absent, frozenset(configs))


def _unknown(night: Night, table: str, names: Collection[str]) -> str:
    places = []
    if night.segments_root:
        places.append(f"{night.segments_root} has segments of {some_of(names, table) or 'none'}")
    if night.lake_tables and table not in night.lake_tables:
        places.append(f"lake_tables has {some_of(night.lake_tables, table)}")
    return f"unknown table {table}: {' and '.join(places)}"
