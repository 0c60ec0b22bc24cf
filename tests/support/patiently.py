"""Run a step again until it is through, as nights do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starskip.errors import CommitConflict, StorageError


def patiently(step: Callable[[], Any]) -> None:
    """Do what a night does: an error of the store or of many writers means that the step is run again."""
    for _ in range(50):
        try:
            step()
        except (StorageError, CommitConflict):
            continue
        return
    raise AssertionError("never through")
