"""Delete files of an Iceberg snapshot, and which of them name rows of a data file.

Iceberg's specification, "Scan planning": a position delete or a deletion vector applies to data files of its
own partition with its sequence number or an older one. An equality delete applies to older data files: of its
own partition, or of all if it has none.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from starskip.lake.plain_paths import plain_path
from starskip.lake.table_snapshot import DELETES

_POSITION, _EQUALITY = 1, 2
_PATH_COLUMN = 2147483546
"""The reserved field id of the column of position deletes that names data files."""
_Numbered = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Entry:
    """A live file of a manifest: its fields by the names that were asked for, with what it inherits.

    ``added``: the number of the commit that added the file, see ``_added`` of ``iceberg_manifests``.
    """

    file: dict[str, Any]
    sequence: int
    added: int
    spec_id: int
    partition: tuple[Any, ...]


class DeleteFiles:
    """Collects delete files, each with a number, and finds the delete files of a data file."""

    def __init__(self) -> None:
        self._rows: list[dict[str, Any]] = []
        self._vectors: dict[str, _Numbered] = {}
        self._of_path: dict[str, _Numbered] = {}
        self._positions: dict[tuple[int, tuple[Any, ...]], _Numbered] = {}
        self._equalities: dict[tuple[int, tuple[Any, ...]], _Numbered] = {}
        self._everywhere: _Numbered = []
        self._is_sorted = True

    def add(self, entry: Entry) -> None:
        """Keep a delete file."""
        file = entry.file
        numbered = entry.sequence, len(self._rows)
        kind = "equality" if file["content"] == _EQUALITY else "position"
        referenced = file["referenced"] or _only_path(file)
        if kind == "equality":
            place = (
                self._equalities.setdefault((entry.spec_id, entry.partition), [])
                if entry.partition
                else self._everywhere
            )
        elif str(file["file_format"]).upper() == "PUFFIN":
            kind = "vector"
            place = self._vectors.setdefault(plain_path(referenced or ""), [])
        elif referenced is not None:
            place = self._of_path.setdefault(plain_path(referenced), [])
        else:
            place = self._positions.setdefault((entry.spec_id, entry.partition), [])
        place.append(numbered)
        self._is_sorted = False
        self._rows.append(
            {
                "kind": kind,
                "path": plain_path(file["path"]),
                "offset": file["offset"],
                "size_bytes": file["content_bytes"] or file["size_bytes"],
                "rows": file["rows"],
                "equality_ids": file["equality_ids"],
                "file_format": str(file["file_format"]).lower(),
            }
        )

    def numbers_for(self, entry: Entry) -> list[int] | None:
        """Return the numbers of the delete files that may name rows of a data file, None for none."""
        if not self._rows:
            return None
        self._sort()
        path = plain_path(entry.file["path"])
        spec = entry.spec_id, entry.partition
        own = _from(self._vectors.get(path, ()), entry.sequence)
        if not own:
            # A deletion vector includes all position deletes before it.
            own = _from(self._of_path.get(path, ()), entry.sequence)
            own += _from(self._positions.get(spec, ()), entry.sequence)
        own += _after(self._equalities.get(spec, ()), entry.sequence)
        own += _after(self._everywhere, entry.sequence)
        return sorted(own) or None

    def table(self) -> pa.Table:
        """Return the delete files as columns of DELETES, by their numbers."""
        return pa.Table.from_pylist(self._rows, DELETES)

    def _sort(self) -> None:
        if self._is_sorted:
            return
        self._is_sorted = True
        for found in (self._vectors, self._of_path, self._positions, self._equalities):
            for numbered in found.values():
                numbered.sort()
        self._everywhere.sort()


def _from(files: Sequence[tuple[int, int]], sequence: int) -> list[int]:
    return [number for _, number in files[bisect_left(files, (sequence, -1)) :]]


def _after(files: Sequence[tuple[int, int]], sequence: int) -> list[int]:
    return [number for _, number in files[bisect_right(files, sequence, key=lambda each: each[0]) :]]


def _only_path(file: dict[str, Any]) -> str | None:
    """Return the one data file that a file of position deletes names, by its bounds; None for several."""
    bounds = [(file[name] or {}).get(_PATH_COLUMN) for name in ("lower", "upper")]
    return bounds[0].decode() if bounds[0] is not None and bounds[0] == bounds[1] else None
