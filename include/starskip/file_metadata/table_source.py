"""The table and the read options that metadata was collected with; no other metadata is used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

_COLLECTED_AS = 2
"""Version of the way in which values are collected.

Metadata of an older version may be wrong: no query uses it, and the next refresh collects it anew.
"""


@dataclass(frozen=True, slots=True)
class TableSource:
    """The path, format and reading of a table.

    ``path`` as Hadoop writes it. ``read_signature``: every setting, option and schema that changes the values
    read from the same bytes. ``options``: the reader's options, with which a refresh reads the table again.
    """

    path: str
    file_format: str
    read_signature: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def generation(self) -> str:
        """A digest that differs for every other path, format, read signature or way of collecting."""
        text = json.dumps(
            [self.path, self.file_format, dict(self.read_signature), _COLLECTED_AS], sort_keys=True
        )
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
