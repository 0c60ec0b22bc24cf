"""Prints what was found beside the aim of the issue, and whether it is reached."""

from __future__ import annotations

EQUAL_MS = 0.05
"""Times that differ by less are equal: a timer and a scheduler add as much."""


class WrongRows(Exception):
    """Two ways of answering one question gave different rows."""


def print_verdict(found: str, aim: str, *, is_reached: bool) -> None:
    """Print a line of what was found, the aim, and pass or fail."""
    print(f"{'pass' if is_reached else 'FAIL'}: {found}; aim: {aim}", flush=True)


def within(ms: float, least: float, ratio: float) -> bool:
    """Return whether a time is at most ``ratio`` times another one, or equal to it."""
    return ms <= ratio * least or ms - least < EQUAL_MS
