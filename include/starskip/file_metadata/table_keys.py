"""Names of the keys by which a table's metadata is encrypted, and data keys wrapped by them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

from starskip.file_metadata.collect_order import FILES


class WrappedKey(NamedTuple):
    """A data key wrapped by the key ``name``, as WrappingKey.wrap returns it."""

    name: str
    wrapped: str


@dataclass(frozen=True, slots=True)
class TableKeys:
    """``indexes``: key names by specification; ``listing``: the key name for file names, if any.

    ``checks``: for each name a wrapped data key that encrypts no file; it shows whether a key is the right
    one.
    """

    indexes: Mapping[str, str] = field(default_factory=dict)
    listing: str | None = None
    checks: Mapping[str, str] = field(default_factory=dict)

    def of_group(self, group: str) -> str | None:
        """Return the name of the key of a group of columns, None if it is not encrypted."""
        return self.listing if group == FILES else self.indexes.get(group)

    @property
    def names(self) -> frozenset[str]:
        """The names of all keys in use."""
        return frozenset(self.indexes.values()) | ({self.listing} if self.listing is not None else set())

    def to_document(self) -> dict[str, Any]:
        """Return the keys as a JSON document, empty if nothing is encrypted."""
        if not self.names:
            return {}
        checks = {name: check for name, check in self.checks.items() if name in self.names}
        return {"indexes": dict(self.indexes), "listing": self.listing, "checks": checks}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """Return the keys of a document that ``to_document`` made."""
        if not document:
            return cls()
        return cls(document["indexes"], document["listing"], document["checks"])
