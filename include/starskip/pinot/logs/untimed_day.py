"""Which night a record without a time belongs to, by what is known of its file."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from starskip.pinot.logs.file_day import file_day


def may_be_of_day(path: str, run_date: date, log_time_zone: str) -> bool:
    """Tell whether records without a time in the file ``path`` count to ``run_date``.

    Its path names that day; or it names none, and the file was not last changed before that day began, so
    that it can hold records of it. Of objects in a store no change is asked for.
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
