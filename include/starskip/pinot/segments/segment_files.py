"""Find the tarred segments of tables under ``segmentDirectory/tableNameWithoutType``.

The halves of a hybrid table may have a folder each, T_OFFLINE and T_REALTIME. In a common folder T, as in
Pinot's deep store, the names of segments tell them apart; if they do not, the folder serves both halves.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from starskip.errors import MissingSource, SourceError, SourceOutage, some_of
from starskip.pinot.hybrid_tables import halves_of, without_type
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.list_folder import list_folder
from starskip.storage.files.open_file import file_head
from starskip.storage.files.path_text import path_text

SEGMENT_SUFFIXES = (".tar.gz", ".tgz", ".tar")
_NO_TABLES = ("Deleted_Segments", "lost+found")
"""Folders among the tables' that Pinot and a disk keep for themselves."""
_GZIP_MAGIC = b"\x1f\x8b"
_NEVER_SEGMENTS = (".crc", ".csv", ".json", ".log", ".md5", ".parquet", ".sha256", ".tmp", ".txt", ".yaml")
"""Endings of other files beside segments: they are not opened to find out."""
_OF_REALTIME = re.compile(r".+__\d+__\d+__\d{8}T\d{4}Z|.+__.+__\d+__\d{8}T\d{4}Z__.+")
"""Names of consumed segments (LLCSegmentName), and of segments uploaded to an upsert table."""
_TAR_HEAD_BYTES = 4_096
_TAR_BLOCK_BYTES = 512
_TAR_MAGIC_AT, _TAR_MAGIC = 257, b"ustar"


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

    Raises SourceError when the root, an asked-for table or a table's segments are missing. A file whose name
    does not tell whether it is a segment is opened.
    """
    return tuple(
        file
        for table, folder in table_folders(root, tables).items()
        for file in _not_empty(table, folder, filter(is_segment, possible_segments(table, folder)))
    )


def table_folders(root: str | Path, tables: Iterable[str] | None = None) -> dict[str, str]:
    """Return the folder of each of ``tables`` (of every table when None), in the order of their names.

    Raises SourceError when the root or an asked-for table is missing.
    """
    known = table_folder_names(root)
    wanted = tables_of_folders(known) if tables is None else tuple(sorted(set(tables)))
    if not wanted:
        raise no_table_folders(root)
    found = {}
    for table in wanted:
        if (folder := folder_of(table, known)) is None:
            listing = some_of(known, table) or "none"
            raise SourceError(f"unknown table {table}: {root} has segments of {listing}", source=table)
        found[table] = f"{str(root).rstrip('/')}/{folder}"
    return found


def no_table_folders(root: str | Path) -> SourceError:
    """Return the error of a folder of segments without the folder of any table."""
    return SourceError(f"segment directory {root} holds no table folders", source=str(root))


def folder_of(table: str, folders: Collection[str]) -> str | None:
    """Return the folder of a table, or of a half of a hybrid one, among ``folders``; None if it has none."""
    name, table_type = without_type(table)
    names = (table, name) if table_type else (table, *halves_of(table))
    return next((each for each in names if each in folders), None)


def segment_tables(root: str | Path) -> tuple[str, ...]:
    """Return the tables with a folder under ``root``, sorted; raises SourceError if it is no folder.

    A half of a hybrid table has its type in its name. A folder whose name is no UTF-8 is not Pinot's.
    """
    return tables_of_folders(table_folder_names(root))


def tables_of_folders(folders: Collection[str]) -> tuple[str, ...]:
    """Return the tables of folders, sorted: one half alone is the table, whose name has no type."""
    found: dict[str, None] = {}
    for folder in folders:
        whole, table_type = without_type(folder)
        others = {whole, *halves_of(whole)} - {folder}
        found[whole if table_type and others.isdisjoint(folders) else folder] = None
    return tuple(sorted(found))


def table_folder_names(root: str | Path) -> tuple[str, ...]:
    """Return the names of the folders of tables under ``root``; raises SourceError as ``segment_tables``."""
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
        if name[0] != "." and name not in _NO_TABLES and path_text(name) == name
    )


def possible_segments(table: str, folder: str) -> list[SegmentFile]:
    """Return the files of a table's folder that may be its segments, by their names; none is opened.

    Raises SourceError if the folder cannot be listed, and MissingSource if it holds no such file.
    """
    files = []
    try:
        for found in list_folder(folder).files:
            segment = segment_name(found)
            if segment is not None:
                stamp = (found.modified_ns, found.etag)
                files.append(SegmentFile(table, segment, found.path, found.size_bytes, *stamp))
    except OSError as error:
        raise SourceError(f"table {table}: cannot read {folder}: {error.strerror}", source=table) from error
    table_type = None if folder.endswith(f"/{table}") else without_type(table)[1]
    of_half = [file for file in files if _is_of(file.segment, table_type)]
    # A bare name may be anything, and stand for no half: the first real segment ends the search.
    in_order = sorted(of_half, key=lambda file: not file.path.endswith(SEGMENT_SUFFIXES))
    if table_type is not None and not any(map(is_segment, in_order)):
        of_half = []
    return _not_empty(table, folder, of_half or files)


def _not_empty(table: str, folder: str, files: Iterable[SegmentFile]) -> list[SegmentFile]:
    if not (found := list(files)):
        raise MissingSource(
            f"table {table} has no segments: {folder} holds no {', '.join(SEGMENT_SUFFIXES)} file",
            source=table,
        )
    return found


def _is_of(segment: str, table_type: str | None) -> bool:
    if table_type is None:
        return True
    return (table_type == "REALTIME") == (_OF_REALTIME.fullmatch(segment) is not None)


def segment_name(file: FileIdentity) -> str | None:
    """Return the name of a file's segment, None for another file; a bare name is opened to find out."""
    name = file.path.rpartition("/")[2]
    if name.startswith("."):
        return None
    for suffix in SEGMENT_SUFFIXES:
        if name.endswith(suffix):
            return name.removesuffix(suffix)
    # Pinot's own deep store keeps a segment under its bare name, which may hold dots.
    return None if name.endswith(_NEVER_SEGMENTS) else name


def is_segment(file: SegmentFile) -> bool:
    """Return whether a possible segment is one: a file under a bare name is opened, and may be anything.

    One that may not be read counts as a segment: its reader says why, beside the others.
    """
    if file.path.endswith(SEGMENT_SUFFIXES):
        return True
    try:
        if "." not in file.segment:
            return _head(file.path, len(_GZIP_MAGIC)) == _GZIP_MAGIC
        return _is_gzipped_tar(file.path)
    except OSError:
        return True


def _is_gzipped_tar(path: str) -> bool:
    """Return whether a file begins as a gzipped tar does; a bare name with a dot may be anything."""
    head = _head(path, _TAR_HEAD_BYTES)
    if not head.startswith(_GZIP_MAGIC):
        return False
    try:
        block = zlib.decompressobj(wbits=31).decompress(head, _TAR_BLOCK_BYTES)
    except zlib.error:
        return False
    return block[_TAR_MAGIC_AT:].startswith(_TAR_MAGIC)


def _head(path: str, length: int) -> bytes:
    try:
        return file_head(path, length)[0]
    except FileNotFoundError:  # removed since the listing
        return b""


def segment_listing(
    segments_root: str, tables: Collection[str] | None
) -> tuple[list[SegmentFile], list[str]]:
    """Return the files of ``tables``, of all for None, and warnings of missing segments.

    With None, a table without segments gives a warning. Raises SourceError for a requested table without
    segments, and if no table has any.
    """
    if tables is not None:
        return list(list_segments(segments_root, tables)), []
    files: list[SegmentFile] = []
    warnings: list[str] = []
    for table in segment_tables(segments_root):
        try:
            files.extend(list_segments(segments_root, [table]))
        except SourceOutage:
            raise
        except SourceError as error:
            warnings.append(str(error))
    if not files:
        raise SourceError(f"no table below {segments_root} has segments", source=segments_root)
    return files, warnings
