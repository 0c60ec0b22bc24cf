"""A store whose every call can be made to fail once, for tests of what is left behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from starskip.errors import StorageError


@dataclass
class FailingStore:
    """A store whose call number ``fault_at`` fails, before or after it took effect."""

    inner: Any
    fault_at: int = 0
    after: bool = False
    methods: tuple[str, ...] = ("put_if_absent", "read", "delete", "objects_below", "folders_in")
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if name not in self.methods:
            return method

        def call(*arguments: Any) -> Any:
            self.calls.append(name)
            if len(self.calls) != self.fault_at:
                return method(*arguments)
            if self.after:
                method(*arguments)
            raise StorageError("injected", location=name)

        return call
