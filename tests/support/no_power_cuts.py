"""Leave files unsynced in a process of tests: no power is cut there, and a kill keeps the page cache.

Syncing is most of what small files cost: their rows lie in the journal of the disk ten times as long as in
memory, and removing them waits for it once more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_power_cuts() -> Iterator[None]:
    """Have ``os.fsync`` do nothing; a test of a disk that refuses it puts its own there."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield
