"""Find the tarred segments of tables under ``segmentDirectory/tableNameWithoutType`` (seed 000, III.2)."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from starskip.errors import SourceError

SEGMENT_SUFFIXES = (".tar.gz", ".tgz", ".tar")
DELETED_SEGMENTS = "Deleted_Segments"
_GZIP_MAGIC = b"\x1f\x8b"


@dataclass(frozen=True, slots=True)
class SegmentFile:
    """One tarred segment on disk; ``segment`` is the file's name without its suffix."""

    table: str
    segment: str
    path: str
    size_bytes: int
    modified_ns: int


def list_segments(root: str | Path, tables: Iterable[str] | None = None) -> tuple[SegmentFile, ...]:
    """Return the segment files of ``tables`` (of every table folder when None), by table and name.

    Raises SourceError when the root, an asked-for table or a table's segments are missing.
    """
    folder = Path(root)
    known = segment_tables(root)
    wanted = known if tables is None else tuple(sorted(set(tables)))
    if not wanted:
        raise SourceError(f"segment directory {root} holds no table folders", source=str(root))
    for table in wanted:
        if table not in known:
            listing = ", ".join(known) or "none"
            raise SourceError(f"unknown table {table}: {root} has segments of {listing}", source=table)
    return tuple(file for table in wanted for file in _segments_of(table, folder / table))


def segment_tables(root: str | Path) -> tuple[str, ...]:
    """Return the names of the table folders under ``root``, sorted; raises SourceError if it is no folder."""
    folder = Path(root)
    if not folder.is_dir():
        raise SourceError(f"segment directory {root} does not exist or is no folder", source=str(root))
    return tuple(sorted(f.name for f in _visible(folder) if f.is_dir() and f.name != DELETED_SEGMENTS))


def _segments_of(table: str, folder: Path) -> list[SegmentFile]:
    files = []
    try:
        for path in _visible(folder):
            with suppress(FileNotFoundError):  # removed since it was listed
                segment = _segment_name(path)
                if segment is not None:
                    status = path.stat()
                    files.append(SegmentFile(table, segment, str(path), status.st_size, status.st_mtime_ns))
    except OSError as error:
        raise SourceError(f"table {table}: cannot read {folder}: {error.strerror}", source=table) from error
    if not files:
        raise SourceError(
            f"table {table} has no segments: {folder} holds no {', '.join(SEGMENT_SUFFIXES)} file",
            source=table,
        )
    return files


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _segment_name(path: Path) -> str | None:
    if not path.is_file():
        return None
    for suffix in SEGMENT_SUFFIXES:
        if path.name.endswith(suffix):
            return path.name.removesuffix(suffix)
    # Pinot's own deep store keeps a segment under its bare name.
    if "." not in path.name:
        with path.open("rb") as file:
            if file.read(2) == _GZIP_MAGIC:
                return path.name
    return None
