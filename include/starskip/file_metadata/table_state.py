"""The state of one version of a table's metadata, as a value and as the parts of a manifest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from starskip.errors import StorageError
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_keys import TableKeys
from starskip.file_metadata.table_source import TableSource
from starskip.storage.manifest import Part

ARTEFACT = "skipping"
CREATED_BY = "starskip skipping"
"""Author of the commits of skipping's commands and functions."""
FORMAT_VERSION = 1
ENCRYPTED_FORMAT_VERSION = 2
"""Version of metadata with an encrypted part, which programs of the former version cannot read."""
_TABLE = "table"
_SEGMENT = "segment/"


@dataclass(frozen=True, slots=True)
class TableState:
    """``indexes``: by specification, whether each is active; deleted ones may be restored."""

    source: TableSource
    indexes: Mapping[str, bool]
    segments: Mapping[str, Segment]
    keys: TableKeys = field(default_factory=TableKeys)

    @property
    def active(self) -> tuple[str, ...]:
        """The specifications of the active indexes, sorted."""
        return tuple(sorted(index for index, is_active in self.indexes.items() if is_active))

    @property
    def current(self) -> Mapping[str, Segment]:
        """The segments of the present source; others do not count."""
        generation = self.source.generation
        return {name: segment for name, segment in self.segments.items() if segment.generation == generation}

    def to_parts(self) -> dict[str, Part]:
        """Return the parts of a manifest."""
        table = {
            "format_version": FORMAT_VERSION,
            "source": self.source.to_document(),
            "indexes": dict(self.indexes),
        }
        keys = self.keys.to_document()
        if keys:
            table |= {"format_version": ENCRYPTED_FORMAT_VERSION, "keys": keys}
        segments = {_SEGMENT + name: segment.to_part() for name, segment in self.segments.items()}
        return {_TABLE: Part((), table), **segments}

    @classmethod
    def from_parts(cls, parts: Mapping[str, Part]) -> Self | None:
        """Return the state of the parts that ``to_parts`` wrote, None if nothing was ever created.

        Raises StorageError for metadata of another format version.
        """
        if _TABLE not in parts:
            return None
        table = parts[_TABLE].properties
        if table.get("format_version") not in (FORMAT_VERSION, ENCRYPTED_FORMAT_VERSION):
            raise StorageError(
                f"the metadata has format {table.get('format_version')!r}, not {FORMAT_VERSION} or "
                f"{ENCRYPTED_FORMAT_VERSION}: use the version of Starskip that wrote it, or create it anew "
                "elsewhere",
                location=_TABLE,
            )
        segments = {
            name.removeprefix(_SEGMENT): Segment.from_part(part)
            for name, part in parts.items()
            if name.startswith(_SEGMENT)
        }
        keys = TableKeys.from_document(table.get("keys", {}))
        return cls(TableSource.from_document(table["source"]), table["indexes"], segments, keys)
