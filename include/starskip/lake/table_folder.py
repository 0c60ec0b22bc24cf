"""The folder of a table; Starskip's metadata lies beside its files."""

from __future__ import annotations

from starskip.errors import SourceError, SourceOutage
from starskip.extras import needing_extra
from starskip.lake.open_lake_table import format_at
from starskip.lake.table_name import is_iceberg_name


def table_folder(path: str) -> str:
    """Return the folder that a table says it lies in: an Iceberg table by its metadata, others by the path.

    So a copy of an Iceberg table's metadata names the original table, as in Spark. Raises SourceError for a
    catalog or metadata that cannot be read.
    """
    if not is_iceberg_name(path) and not _is_iceberg(path):
        return path
    with needing_extra("iceberg"):
        from starskip.lake.iceberg.iceberg_metadata import iceberg_location  # noqa: PLC0415

    return iceberg_location(path)


def _is_iceberg(path: str) -> bool:
    try:
        return format_at(path) == "iceberg"
    except SourceOutage:
        raise
    except SourceError:
        return False  # the error comes when the table is read
