"""Published reports as plain files under names that people know: ``<night>/<table>/report.html``."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from starskip.artefacts.artefact_store import ArtefactStore
from starskip.artefacts.aside import file_safe
from starskip.errors import SourceError, StorageError

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,90}")


def export_reports(
    store: ArtefactStore, run_date: str, folder: Path, tables: Collection[str] | None = None
) -> Mapping[str, Mapping[str, Path]]:
    """Copy the reports of one night, of all tables by default, to ``folder/<run_date>/<table>/``.

    Returns table to file name to path. Each file is replaced as a whole, so that an open page never shows
    half of one. Raises SourceError if the night has no reports, StorageError naming a file that cannot be
    written.
    """
    snapshot = store.snapshot("reports", run_date)
    if snapshot is None:
        raise SourceError(f"no reports of {run_date}: run that night first", source=run_date)
    parts = snapshot.parts(tables)
    exported: dict[str, Mapping[str, Path]] = {}
    for table, name in _folder_names(parts).items():
        paths = {}
        for file in parts[table].files:
            # Aside.write_file puts 32 hexadecimal digits and a dash before the name that it is given.
            file_name = file.name.rpartition("/")[2].partition("-")[2]
            paths[file_name] = folder / run_date / name / file_name
            _write(paths[file_name], snapshot.read_file(file))
        exported[table] = paths
    return exported


def _folder_names(tables: Collection[str]) -> dict[str, str]:
    """Return a folder name a table, its own where that is plain and none other equals it but for case."""
    folded = [table.casefold() for table in tables]
    return {
        table: table
        if _PLAIN_NAME.fullmatch(table) and folded.count(table.casefold()) == 1
        else file_safe(table)
        for table in sorted(tables)
    }


def _write(path: Path, content: bytes) -> None:
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside.write_bytes(content)
        aside.replace(path)
    except OSError as error:
        raise StorageError(f"{path}: cannot be written: {error.strerror}", location=str(path)) from error
