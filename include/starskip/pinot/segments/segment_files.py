"""Find the tarred segments of tables under ``segmentDirectory/tableNameWithoutType`` (seed 000, III.2).

The directory is a path or the URL of a folder of an object store.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from starskip.errors import SourceError
from starskip.files.file_identity import FileIdentity
from starskip.files.list_folder import list_folder
from starskip.files.open_file import file_head
from starskip.files.path_text import path_text

SEGMENT_SUFFIXES = (".tar.gz", ".tgz", ".tar")
DELETED_SEGMENTS = "Deleted_Segments"
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """One tarred segment; ``segment`` is the file's name without its suffix.

    ``path`` is a path or URL. An object has an ``etag``, a local file a ``modified_ns``.
    """

    table: str
    segment: str
    path: str
    size_bytes: int
    modified_ns: int | None = None
    etag: str | None = None


def list_segments(root: str | Path, tables: Iterable[str] | None = None) -> tuple[SegmentFile, ...]:
    """Return the segment files of ``tables`` (of every table folder when None), by table and name.

    Raises SourceError when the root, an asked-for table or a table's segments are missing.
    """
    known = segment_tables(root)
    wanted = known if tables is None else tuple(sorted(set(tables)))
    if not wanted:
        raise SourceError(f"segment directory {root} holds no table folders", source=str(root))
    for table in wanted:
        if table not in known:
            listing = ", ".join(known) or "none"
            raise SourceError(f"unknown table {table}: {root} has segments of {listing}", source=table)
    return tuple(file for table in wanted for file in _segments_of(table, f"{str(root).rstrip('/')}/{table}"))


def segment_tables(root: str | Path) -> tuple[str, ...]:
    """Return the names of the table folders under ``root``, sorted; raises SourceError if it is no folder.

    A folder whose name is no UTF-8 is none of Pinot's.
    """
    try:
        listing = list_folder(str(root))
    except (FileNotFoundError, NotADirectoryError) as error:
        raise SourceError(
            f"segment directory {root} does not exist or is no folder", source=str(root)
        ) from error
    except OSError as error:
        raise SourceError(
            f"cannot read the segment directory {root}: {error.strerror}", source=str(root)
        ) from error
    return tuple(
        name
        for name in listing.folders
        if name[0] != "." and name != DELETED_SEGMENTS and path_text(name) == name
    )


def _segments_of(table: str, folder: str) -> list[SegmentFile]:
    files = []
    try:
        for found in list_folder(folder).files:
            segment = _segment_name(found)
            if segment is not None:
                stamp = (found.modified_ns, found.etag)
                files.append(SegmentFile(table, segment, found.path, found.size_bytes, *stamp))
    except OSError as error:
        raise SourceError(f"table {table}: cannot read {folder}: {error.strerror}", source=table) from error
    if not files:
        raise SourceError(
            f"table {table} has no segments: {folder} holds no {', '.join(SEGMENT_SUFFIXES)} file",
            source=table,
        )
    return files


def _segment_name(file: FileIdentity) -> str | None:
    name = file.path.rpartition("/")[2]
    if name.startswith("."):
        return None
    for suffix in SEGMENT_SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    # Pinot's own deep store keeps a segment under its bare name.
    return name if "." not in name and _is_gzip(file.path) else None


def _is_gzip(path: str) -> bool:
    try:
        return file_head(path, len(_GZIP_MAGIC))[0] == _GZIP_MAGIC
    except FileNotFoundError:  # removed since it was listed
        return False
