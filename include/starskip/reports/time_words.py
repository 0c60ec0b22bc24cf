"""Words for what advice saves of a query's time, and for the unit in which it was chosen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.number_text import decimal

_BUSY_RATIO = 0.05
"""A log is called busy if queries wait for more than this share of their time."""


def time_words(time: Mapping[str, Any] | None, latency: Mapping[str, Any] | None) -> str:
    """Return a clause on milliseconds a query; empty without a latency that can be trusted."""
    if time is None or latency is None or not latency["trusted"]:
        return ""
    low, high = time["interval_ms"]
    return (
        f"{_ms(time['saving_ms'])} of {_ms(time['ms_per_query'])} a query"
        f" (90 % interval {decimal(low)} to {_ms(high)})"
    )


def unit_words(unit: str, latency: Mapping[str, Any] | None) -> str:
    """Return a sentence without its full stop: what the choice was made by, and why."""
    if latency is None:
        return "chosen by entries scanned, since the log has no latencies"
    by = "time" if unit == "ms" else "entries scanned"
    if not latency["trusted"]:
        return f"chosen by {by}; {latency['mistrust']}"
    waiting = latency["waiting_ms"]
    words = f"chosen by {by}; the latency model ({latency['model']}) has R² {latency['r2']:.2f}"
    if waiting >= _BUSY_RATIO * latency["ms_per_query"]:
        words += f"; of a query's time {_ms(waiting)} is waiting for others"
    return words


def _ms(value: float) -> str:
    return f"{decimal(value)} ms"
