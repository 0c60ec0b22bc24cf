"""Create the folder of the checkout's own Airflow, readable by its owner alone."""

from __future__ import annotations

import os
from pathlib import Path


def private_home(home: Path) -> Path:
    """Make ``home`` and its ``logs`` for us alone; return the latter.

    It holds passwords, the key that sessions are signed with, and logs. What this process and its children
    write elsewhere from now on, such as artefacts, which hold queries with their literals, is kept from
    others; what its group may do stays as the caller's own mask has it.
    """
    os.umask(os.umask(0o077) | 0o007)
    logs = home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    return logs
