"""Check the tables of the lake: each is opened, its files listed, and no file of it is read."""

from __future__ import annotations

from collections.abc import Iterator

from starskip.advisor.run.night import Night
from starskip.errors import StarskipError
from starskip.lake.open_lake_table import format_at, open_lake_table
from starskip.night.doctor.finding import FAILED, OK, counted

_MOST_TABLES = 20


def check_lake_tables(night: Night) -> Iterator[tuple[str, str]]:
    """Say what each table is; one that cannot be opened stops no other."""
    wanted = [table for table in sorted(night.lake_tables) if night.wants(table)]
    for table in wanted[:_MOST_TABLES]:
        lake = night.lake_tables[table]
        try:
            snapshot = open_lake_table(lake.path, lake.listed_format, look_above=False)
        except StarskipError as error:
            yield FAILED, f"{table}: {error}"
            continue
        if not snapshot.files.num_rows:
            yield FAILED, f"{table}: {lake.path} holds no data file: check its path and format"
            continue
        columns = "" if snapshot.schema is None else f", {counted(len(snapshot.schema), 'column')}"
        version = "" if snapshot.version is None else f" in version {snapshot.version}"
        kind = snapshot.table_format if snapshot.table_format != "files" else snapshot.file_format
        yield OK, f"{table}: {kind}{version}, {counted(snapshot.files.num_rows, 'file')}{columns}"
    if len(wanted) > _MOST_TABLES:
        yield OK, f"{len(wanted) - _MOST_TABLES} more tables were not opened"


def lake_formats(night: Night) -> Iterator[str]:
    """Yield the format of each table of the lake whose format can be told."""
    for table in sorted(night.lake_tables)[:_MOST_TABLES]:
        lake = night.lake_tables[table]
        try:
            yield format_at(lake.path, lake.listed_format)
        except StarskipError:
            continue  # check_lake_tables says why
