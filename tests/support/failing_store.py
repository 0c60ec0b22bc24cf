"""A store whose every call can be made to fail once, or to be the last, for tests of what is left behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from starskip.errors import StorageError


class Killed(BaseException):
    """Ends a writer as kill -9 does: no handler of an error goes on, and none of its calls takes effect."""


@dataclass
class FailingStore:
    """A store whose call number ``fault_at`` fails, before or after it took effect.

    ``is_deadly``: the writer is killed there, and what it still calls on its way out has no effect.
    """

    inner: Any
    fault_at: int = 0
    after: bool = False
    is_deadly: bool = False
    methods: tuple[str, ...] = ("put_if_absent", "read", "delete", "objects_below", "folders_in")
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in self.methods:
            return method

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if self.is_deadly and len(self.calls) > self.fault_at:
                raise Killed
            if len(self.calls) != self.fault_at:
                return method(*arguments)
            if self.after:
                method(*arguments)
            if self.is_deadly:
                raise Killed
            raise StorageError("injected", location=name)

        return call

    def faults(self) -> list[tuple[int, bool, bool]]:
        """Return the faults that the calls so far can have: number, whether behind it, whether deadly.

        A call that only reads has no effect that could be lost.
        """
        writes = [n for n, name in enumerate(self.calls, 1) if name in ("put_if_absent", "delete")]
        found = [(number, False, False) for number in range(1, len(self.calls) + 1)]
        return found + [(number, True, is_deadly) for number in writes for is_deadly in (False, True)]
