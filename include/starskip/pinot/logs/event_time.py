"""Read the time that a JSON object names, whatever its unit."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any

WHOLE_NUMBER = re.compile(r"-?\d{1,19}")
_ISO_TIME = re.compile(
    r"(\d{4}[-/]\d\d[-/]\d\d(?:[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,3})?)?)\d{0,6} ?(Z|UTC|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def event_time(value: Any, day: date | None = None) -> tuple[bytes | None, bytes | None]:
    """Return the time as in a log line: wall clock, and its offset if it has one.

    ``value``: ISO 8601, a count since 1970 as number or text, or Log4j's ``instant``; ``day`` stands in for a
    value that is no time.
    """
    if isinstance(value, dict) and isinstance(value.get("epochSecond"), int):
        nanoseconds = value.get("nanoOfSecond")
        value = value["epochSecond"] + (nanoseconds / 1e9 if isinstance(nanoseconds, int) else 0)
    if isinstance(value, str):
        if found := _ISO_TIME.fullmatch(value.strip()):
            clock = found[1] if len(found[1]) > 10 else found[1] + " 00:00:00"
            offset = "Z" if found[2] == "UTC" else found[2]
            return clock.encode(), offset.encode() if offset else None
        value = int(value) if WHOLE_NUMBER.fullmatch(value) else None
    if isinstance(value, int | float) and not isinstance(value, bool):
        try:
            moment = _EPOCH + timedelta(milliseconds=_milliseconds(value))
        except (OverflowError, ValueError):
            return None, None
        return moment.replace(tzinfo=None).isoformat(" ", "milliseconds").encode(), b"Z"
    return (f"{day} 00:00:00".encode(), None) if day else (None, None)


def _milliseconds(value: float) -> float:
    """Return a count of seconds, milli-, micro- or nanoseconds since 1970 as milliseconds, by its size."""
    size = abs(value)
    if size < 1e11:
        return value * 1000
    if size < 1e14:
        return value
    return value / 1e3 if size < 1e17 else value / 1e6
