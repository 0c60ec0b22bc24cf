"""Published reports as plain files under plain names: ``<night>/<table>/report.html``."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from starskip.errors import SourceError, StorageError
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.file_access import FileAccess
from starskip.storage.files.full_disk import full_disk, is_full_disk
from starskip.storage.local_storage import LocalStorage
from starskip.storage.staged_write import file_safe, is_plain_name


def export_reports(
    store: ArtefactStore,
    run_date: str,
    folder: Path,
    tables: Collection[str] | None = None,
    access: FileAccess | None = None,
) -> Mapping[str, Mapping[str, Path]]:
    """Copy the reports of one night, of all tables by default, to ``folder/<run_date>/<table>/``.

    ``access``: their modes, by default as the mask of the process has them.

    Returns table to file name to path. Each file is replaced as a whole, so that an open page never shows
    half of one. Raises SourceError if the night has no reports. Raises StorageError naming a file that cannot
    be written, or naming a folder of the store, whose vacuum would remove the copies.
    """
    root = store.storage.root if isinstance(store.storage, LocalStorage) else None
    if root is not None and folder.resolve().is_relative_to(root.resolve()):
        raise StorageError(
            f"{folder} lies in the folder of the artefacts, {root}, where copies do not last: choose another",
            location=str(folder),
        )
    snapshot = store.snapshot("reports", run_date)
    if snapshot is None:
        raise SourceError(f"no reports of {run_date}: run that night first", source=run_date)
    # A table whose report could not be written has a part without files.
    parts = {table: part for table, part in snapshot.parts(tables).items() if part.files}
    exported: dict[str, Mapping[str, Path]] = {}
    for table, name in _folder_names(parts).items():
        paths = {}
        for file in parts[table].files:
            paths[file.file_name] = folder / run_date / name / file.file_name
            _write(paths[file.file_name], snapshot.read_file(file), access)
        exported[table] = paths
    return exported


def _folder_names(tables: Collection[str]) -> dict[str, str]:
    """Return a folder name for each table: its own if it is plain and unique, ignoring case."""
    folded = [table.casefold() for table in tables]
    return {
        table: table if is_plain_name(table) and folded.count(table.casefold()) == 1 else file_safe(table)
        for table in sorted(tables)
    }


def _write(path: Path, content: bytes, access: FileAccess | None) -> None:
    staged = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        staged.write_bytes(content)
        if access is not None:
            # Set the modes of the folders of the table and of the night; the folder above is the reader's
            # own.
            for each in (path.parent.parent, path.parent):
                each.chmod(access.folder_mode)
            staged.chmod(access.file_mode)
        staged.replace(path)
    except OSError as error:
        if is_full_disk(error):
            raise full_disk(error, path.parent) from error
        raise StorageError(f"{path}: cannot be written: {error.strerror}", location=str(path)) from error
