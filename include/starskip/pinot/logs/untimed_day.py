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
    changed = _last_change(path, log_time_zone)
    return changed is None or changed >= run_date


def _last_change(path: str, log_time_zone: str) -> date | None:
    try:
        changed = Path(path).stat().st_mtime
    except (OSError, ValueError):
        return None  # not on this machine's file system
    return datetime.fromtimestamp(changed, ZoneInfo(log_time_zone)).date()
