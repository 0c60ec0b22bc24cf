"""A real disk of a few kilobytes under a folder, for one command; it is gone when the command ends."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_AS_ROOT_OF_ITS_OWN = [] if os.getuid() == 0 else ["--user", "--map-root-user"]
_MOUNT_AND_RUN = 'mount -t tmpfs -o size="$1" tiny "$2" && shift 2 && exec "$@"'


def run_on_tiny_disk(
    folder: Path, size: str, command: Sequence[str | Path], environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``command`` with a disk of ``size``, such as 200k, mounted at ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    shell = ["sh", "-c", _MOUNT_AND_RUN, "sh", size, str(folder)]
    return subprocess.run(
        ["unshare", "--mount", *_AS_ROOT_OF_ITS_OWN, *shell, *map(str, command)],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=300,
    )
