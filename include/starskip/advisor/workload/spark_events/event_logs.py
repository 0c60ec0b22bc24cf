"""Files of an application's event log, in the order in which they were written.

A log is one file, or a folder ``eventlog_v2_APP`` of rolled ones, ``events_NUMBER_APP``. The History Server
may have compacted the older of them into one, ``….compact``, which stands for all up to its number (Spark
4.2, RollingEventLogFilesFileReader). Databricks rolls ``eventlog`` to ``eventlog-2026-11-18--10-00.gz``; the
first line of each file names its Spark context and its number.

Files of an application in several folders are one log. A copy of a file, told by its first lines, does not
count again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import dropwhile, islice, pairwise

from starskip.advisor.workload.spark_events.event_lines import KEPT_BYTES, event_lines
from starskip.errors import SourceError
from starskip.storage.files.file_identity import FileIdentity
from starskip.storage.files.list_folder import list_folder
from starskip.storage.files.log_files import listed_logs
from starskip.storage.files.open_file import file_size

_ROLLED = re.compile(r"events_(\d{1,18})_.+?(\.compact)?")
_FOLDER = "eventlog_v2_"
_STATUS = "appstatus_"
_RUNNING = ".inprogress"
_COMPRESSED = r"(?:\.(?:gz|zstd|zst|lz4|lzf|snappy))"
_OF_DATABRICKS = re.compile(rf"eventlog(?:-(\d{{4}}-\d\d-\d\d[\dT_-]*))?{_COMPRESSED}?")
_CONTEXT = re.compile(rb'"SparkContext Id"\s*:\s*"?(-?\d{1,40})')
_HEAD_LINES = 12
"""Logs of one name differ in their first events, which tell hosts and times."""


@dataclass(frozen=True, slots=True)
class EventLog:
    """One application's log, named as its folder or file; if it ``is_running``, the last line may be cut."""

    name: str
    files: tuple[str, ...]
    is_running: bool


def event_logs(paths: Sequence[str], since_ns: int = 0) -> tuple[EventLog, ...]:
    """Return the logs at paths or URLs: of files, of folders of logs, of globs; each once, sorted by name.

    ``since_ns``: first files of a log that were last written before that time are left out, and so is a log
    of such files alone. Raises SourceError for a path that names nothing. A folder without logs is empty, not
    an error.
    """
    single: dict[str, list[str]] = {}
    rolled: dict[str, dict[str, list[str]]] = {}
    of_databricks: dict[str, list[str]] = {}
    listed = {file.path: file for file in event_log_files(paths)}
    for file in listed:
        folder, _, name = file.rpartition("/")
        of_folder = folder.rpartition("/")[2]
        if of_folder.startswith(_FOLDER):
            rolled.setdefault(of_folder, {}).setdefault(folder, []).append(file)
        elif _OF_DATABRICKS.fullmatch(name):
            of_databricks.setdefault(folder, []).append(file)
        else:
            stem = re.sub(rf"{_COMPRESSED}?(?:{re.escape(_RUNNING)})?$", "", name)
            single.setdefault(stem, []).append(file)
    logs = [
        *(EventLog(_name(f), (f,), _is_running(f)) for fs in single.values() for f in _without_copies(fs)),
        *(log for name, folders in rolled.items() for log in _rolled_logs(name, folders)),
        *_logs_of_databricks(of_databricks),
    ]

    def is_former(file: str) -> bool:
        return listed[file].is_older_than(since_ns)

    kept = [replace(log, files=tuple(dropwhile(is_former, log.files))) for log in logs]
    return tuple(sorted((log for log in kept if log.files), key=lambda log: (log.name, log.files)))


def event_log_files(paths: Sequence[str]) -> tuple[FileIdentity, ...]:
    """Return the files at paths or URLs, each once, by path; errors as in ``event_logs``."""
    found = {file.path: file for path in paths for file in _files_at(path)}
    return tuple(found[path] for path in sorted(found))


def rolled_numbers(files: Sequence[str]) -> list[int]:
    """Return the numbers of rolled files, in the order of the files."""
    return [int(found[1]) for file in files if (found := _ROLLED.fullmatch(_name(file)))]


def missing_numbers(numbers: Sequence[int]) -> str:
    """Return the numbers that lack between sorted ones: "2, 5 to 7"; empty if none does."""
    gaps = [(a + 1, b - 1) for a, b in pairwise(numbers) if b > a + 1]
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in gaps)


def _files_at(path: str) -> Iterator[FileIdentity]:
    try:
        listing = list_folder(path)
    except (NotADirectoryError, FileNotFoundError):
        yield from listed_logs([path])
        return
    except OSError as error:
        raise SourceError(f"cannot list the folder {path}: {error.strerror}", source=path) from error
    yield from _plain(listing.files)
    for name in listing.folders:
        if name.startswith(_FOLDER):
            yield from _plain(list_folder(f"{path.rstrip('/')}/{name}").files)


def _plain(files: Iterable[FileIdentity]) -> Iterator[FileIdentity]:
    return (file for file in files if _name(file.path)[0] not in "._")


def _name(file: str) -> str:
    return file.rpartition("/")[2]


def _is_running(file: str) -> bool:
    return file.endswith(_RUNNING)


def _rolled_logs(name: str, folders: Mapping[str, Sequence[str]]) -> Iterator[EventLog]:
    """Yield one log; one a folder, if two of them hold different files of one number."""
    if len(folders) == 1:
        yield from (_rolled_log(name, files) for files in folders.values())
        return
    status = [file for files in folders.values() for file in files if _name(file).startswith(_STATUS)]
    events = _without_copies([file for files in folders.values() for file in files if file not in status])
    together = _rolled_log(name, (*events, *status))
    if len(set(rolled_numbers(together.files))) == len(together.files):
        yield together
        return
    for files in folders.values():
        yield _rolled_log(name, [file for file in files if file in events or file in status])


def _rolled_log(name: str, files: Collection[str]) -> EventLog:
    numbered = [
        (int(found[1]), found[2], file) for file in files if (found := _ROLLED.fullmatch(_name(file)))
    ]
    compacted = max((number for number, is_compact, _ in numbered if is_compact), default=0)
    kept = sorted(
        (number, file)
        for number, is_compact, file in numbered
        if number > compacted or (number == compacted and is_compact)
    )
    is_running = any(_name(file).startswith(_STATUS) and _is_running(file) for file in files)
    return EventLog(name, tuple(file for _, file in kept), is_running)


def _logs_of_databricks(folders: Mapping[str, Sequence[str]]) -> Iterator[EventLog]:
    """Yield a log for each Spark context, or each folder whose files do not name theirs."""
    contexts: dict[str, list[str]] = {}
    for folder, files in folders.items():
        named = _CONTEXT.search(_head(sorted(files, key=_rolled_at)[0]))
        contexts.setdefault(named[1].decode() if named else folder, []).append(folder)
    for context, places in contexts.items():
        files = [file for place in places for file in folders[place]]
        if len(places) > 1:
            files = _without_copies(files)
        yield EventLog(_name(context), tuple(sorted(files, key=_rolled_at)), is_running=False)


def _rolled_at(file: str) -> tuple[bool, str, str]:
    """Return a key that sorts the files of a context by time: the one without a time is being written."""
    found = _OF_DATABRICKS.fullmatch(_name(file))
    rolled_at = found[1] if found else None
    return rolled_at is None, rolled_at or "", file


def _without_copies(files: Sequence[str]) -> list[str]:
    """Return the files, and of copies the one that holds the most, as far as their heads and sizes tell."""
    if len(files) < 2:
        return list(files)
    heads = {file: _head(file) for file in files}

    def most_first(file: str) -> tuple[int, bool, bool, int, str]:
        return -len(heads[file]), _is_running(file), _rolled_at(file)[0], -_size(file), file

    kept: list[str] = []
    for file in sorted(files, key=most_first):
        if not any(heads[other].startswith(heads[file]) for other in kept):
            kept.append(file)
    return kept


def _head(file: str) -> bytes:
    return b"\n".join(line.text[:KEPT_BYTES] for line in islice(event_lines(file), _HEAD_LINES))


def _size(file: str) -> int:
    try:
        return file_size(file)
    except OSError:
        return 0
