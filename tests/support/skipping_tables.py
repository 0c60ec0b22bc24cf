"""Tables whose files are old enough for their metadata to be trusted."""

from __future__ import annotations

import os
from pathlib import Path

OLD_S = 1_767_225_600


def aged(folder: Path) -> None:
    """Make all files of a table look as if they had been written long ago."""
    for path in folder.rglob("*"):
        if path.is_file() and "_starskip" not in path.parts:
            os.utime(path, (OLD_S, OLD_S))
