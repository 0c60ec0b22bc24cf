"""Map locations of logged scans to the configured tables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/*")
_SAME = {"s3a": "s3", "s3n": "s3", "wasbs": "az", "abfss": "az"}


def plain_location(location: str) -> str:
    """Normalise a path or URL: ``/lake/t`` for ``file:///lake/t/``, ``s3://b/t`` for ``s3a://b/t``.

    A name of a catalog's table, ``lake.sales.orders``, stays as it is.
    """
    if "/" not in location:
        return location
    found = _SCHEME.match(location)
    if found is None:
        return Path(location).absolute().as_posix() if location else ""
    scheme = found[1].lower()
    rest = location[found.end() :].rstrip("/")
    return f"/{rest}" if scheme == "file" else f"{_SAME.get(scheme, scheme)}://{rest}"


class TableLocations:
    """The tables by normalised location."""

    __slots__ = ("_tables",)

    def __init__(self, tables: Mapping[str, str]) -> None:
        """Take the table of each location; a table may have several, such as its location in a log."""
        self._tables = {plain_location(location): table for location, table in tables.items()}

    def table_at(self, location: str) -> str | None:
        """Return the table at a location or the nearest one above it, None if there is none."""
        place = plain_location(location)
        while place:
            if place in self._tables:
                return self._tables[place]
            place = place.rpartition("/")[0]
        return None
