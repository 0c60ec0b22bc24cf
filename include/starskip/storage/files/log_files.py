"""List the files of a log.

A path or URL is a file, a folder or a glob. A folder stands for the files directly in it, except names that
begin with ``.`` or ``_``, as in Spark.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

from starskip.errors import MissingSource, SourceError, SourceOutage
from starskip.storage.files.file_identity import FileIdentity, file_identity
from starskip.storage.files.local_file import local_failures
from starskip.storage.files.object_files import object_files
from starskip.storage.files.object_url import ObjectUrl, local_path, object_url


def log_files(paths: Sequence[str]) -> tuple[str, ...]:
    """Return the files that the paths name, each once and sorted; errors as of ``listed_logs``."""
    return tuple(file.path for file in listed_logs(paths))


def listed_logs(paths: Sequence[str]) -> tuple[FileIdentity, ...]:
    """Return the files that the paths name with their identities, each once and sorted.

    Raises SourceError for a path that names nothing, or neither a file nor a folder. A folder without files
    is an empty log, not an error.
    """
    found: dict[Path | str, FileIdentity] = {}
    for path in paths:
        url = object_url(path)
        if url is not None:
            found.update((file.path, file) for file in _objects(url))
        else:
            for local in _expanded(path):
                found.setdefault(local.resolve(), _identity(local))
    return tuple(sorted(found.values(), key=lambda file: file.path))


def _identity(path: Path) -> FileIdentity:
    try:
        return file_identity(path)
    except SourceOutage:
        raise
    except SourceError:
        return FileIdentity(str(path), 0)  # gone since it was listed; whoever reads it says why


def _objects(url: ObjectUrl) -> list[FileIdentity]:
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
        with local_failures(path):
            is_name = Path(path).exists()
        matches = [path] if is_name else glob.glob(path, recursive=True)  # noqa: PTH207
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
        with local_failures(path):
            return [entry for entry in path.iterdir() if entry.is_file() and entry.name[0] not in "._"]
    except OSError as error:
        raise SourceError(f"cannot list the folder {path}: {error.strerror}", source=str(path)) from error
