"""Keep the folders of tests in memory, where Linux lends enough: tests make very many small files.

On a disk, what the kernel does for a file takes three times as long.
"""

from __future__ import annotations

import os
from pathlib import Path

_MEMORY = Path("/dev/shm")
_ROOT = "PYTEST_DEBUG_TEMPROOT"
"""The place of pytest's folders; whoever sets it decides."""
_LEAST_FREE_BYTES = 16 << 30
"""The tests' programs take half of it."""


def pytest_configure() -> None:
    """Have pytest make its folders in memory, unless a place is given."""
    if _ROOT not in os.environ and _has_room(_MEMORY, Path("/proc/meminfo")):
        os.environ[_ROOT] = str(_MEMORY)


def _has_room(memory: Path, facts: Path) -> bool:
    if not (memory.is_dir() and os.access(memory, os.W_OK) and facts.exists()):
        return False
    found = os.statvfs(memory)
    # Tests run programs that they have written.
    if found.f_flag & os.ST_NOEXEC:
        return False
    lines = dict(line.split(":", 1) for line in facts.read_text().splitlines())
    available_bytes = int(lines["MemAvailable"].split()[0]) << 10
    return min(found.f_bavail * found.f_frsize, available_bytes) >= _LEAST_FREE_BYTES
