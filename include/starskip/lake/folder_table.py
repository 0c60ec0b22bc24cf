"""Lists a folder of plain files as a table, as Spark lists it: Hive partitions, and no hidden names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import unquote

import pyarrow as pa

from starskip.errors import MissingSource, SourceError
from starskip.lake.table_format import refuse_format, table_format
from starskip.lake.table_snapshot import FILES, TableSnapshot
from starskip.storage.files.file_identity import FileIdentity, file_identity
from starskip.storage.files.list_folder import FolderListing, list_folder
from starskip.storage.files.object_url import local_path, object_url

SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".parq": "parquet", ".pq": "parquet"}
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_MAX_DEPTH = 30

_Partition = Mapping[str, str | None]


def folder_table(path: str, listing: FolderListing | None, file_format: str | None) -> TableSnapshot:
    """Return the table of the files below a folder, whose ``listing`` is given; None for a single file.

    With a ``file_format`` all files have it, as in Spark; else files count whose names end as CSV or Parquet
    files do. Names that begin with ``.`` are left out, and names that begin with ``_``, except folders of a
    partition, ``_a=1``. Raises SourceError naming a path that cannot be listed or holds two formats, and
    NotPlainFiles for a table format below the path.
    """
    if listing is None:
        name = file_format or SUFFIXES.get(_suffix(path))
        if name is None:
            raise SourceError(f"{path}: is neither a .csv nor a .parquet file", source=path)
        return _snapshot(path, name, [(_identity(path), {})])
    folder = path.rstrip("/") or "/"
    try:
        found = list(_below(folder, listing, {}, 0))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}", source=path) from error
    if file_format is not None:
        return _snapshot(path, file_format, found)
    found = [each for each in found if _suffix(each[0].path) in SUFFIXES]
    formats = sorted({SUFFIXES[_suffix(identity.path)] for identity, _ in found})
    if not formats:
        raise MissingSource(
            f"{path}: has no .csv and no .parquet file below it, and no format was named", source=path
        )
    if len(formats) > 1:
        raise SourceError(f"{path}: has .csv and .parquet files; name a folder of one kind", source=path)
    return _snapshot(path, formats[0], found)


def listed_folder(path: str) -> FolderListing | None:
    """Return the direct children of the folder at ``path``, None for a single file.

    Raises MissingSource for a path that names nothing.
    """
    is_named_as_file = _suffix(path) in SUFFIXES
    if is_named_as_file and (object_url(path) is not None or not local_path(path).is_dir()):
        return None
    try:
        return list_folder(path.rstrip("/") or "/")
    except NotADirectoryError:
        return None
    except FileNotFoundError:
        raise MissingSource(f"{path}: there is no such file or folder", source=path) from None
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}", source=path) from error


def _snapshot(path: str, file_format: str, found: list[tuple[FileIdentity, _Partition]]) -> TableSnapshot:
    found.sort(key=lambda each: each[0].path)
    _require_same_columns(found)
    identities = [identity for identity, _ in found]
    columns: list[pa.Array] = [
        pa.array([each.path for each in identities], pa.string()),
        pa.array([each.size_bytes for each in identities], pa.int64()),
        pa.array([each.modified_ns for each in identities], pa.int64()),
        pa.array([each.changed_ns for each in identities], pa.int64()),
        pa.array([each.etag for each in identities], pa.string()),
        pa.array([list(partition.items()) for _, partition in found], FILES.field("partition").type),
        pa.nulls(len(found), pa.int64()),
        pa.nulls(len(found), FILES.field("deletes").type),
        pa.repeat(pa.scalar(file_format, pa.string()), len(found)),
    ]
    partition_columns = tuple(found[0][1]) if found else ()
    files = pa.Table.from_arrays(columns, schema=FILES)
    return TableSnapshot(
        path, "files", file_format, files, partition_columns=partition_columns, location=path.rstrip("/")
    )


def _below(
    folder: str, listing: FolderListing, partition: _Partition, depth: int
) -> Iterator[tuple[FileIdentity, _Partition]]:
    refuse_format(folder, table_format(folder, listing.folders))
    for identity in listing.files:
        if _is_shown(identity.path.rpartition("/")[2]):
            yield identity, partition
    for name in listing.folders:
        if not _is_shown(name):
            continue
        below = f"{folder}/{name}"
        if depth >= _MAX_DEPTH:
            raise SourceError(f"{below}: lies more than {_MAX_DEPTH} folders deep", source=below)
        key, separator, value = name.partition("=")
        named = None if value == HIVE_NULL else unquote(value)
        told = {**partition, unquote(key): named} if separator else partition
        yield from _below(below, list_folder(below), told, depth + 1)


def _require_same_columns(found: list[tuple[FileIdentity, _Partition]]) -> None:
    for identity, partition in found:
        for name in partition.keys() ^ found[0][1].keys():
            path = identity.path if name in partition else found[0][0].path
            raise SourceError(
                f"{path}: lies in a folder {name}=…, other files of the table do not", source=path
            )


def _is_shown(name: str) -> bool:
    return not name.startswith(".") and (not name.startswith("_") or "=" in name)


def _suffix(path: str) -> str:
    # Runs for each file of a listing: making a Path takes longer than the look-up.
    stem, dot, suffix = path.rpartition("/")[2].rpartition(".")
    return f".{suffix.lower()}" if stem and dot and suffix else ""


def _identity(path: str) -> FileIdentity:
    if object_url(path) is None:
        if not local_path(path).exists():
            raise MissingSource(f"{path}: there is no such file or folder", source=path)
        return file_identity(local_path(path))
    folder, _, name = path.rpartition("/")
    with suppress(FileNotFoundError):
        for identity in list_folder(folder).files:
            if identity.path.rpartition("/")[2] == name:
                return identity
    raise MissingSource(f"{path}: there is no such object", source=path)
