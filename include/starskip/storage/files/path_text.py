"""A path as text that can be stored: names on a disk are bytes, and need not be UTF-8."""

from __future__ import annotations


def path_text(path: str) -> str:
    """Return ``path`` with ``?`` for each byte that is no UTF-8; any other path as it is."""
    return path.encode("utf-8", "replace").decode("utf-8")
