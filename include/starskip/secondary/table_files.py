"""List a table's files in the form of the metadata's lifecycle: Hadoop's paths, sizes, modification times."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import xxhash

from starskip.errors import SourceError
from starskip.file_metadata.table_files import TableFiles
from starskip.lake.open_lake_table import open_lake_table
from starskip.lake.table_name import CATALOG
from starskip.lake.table_snapshot import TableSnapshot, numbers_of_log
from starskip.storage.files.object_url import object_url

_FORMATS = ("parquet", "orc", "delta", "iceberg")
_NS_PER_MS = 1_000_000


def why_not_indexed(file_format: str) -> str | None:
    """Return why a table of a format has no secondary indexes, and what to do instead; None if it may."""
    if file_format in _FORMATS:
        return None
    return (
        f"{file_format} files have no secondary indexes: write the table as Parquet, or use skipping "
        "(`starskip skipping create`), which serves Parquet, ORC, Avro, JSON and CSV files"
    )


def listed_table(
    path: str, file_format: str | None = None, version: int | None = None, *, look_above: bool = True
) -> TableSnapshot:
    """Return the newest snapshot of a table.

    Raises SourceError for a table whose format has no secondary indexes, or whose rows only Spark can read.
    """
    snapshot = open_lake_table(full_path(path), file_format, version, look_above=look_above)
    _require_indexed_files(path, snapshot)
    snapshot.require_rows_of_spark()
    if snapshot.table_format == "iceberg" and snapshot.file_format != "parquet":
        others = sorted({*snapshot.files["file_format"].to_pylist()} - {"parquet"})
        raise SourceError(
            f"{path}: this Iceberg table has {' and '.join(others)} files, which are read by Spark alone: "
            "secondary indexes are of Parquet files",
            source=path,
        )
    return snapshot


def require_indexed_files(path: str, file_format: str | None) -> None:
    """Raise SourceError for a table whose file format has no secondary indexes.

    ``file_format``: as in ``open_lake_table``.
    """
    try:
        snapshot = open_lake_table(full_path(path), file_format)
    except SourceError:
        return
    _require_indexed_files(path, snapshot)


def _require_indexed_files(path: str, snapshot: TableSnapshot) -> None:
    reason = why_not_indexed(snapshot.file_format) if snapshot.table_format == "files" else None
    if reason is not None:
        raise SourceError(f"{path}: {reason}", source=path)


def full_path(path: str) -> str:
    """Return a path or URL that does not depend on the current folder."""
    if path.startswith(CATALOG) or object_url(path) is not None:
        return path.rstrip("/")
    return (
        str(Path(path.removeprefix("file:")).absolute())
        if path.startswith("file:")
        else str(Path(path).absolute())
    )


def hadoop_path(path: str) -> str:
    """Return a path as Hadoop's Path writes it."""
    return f"file:{path}" if path.startswith("/") else path


def table_files(snapshot: TableSnapshot) -> TableFiles:
    """Return the files of a snapshot by Hadoop's paths, in the order of the snapshot.

    Modification times are replaced for objects by their ETag, for files of a Delta table by the time in its
    log, and for files of an Iceberg table by the number of the commit that added them.
    """
    files = snapshot.files
    told = (files["modified_ns"], numbers_of_log(files["etag"]), files["etag"])
    modified = [
        ns // _NS_PER_MS if ns is not None else number if number is not None else _stand_in(etag)
        for ns, number, etag in zip(*(each.to_pylist() for each in told), strict=True)
    ]
    paths = pa.array([hadoop_path(each) for each in files["path"].to_pylist()], pa.string())
    sizes = np.asarray(files["size_bytes"].to_numpy(), np.int64)
    return TableFiles(paths, sizes, np.asarray(modified, np.int64), time.time_ns() // _NS_PER_MS)


def _stand_in(etag: str | None) -> int:
    if etag is None:
        return 0
    # Below 2**40 ms, a time of 2004: it never counts as young.
    return xxhash.xxh3_64_intdigest(etag.encode()) >> 24
