"""Counts the bytes that are read for one piece of work, wherever below it they are read.

What is kept from before is not read, so readers that keep footers or blocks tell of those they load.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class BytesRead:
    """The bytes so far."""

    bytes: int = 0


_counting: ContextVar[BytesRead | None] = ContextVar("counting", default=None)


@contextmanager
def counted_bytes() -> Iterator[BytesRead]:
    """Count what this thread reads until the end of the block; an inner count takes it from an outer one."""
    found = BytesRead()
    token = _counting.set(found)
    try:
        yield found
    finally:
        _counting.reset(token)


def sharing_count() -> Callable[[], None]:
    """Return what a thread of a pool calls at its start, so that its reads count for who asks now."""
    found = _counting.get()

    def share() -> None:
        _counting.set(found)

    return share


def add_bytes_read(count: int) -> None:
    """Tell of bytes that were read, which nobody may count."""
    found = _counting.get()
    if found is not None:
        found.bytes += count
