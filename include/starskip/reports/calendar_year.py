"""Choose the months that one calendar shows: at most a year, the newest unless a reader asks for another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta

_MONTHS = 12


@dataclass(frozen=True, slots=True)
class CalendarYear:
    """Some whole months; ``older`` and ``newer`` are days of the years beside them, None without any."""

    first: date
    last: date
    older: date | None
    newer: date | None


def calendar_year(
    nights: Sequence[date], asked: Sequence[date], until: date | None, complete: date
) -> CalendarYear:
    """Return the months from the first night to the day ``until``.

    ``nights``: the nights in the store, newest first. ``asked``: days to be seen if there is no ``until``.
    ``complete``: the newest day that is over, behind which no month begins.
    """
    oldest = min([complete, *nights[-1:], *asked])
    newest_year, _ = months_until(complete, _MONTHS)
    end = until or (max(asked) if asked and oldest < newest_year else complete)
    first, last = months_until(min(end, complete), _MONTHS)
    first = max(first, min(oldest, last).replace(day=1))
    return CalendarYear(
        first,
        last,
        first - timedelta(days=1) if oldest < first else None,
        min(complete, last + timedelta(days=360)) if last < complete else None,
    )


def months_until(last: date, months: int) -> tuple[date, date]:
    """Return the first day of the ``months`` that end with the month of ``last``, and their last day."""
    behind = (last.replace(day=1) + timedelta(days=32)).replace(day=1)
    at = max(12, last.year * 12 + last.month - months)  # any date may stand in an address
    return date(at // 12, at % 12 + 1, 1), behind - timedelta(days=1)
