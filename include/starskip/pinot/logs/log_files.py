"""List the files of a log, and cut them into splits.

A path or URL is a file, a folder or a glob. A folder stands for the files directly in it, except names that
begin with ``.`` or ``_``, as in Spark. Plain files are cut by byte range, compressed ones are read whole. The
compression of a file is read from its first bytes, not from its name.
"""

from __future__ import annotations

import glob
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from starskip.errors import MissingSource, SourceError
from starskip.pinot.logs.record_start import SNIFFED_BYTES, is_binary
from starskip.storage.files.object_files import object_files
from starskip.storage.files.object_url import ObjectUrl, local_path, object_url
from starskip.storage.files.open_file import file_head

Compression = Literal["none", "gzip", "zstd"]
_MAGIC: tuple[tuple[bytes, Compression], ...] = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))


@dataclass(frozen=True, slots=True)
class LogSplit:
    """A piece of a log file: the records that start at a byte in [start, end); ``end`` None = to the end."""

    path: str
    start: int
    end: int | None
    compression: Compression


def log_files(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the files that the paths name, each once and sorted.

    Raises SourceError for a path that names nothing, or neither a file nor a folder. A folder without files
    is an empty log, not an error.
    """
    found: dict[Path | str, str] = {}
    for path in paths:
        url = object_url(path)
        if url is not None:
            found.update((file, file) for file in _objects(url))
        else:
            for local in _expanded(path):
                found.setdefault(local.resolve(), str(local))
    return tuple(sorted(found.values()))


def log_splits(files: Iterable[str], split_bytes: int) -> tuple[LogSplit, ...]:
    """Cut files into splits of at most ``split_bytes``; a file that cannot be read as text is one split.

    The sizes are the current ones: lines that are appended later are not read.
    """
    if split_bytes < 1:
        raise ValueError(f"split_bytes must be at least 1, not {split_bytes}")
    return tuple(split for file in files for split in _file_splits(file, split_bytes))


def _objects(url: ObjectUrl) -> list[str]:
    files = object_files(url)
    if not files:
        raise MissingSource(f"no log file at {url}: check the URL", source=str(url))
    return files


def _expanded(path: str) -> list[Path]:
    if not path.strip():
        raise SourceError("an empty path names no log: give a file, a folder or a glob", source=path)
    path = str(local_path(path))
    try:
        # Path.glob takes no absolute pattern.
        matches = [path] if Path(path).exists() else glob.glob(path, recursive=True)  # noqa: PTH207
    except OSError as error:
        raise SourceError(f"cannot read {path}: {error.strerror}", source=path) from error
    if not matches:
        raise MissingSource(f"no log file at {path}: check the path", source=path)
    return [file for match in matches for file in _files_of(Path(match))]


def _files_of(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise SourceError(f"{path} is neither a file nor a folder", source=str(path))
    try:
        return [entry for entry in path.iterdir() if entry.is_file() and entry.name[0] not in "._"]
    except OSError as error:
        raise SourceError(f"cannot list the folder {path}: {error.strerror}", source=str(path)) from error


def _file_splits(file: str, split_bytes: int) -> list[LogSplit]:
    try:
        head, size = file_head(file, SNIFFED_BYTES)
    except OSError:
        return [LogSplit(file, 0, None, "none")]  # reading it reports why, beside the other files' records
    for magic, compression in _MAGIC:
        if head.startswith(magic):
            return [LogSplit(file, 0, None, compression)]
    if is_binary(head):
        return [LogSplit(file, 0, None, "none")]
    return [
        LogSplit(file, start, min(start + split_bytes, size), "none")
        for start in range(0, max(size, 1), split_bytes)
    ]
