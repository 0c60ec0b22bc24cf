"""Opens the table at a path as a snapshot: a folder of plain files, a Delta table or an Iceberg table."""

from __future__ import annotations

import pyarrow as pa

from starskip.errors import SourceError
from starskip.extras import needing_extra
from starskip.lake.folder_table import folder_table, listed_folder
from starskip.lake.table_format import TableFormat, format_above, refuse_format, table_format
from starskip.lake.table_name import is_iceberg_name
from starskip.lake.table_snapshot import TableSnapshot


def open_lake_table(
    path: str, file_format: str | None = None, version: int | None = None, *, look_above: bool = True
) -> TableSnapshot:
    """List the files of a table's newest version, or of ``version``, an id of a snapshot for Iceberg.

    ``path``: a folder, a file, a metadata file of Iceberg, or ``iceberg://CATALOG/NAMESPACE/TABLE``.
    ``file_format``: one of ``FORMATS``, instead of the format that is detected. ``look_above``: whether to
    check that the path lies within no Delta or Iceberg table, which is slow in an object store. Raises
    SourceError naming a path that is missing or cannot be listed. Raises NotPlainFiles for a table format
    that is not read, that is asked for as plain files, or that a folder above or below the path has. Raises
    MissingExtra for a format whose library is not installed.
    """
    if is_iceberg_name(path):
        return _of_metadata(path, file_format, version)
    listing = listed_folder(path)
    wanted = file_format if file_format in ("delta", "iceberg") else None
    found = None if listing is None else table_format(path.rstrip("/"), listing.folders, wanted)
    if wanted is not None:
        _require_is(path, wanted, found)
    if file_format in (None, wanted) and found is not None:
        if found.spark_name == "delta":
            return _delta_table(path, version)
        if found.spark_name == "iceberg":
            return _iceberg_table(path, version)
    refuse_format(path, found)
    if look_above:
        refuse_format(path, format_above(path))
    if version is not None:
        raise SourceError(
            f"{path}: is no Delta or Iceberg table, and plain files have no version {version}; leave "
            "--version out",
            source=path,
        )
    return folder_table(path, listing, file_format)


def format_at(path: str, file_format: str | None = None) -> str:
    """Return a table's format, "delta", "iceberg" or the format of its files, without listing the files.

    ``file_format``: as in ``open_lake_table``; without it plain files are taken for Parquet. Raises
    SourceError for a path that cannot be listed.
    """
    if file_format is not None:
        return file_format
    if is_iceberg_name(path):
        return "iceberg"
    listing = listed_folder(path)
    found = None if listing is None else table_format(path.rstrip("/"), listing.folders)
    return "parquet" if found is None else found.spark_name


def iceberg_columns(path: str) -> pa.Schema:
    """Return the newest columns of an Iceberg table, whose manifests are not read. Raises SourceError."""
    with needing_extra("iceberg"):
        from starskip.lake.iceberg.iceberg_metadata import iceberg_metadata  # noqa: PLC0415
        from starskip.lake.iceberg.iceberg_schema import arrow_schema  # noqa: PLC0415

    return arrow_schema(iceberg_metadata(path).table.schema())


def _of_metadata(path: str, file_format: str | None, version: int | None) -> TableSnapshot:
    if file_format not in (None, "iceberg"):
        raise SourceError(
            f"{path}: names an Iceberg table, which is not read as {file_format}; leave --format out",
            source=path,
        )
    return _iceberg_table(path, version)


def _delta_table(path: str, version: int | None) -> TableSnapshot:
    with needing_extra("delta"):
        from starskip.lake.delta.delta_table import delta_table  # noqa: PLC0415

    return delta_table(path, version)


def _iceberg_table(path: str, version: int | None) -> TableSnapshot:
    with needing_extra("iceberg"):
        from starskip.lake.iceberg.iceberg_table import iceberg_table  # noqa: PLC0415

    return iceberg_table(path, version)


def _require_is(path: str, file_format: str, found: TableFormat | None) -> None:
    if found is None:
        name, sign = {"delta": ("Delta", "_delta_log"), "iceberg": ("Iceberg", "metadata/*.metadata.json")}[
            file_format
        ]
        raise SourceError(f"{path}: holds no {name} table: there is no {sign} in it", source=path)
