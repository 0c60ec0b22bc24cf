"""Hide passwords and keys of a table configuration before a report shows it.

A REALTIME table's ``streamConfigs`` and a batch source's properties hold them in plain text.
"""

from __future__ import annotations

import re
from typing import Any

HIDDEN = "(hidden: as in your table config)"
"""Placeholder of a secret."""

_SECRET = re.compile(
    r"passw|secret|credential|jaas|(?:^|[._-])token$|(?:access|private|api|account|encryption)[._-]?key"
    r"|(?:auth|bearer|sas|access|session)[._-]?token",
    re.IGNORECASE,
)
_USER_IN_URL = re.compile(r"(?<=://)[^/@\s]+:[^/@\s]+(?=@)")
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")


def without_secrets(document: Any) -> tuple[Any, tuple[str, ...]]:
    """Return the JSON ``document`` with secrets as HIDDEN, and the paths of what was hidden, in its order.

    Secret is the text under a key that is named like one, and user and password in a URL. What a variable
    such as ``${KAFKA_PASSWORD}`` stands for is not in the document, and the variable stays.
    """
    hidden: list[str] = []
    return _shown(document, "", hidden), tuple(hidden)


def _shown(value: Any, path: str, hidden: list[str]) -> Any:
    if isinstance(value, dict):
        return {key: _field(key, each, f"{path}.{key}".lstrip("."), hidden) for key, each in value.items()}
    if isinstance(value, list):
        return [_shown(each, f"{path}[{number}]", hidden) for number, each in enumerate(value)]
    if isinstance(value, str) and _USER_IN_URL.search(value):
        hidden.append(path)
        return _USER_IN_URL.sub("(hidden)", value)
    return value


def _field(key: str, value: Any, path: str, hidden: list[str]) -> Any:
    if _SECRET.search(key) and isinstance(value, str) and value and not _PLACEHOLDER.fullmatch(value):
        hidden.append(path)
        return HIDDEN
    return _shown(value, path, hidden)
