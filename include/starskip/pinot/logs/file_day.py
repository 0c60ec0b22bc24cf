"""The day that a log file's path names: what is known of records in it that tell no time of their own."""

from __future__ import annotations

import re
from datetime import date

_DAY = re.compile(r"(?<!\d)(20\d\d)([-_./]?)(\d\d)\2(\d\d)(?:\d\d|\d{4}|\d{6})?(?!\d)")
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
