"""Files of an application's event log, in the order in which they were written.

A log is one file, or a folder ``eventlog_v2_APP`` of rolled ones, ``events_NUMBER_APP``. The History Server
may have compacted the older of them into one, ``….compact``, which stands for all up to its number (Spark
4.2, RollingEventLogFilesFileReader).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from starskip.errors import SourceError
from starskip.storage.files.list_folder import list_folder
from starskip.storage.files.log_files import log_files

_ROLLED = re.compile(r"events_(\d{1,18})_.+?(\.compact)?")
_FOLDER = "eventlog_v2_"
_STATUS = "appstatus_"
_RUNNING = ".inprogress"


@dataclass(frozen=True, slots=True)
class EventLog:
    """One application's log, named as its folder or file; if it ``is_running``, the last line may be cut."""

    name: str
    files: tuple[str, ...]
    is_running: bool


def event_logs(paths: Sequence[str]) -> tuple[EventLog, ...]:
    """Return the logs at paths or URLs: of files, of folders of logs, of globs; each once, sorted by name.

    Raises SourceError for a path that names nothing. A folder without logs is empty, not an error.
    """
    single: list[EventLog] = []
    rolled: dict[str, list[str]] = {}
    for file in sorted({file for path in paths for file in _files_at(path)}):
        folder, _, name = file.rpartition("/")
        if folder.rpartition("/")[2].startswith(_FOLDER):
            rolled.setdefault(folder, []).append(name)
        else:
            single.append(EventLog(name, (file,), name.endswith(_RUNNING)))
    logs = [*single, *(_rolled_log(folder, names) for folder, names in rolled.items())]
    return tuple(sorted(logs, key=lambda log: (log.name, log.files)))


def _files_at(path: str) -> Iterator[str]:
    try:
        listing = list_folder(path)
    except (NotADirectoryError, FileNotFoundError):
        yield from log_files([path])
        return
    except OSError as error:
        raise SourceError(f"cannot list the folder {path}: {error.strerror}", source=path) from error
    yield from _plain(file.path for file in listing.files)
    for name in listing.folders:
        if name.startswith(_FOLDER):
            yield from _plain(file.path for file in list_folder(f"{path.rstrip('/')}/{name}").files)


def _plain(files: Iterator[str]) -> Iterator[str]:
    return (file for file in files if file.rpartition("/")[2][0] not in "._")


def _rolled_log(folder: str, names: Sequence[str]) -> EventLog:
    matched = [found for name in names if (found := _ROLLED.fullmatch(name))]
    compacted = max((int(found[1]) for found in matched if found[2]), default=0)
    kept = [
        found for found in matched if int(found[1]) > compacted or (int(found[1]) == compacted and found[2])
    ]
    files = [f"{folder}/{found[0]}" for found in sorted(kept, key=lambda found: int(found[1]))]
    is_running = any(name.startswith(_STATUS) and name.endswith(_RUNNING) for name in names)
    return EventLog(folder.rpartition("/")[2], tuple(files), is_running)
