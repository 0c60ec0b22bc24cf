"""Convert times of a log to wall-clock times of the log's time zone.

A line without an offset was written by a clock of that zone and stays as it is; one that carries an offset
(``Z``, ``+01:00``) names an instant, which is converted to that zone. A wall-clock day is what a person
means by the day: it has 23 or 25 hours when clocks change, and each record belongs to exactly one.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

Milliseconds = npt.NDArray[np.int64]

_QUARTER_MS = 15 * 60 * 1000
"""Clocks change at whole quarters of an hour in UTC, wherever they change."""


def wall_clock(times_ms: Milliseconds, utc_offsets: Sequence[bytes | None], zone: str) -> Milliseconds:
    """Return the wall-clock milliseconds in ``zone`` (IANA name) of times written with these offsets.

    ``utc_offsets``: of each time ``Z``, ``+hh:mm``, ``+hhmm`` or None, for a time of the zone's own clock.
    """
    shifts = {text: _offset_ms(text) for text in set(utc_offsets) if text is not None}
    stamped = np.array([text is not None for text in utc_offsets], dtype=bool)
    written = np.array([shifts.get(text, 0) if text else 0 for text in utc_offsets], dtype=np.int64)
    instants = times_ms - written
    return np.where(stamped, instants + _zone_shifts_ms(instants, stamped, zone), times_ms)


def _zone_shifts_ms(instants: Milliseconds, wanted: npt.NDArray[np.bool_], zone: str) -> Milliseconds:
    quarters, positions = np.unique(np.where(wanted, instants, 0) // _QUARTER_MS, return_inverse=True)
    shifts = np.array([_shift_ms(zone, int(quarter)) for quarter in quarters], dtype=np.int64)
    return shifts[positions]


@lru_cache(maxsize=20_000)
def _shift_ms(zone: str, quarter: int) -> int:
    """Return what the zone's clock is ahead of UTC in a quarter of an hour since 1970."""
    try:
        instant = datetime.fromtimestamp(quarter * _QUARTER_MS / 1000, UTC)
        shift = instant.astimezone(ZoneInfo(zone)).utcoffset()
    except (OverflowError, ValueError, OSError):  # the first and the last day of the calendar
        return 0
    return 0 if shift is None else shift // timedelta(milliseconds=1)


def _offset_ms(text: bytes) -> int:
    if text == b"Z":
        return 0
    digits = text[1:].replace(b":", b"")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (-1 if text.startswith(b"-") else 1) * minutes * 60_000
