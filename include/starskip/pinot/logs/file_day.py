"""Derive the day of log records without a time from their file: the date in its path, or its last change."""

from __future__ import annotations

import re
from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

_DAY = re.compile(r"(?<!\d)(20\d\d)([-_./]?)(\d\d)\2(\d\d)(?:\d\d|\d{4}|\d{6})?(?!\d)")
_ENDING = re.compile(r"(?:\.(?:log|txt|json|jsonl|out|\d+|gz|zst))+$")
_SLASHES = re.compile(r"(?<!:)//+")
_READ_CHARACTERS = 4_096


def file_day(path: str) -> date | None:
    """Return the last date in ``path``: ``logs/2026-11-18/broker-3.log``, ``events.20261118.gz``.

    An hour or a time may follow a date that is written without separators. None if there is no date.
    """
    for year, _, month, day in reversed(_DAY.findall(path[-_READ_CHARACTERS:])):
        try:
            return date(int(year), int(month), int(day))
        except ValueError:
            continue
    return None


def log_source(path: str) -> str:
    """Return what names the writer of a log file: its path without dates and without numbers of rotation.

    ``logs/broker-3-2026-11-18.log.2.gz`` and ``logs/broker-3-2026-11-19.log`` are of ``logs/broker-3``.
    """
    folder, slash, name = path.rpartition("/")
    matched = _DAY.search(name)
    kept = name[: matched.start()] if matched else _ENDING.sub("", name)
    if matched and not kept.strip("-_."):
        kept = _ENDING.sub("", name[matched.end() :])
    return _SLASHES.sub("/", _DAY.sub("", folder) + slash) + kept.strip("-_.")


def may_be_of_day(path: str, run_date: date, log_time_zone: str) -> bool:
    """Return whether records without a time in the file ``path`` may belong to ``run_date``.

    They may if the path names that day, or if it names no day and the file was last changed on that day or
    later. The change time of objects in a store is not looked up.
    """
    named = file_day(path)
    if named is not None:
        return named == run_date
    changed = last_changed_day(path, log_time_zone)
    return changed is None or changed >= run_date


def last_changed_day(path: str, log_time_zone: str) -> date | None:
    """Return the day of a file's last change, None if it is not on this machine's file system."""
    try:
        changed = Path(path).stat().st_mtime
    except (OSError, ValueError):
        return None
    return datetime.fromtimestamp(changed, ZoneInfo(log_time_zone)).date()
