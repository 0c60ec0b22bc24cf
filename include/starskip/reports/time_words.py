"""Words for what advice saves of a query's time, for the unit of its choice, and for its age."""

from __future__ import annotations

from datetime import date

from starskip.number_text import decimal

_BUSY_RATIO = 0.05
"""A log is called busy if queries wait for more than this share of their time."""
NO_LATENCIES = "Chosen by entries scanned, since the log has no latencies."


def time_words(saving_ms: float, ms_per_query: float, low_ms: float, high_ms: float) -> str:
    """Return ``3.2 ms of 5.83 ms a query (90 % interval 2.6 to 3.8 ms)``."""
    interval = f"{decimal(low_ms)} to {_ms(high_ms)}"
    return f"{_ms(saving_ms)} of {_ms(ms_per_query)} a query (90 % interval {interval})"


def choice_words(
    model: str, r2: float | None, mistrust: str, ms_per_query: float, waiting_ms: float, *, is_by_time: bool
) -> str:
    """Return a sentence: what the choice was made by, and how good the latency model is."""
    by = "Chosen by time" if is_by_time else "Chosen by entries scanned"
    if mistrust:
        return f"{by}; {mistrust}."
    words = f"{by}; the latency model ({model}) has R² {decimal(r2)} out of sample"
    if waiting_ms >= _BUSY_RATIO * ms_per_query:
        words += f"; of a query's time {_ms(waiting_ms)} is waiting for others"
    return f"{words}."


def age_words(night: date, today: date | None) -> str:
    """Return how long ago a night was if that is before yesterday, ``9 days ago``; empty otherwise."""
    days = (today - night).days if today else 0
    return f"{days} days ago" if days > 1 else ""


def _ms(value: float) -> str:
    return f"{decimal(value)} ms"
