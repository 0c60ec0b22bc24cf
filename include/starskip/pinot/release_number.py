"""Parse a Pinot version into a release number that sorts."""

from __future__ import annotations


def release_number(pinot_version: str) -> tuple[int, ...]:
    """Return (0, 11) of 0.11.0, or (1, 2) of 1.2.0-SNAPSHOT."""
    return tuple(int(part) for part in pinot_version.partition("-")[0].split(".")[:2])
