"""What a table of files was when its metadata was collected; metadata of another one is not trusted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class TableSource:
    """``path`` as Hadoop writes it; ``fingerprint``: all that may make other values of the same bytes.

    ``options`` are those of the reader, by which the table is read again at a refresh.
    """

    path: str
    file_format: str
    fingerprint: Mapping[str, str]
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def generation(self) -> str:
        """A name that is another one for another fingerprint."""
        text = json.dumps([self.path, self.file_format, dict(self.fingerprint)], sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]

    def to_document(self) -> dict[str, Any]:
        """Return the source as plain JSON."""
        return {
            "path": self.path,
            "file_format": self.file_format,
            "fingerprint": dict(self.fingerprint),
            "options": dict(self.options),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the source that ``to_document`` wrote."""
        return cls(document["path"], document["file_format"], document["fingerprint"], document["options"])
