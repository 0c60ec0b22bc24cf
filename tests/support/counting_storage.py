"""A storage that counts the requests that it gets, by their kind."""

from __future__ import annotations

from collections import Counter
from typing import Any


class CountingStorage:
    """Passes each call on to ``inner``, and counts it in ``calls``."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.calls = inner, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.inner, name)
        if not callable(method):
            return method

        def call(*arguments: Any) -> Any:
            self.calls[name] += 1
            return method(*arguments)

        return call
