"""Create the folder of the checkout's own Airflow, readable by its owner alone."""

from __future__ import annotations

import os
from pathlib import Path


def private_home(home: Path) -> Path:
    """Create ``home`` and its ``logs`` for this user alone; return the latter.

    It holds passwords, the key that sessions are signed with, and logs. From now on other users cannot read
    files that this process and its children write elsewhere, such as artefacts, which hold queries with their
    literals. The rights of the group stay as the caller's mask sets them.
    """
    os.umask(os.umask(0o077) | 0o007)
    logs = home / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    home.chmod(0o700)
    return logs
