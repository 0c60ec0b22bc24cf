"""Convert a path, whose bytes need not be UTF-8, to text that can be stored."""

from __future__ import annotations


def path_text(path: str) -> str:
    """Return ``path`` with ``?`` for each byte that is no UTF-8."""
    return path.encode("utf-8", "replace").decode("utf-8")
