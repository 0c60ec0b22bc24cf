"""Death of a process between any two of its writes to a local store."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from starskip.storage.local_storage import LocalStorage


def kill_at(number: int) -> None:
    """Let this process be killed before its write ``number``; behind a manifest counts as one more."""
    passed = 0

    def step() -> None:
        nonlocal passed
        passed += 1
        if passed == number:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(storage: LocalStorage, name: str, *content: bytes) -> Any:
            step()
            result = method(storage, name, *content)
            if "/manifests/" in name:
                step()
            return result

        return call

    for name in ("put_if_absent", "delete"):
        setattr(LocalStorage, name, counted(getattr(LocalStorage, name)))
