"""Which files a table consists of, with their identities."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from starskip.errors import MissingSource, SourceError
from starskip.lake.table_format import refuse_format, table_format
from starskip.storage.files.file_identity import FileIdentity, file_identity
from starskip.storage.files.list_folder import list_folder
from starskip.storage.files.object_url import object_url

FORMATS = {".csv": "csv", ".parquet": "parquet", ".parq": "parquet", ".pq": "parquet"}
_MAX_DEPTH = 30


@dataclass(frozen=True, slots=True)
class FileOfTable:
    """A listed file; ``partition`` holds what folders ``name=value`` above it tell."""

    identity: FileIdentity
    partition: Mapping[str, str] = field(default_factory=dict)


def list_source(path: str) -> tuple[str, tuple[FileOfTable, ...]]:
    """Return the format and the files of a table, sorted by path.

    Files and folders whose names begin with ``_`` or ``.`` are no part of a table, as in Spark. Raises
    SourceError naming the path that is missing or holds no table, or two formats at once, and NotPlainFiles
    for a table format at the path or below it.
    """
    suffix = _suffix(path)
    if suffix in FORMATS and not _is_folder(path):
        return FORMATS[suffix], (FileOfTable(_identity(path)),)
    try:
        found = _below(path.rstrip("/") or "/", {}, 0)
    except FileNotFoundError:
        raise MissingSource(f"{path}: there is no such file or folder", source=path) from None
    except NotADirectoryError:
        raise SourceError(f"{path}: is neither a .csv nor a .parquet file", source=path) from None
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}", source=path) from error
    formats = sorted({FORMATS[_suffix(file.identity.path)] for file in found})
    if not formats:
        raise MissingSource(f"{path}: has no .csv and no .parquet file below it", source=path)
    if len(formats) > 1:
        raise SourceError(f"{path}: has .csv and .parquet files; name a folder of one kind", source=path)
    return formats[0], tuple(sorted(found, key=lambda file: file.identity.path))


def _below(folder: str, partition: Mapping[str, str], depth: int) -> list[FileOfTable]:
    if depth > _MAX_DEPTH:
        raise SourceError(f"{folder}: lies more than {_MAX_DEPTH} folders deep", source=folder)
    listing = list_folder(folder)
    refuse_format(folder, table_format(folder, listing.folders), what="star-trees")
    found = [
        FileOfTable(identity, partition)
        for identity in listing.files
        if _suffix(identity.path) in FORMATS and _is_shown(identity.path.rpartition("/")[2])
    ]
    for name in listing.folders:
        if _is_shown(name):
            key, separator, value = name.partition("=")
            told = {**partition, unquote(key): unquote(value)} if separator else partition
            found += _below(f"{folder}/{name}", told, depth + 1)
    return found


def _is_shown(name: str) -> bool:
    return not name.startswith(("_", "."))


def _suffix(path: str) -> str:
    return Path(path).suffix.lower()


def _is_folder(path: str) -> bool:
    return object_url(path) is None and Path(path).is_dir()


def _identity(path: str) -> FileIdentity:
    if object_url(path) is None:
        if not Path(path).exists():
            raise MissingSource(f"{path}: there is no such file or folder", source=path)
        return file_identity(Path(path))
    folder, _, name = path.rpartition("/")
    with suppress(FileNotFoundError):
        for identity in list_folder(folder).files:
            if identity.path.rpartition("/")[2] == name:
                return identity
    raise MissingSource(f"{path}: there is no such object", source=path)
