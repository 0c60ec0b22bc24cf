"""The table and the read options that metadata was collected with; no other metadata is used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class TableSource:
    """The path, format and reading of a table.

    ``path`` as Hadoop writes it. ``read_signature``: every setting, option and schema on which the values
    that are read from the same bytes depend. ``options`` are those of the reader, with which a refresh reads
    the table again.
    """

    path: str
    file_format: str
    read_signature: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def generation(self) -> str:
        """A digest that differs for every other path, format or read signature."""
        text = json.dumps([self.path, self.file_format, dict(self.read_signature)], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def to_document(self) -> dict[str, Any]:
        """Return the source as a JSON document."""
        return {
            "path": self.path,
            "file_format": self.file_format,
            "fingerprint": dict(self.read_signature),
            "options": dict(self.options),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the source of a document that ``to_document`` made."""
        return cls(document["path"], document["file_format"], document["fingerprint"], document["options"])
