"""Counts the bytes that are read for one piece of work, wherever below it they are read.

A footer or block that a reader kept from an earlier query is not read again, and not counted.
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
    """Count the bytes that this thread reads in the block; an outer block does not count them again."""
    found = BytesRead()
    token = _counting.set(found)
    try:
        yield found
    finally:
        _counting.reset(token)


def sharing_count() -> Callable[[], None]:
    """Return a function by which a pool's thread adds its reads to the calling thread's count."""
    found = _counting.get()

    def share() -> None:
        _counting.set(found)

    return share


def add_bytes_read(count: int) -> None:
    """Add bytes that were read to the thread's count, if there is one."""
    found = _counting.get()
    if found is not None:
        found.bytes += count
