"""A least-recently-used cache that is bounded by the sum of its values' sizes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class NewestValues(Generic[Key, Value]):
    """Safe for threads; a value larger than ``room`` is not kept."""

    def __init__(self, room: int) -> None:
        """Keep values of at most ``room`` in all, in the unit of their sizes."""
        self._room = room
        self._held = 0
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    @property
    def held(self) -> int:
        """Return the sum of the kept sizes."""
        return self._held

    def get(self, key: Key) -> Value | None:
        """Return the value of a key, which makes it the newest; None if it is not kept."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def keep(self, key: Key, value: Value, size: int = 1) -> None:
        """Keep a value in place of the oldest ones, unless its key has a value."""
        with self._lock:
            if key in self._values or size > self._room:
                return
            self._values[key] = value, size
            self._held += size
            while self._held > self._room:
                _, (_, freed) = self._values.popitem(last=False)
                self._held -= freed
