"""A segment: files that were collected together, with one group of columns for each index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from starskip.file_metadata.table_keys import WrappedKey
from starskip.storage.manifest import DataFile, Part


@dataclass(frozen=True, slots=True)
class Segment:
    """``rows``: one for each file, the same in ``files`` and in each of ``groups`` (by specification).

    Rows are never rewritten: ``removed``, of this segment or a later one, lists dead rows. ``generation``:
    the generation of the TableSource that was read. ``keys``: data keys of the encrypted groups, FILES among
    them.
    """

    rows: int
    generation: str
    files: tuple[DataFile, ...] = ()
    groups: Mapping[str, tuple[DataFile, ...]] = field(default_factory=dict)
    removed: tuple[DataFile, ...] = ()
    keys: Mapping[str, WrappedKey] = field(default_factory=dict)

    def to_part(self) -> Part:
        """Return the segment as a part of a manifest."""
        names: list[DataFile] = []

        def kept(files: tuple[DataFile, ...]) -> list[int]:
            names.extend(files)
            return list(range(len(names) - len(files), len(names)))

        properties: dict[str, Any] = {
            "rows": self.rows,
            "generation": self.generation,
            "files": kept(self.files),
            "groups": {index: kept(files) for index, files in sorted(self.groups.items())},
            "removed": kept(self.removed),
        }
        if self.keys:
            properties["keys"] = {group: list(key) for group, key in sorted(self.keys.items())}
        return Part(tuple(names), properties)

    @classmethod
    def from_part(cls, part: Part) -> Self:
        """Return the segment of a part that ``to_part`` wrote."""
        of = part.properties

        def named(positions: list[int]) -> tuple[DataFile, ...]:
            return tuple(part.files[position] for position in positions)

        groups = {index: named(positions) for index, positions in of["groups"].items()}
        keys = {group: WrappedKey(*key) for group, key in of.get("keys", {}).items()}
        return cls(of["rows"], of["generation"], named(of["files"]), groups, named(of["removed"]), keys)
