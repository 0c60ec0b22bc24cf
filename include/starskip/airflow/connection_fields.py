"""Read the fields of an Airflow connection, and know those that nobody has read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

STANDARD_FIELDS = ("login", "password", "host", "schema", "port")
"""The fields of a connection beside its extra."""


class ConnectionFields:
    """The fields of one connection, by their names, each to be read once; empty ones are not there."""

    def __init__(self, conn_type: str, given: Mapping[str, Any]) -> None:
        """Keep the fields; in older connections the names in the extra begin with the type."""
        prefix = f"extra__{conn_type}__"
        self._left = {
            name.removeprefix(prefix): value for name, value in given.items() if value not in (None, "", {})
        }

    def text(self, name: str) -> str:
        """Return a field as text, "" if there is none."""
        value = self._left.pop(name, "")
        if not isinstance(value, str | int | float):
            raise ValueError(f"{name} is not a text")
        return str(value)

    def flag(self, name: str) -> bool:
        """Return whether a field says yes."""
        return str(self._left.pop(name, "")).lower() in ("true", "1", "yes")

    def mapping(self, name: str) -> Mapping[str, Any]:
        """Return a field that is a JSON object, or the text of one; {} if there is none."""
        value = self._left.pop(name, {})
        try:
            found = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            found = None
        if not isinstance(found, Mapping):
            raise ValueError(f"{name} is not a JSON object")
        return found

    def pair(self, first: str, second: str) -> tuple[str, ...]:
        """Return two fields that go together, () if there is neither."""
        values = self.text(first), self.text(second)
        if any(values) and not all(values):
            given, missing = (first, second) if values[0] else (second, first)
            raise ValueError(f"{given} is given without {missing}")
        return values if all(values) else ()

    def ignore(self, *names: str) -> None:
        """Take fields as read that concern other work."""
        for name in names:
            self._left.pop(name, None)

    def require_all_read(self) -> None:
        """Refuse, by their names, the fields that nobody has read."""
        if self._left:
            of_extra = [name for name in self._left if name not in STANDARD_FIELDS]
            names = [name for name in STANDARD_FIELDS if name in self._left]
            raise ValueError(f"{', '.join(names + [f'extra {name}' for name in of_extra])}: not understood")
