"""Parse LIKE patterns as Spark does: ``%``, ``_`` and escapes."""

from __future__ import annotations

import re
from enum import Enum


class Wildcard(Enum):
    """The wildcards of a pattern."""

    ANY = "%"
    ONE = "_"


def like_parts(pattern: str, escape: str = "\\") -> tuple[str | Wildcard, ...] | None:
    """Return the literal texts and wildcards of a pattern in order, None for a pattern that Spark refuses."""
    parts: list[str | Wildcard] = []
    text: list[str] = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            escaped = next(characters, "")
            if escaped not in ("%", "_", escape):
                return None
            text.append(escaped)
        elif character in "%_":
            parts.extend(["".join(text)] if text else [])
            parts.append(Wildcard(character))
            text = []
        else:
            text.append(character)
    return (*parts, "".join(text)) if text else tuple(parts)


def like_prefix(pattern: str, escape: str = "\\") -> str:
    """Return the literal text before the first wildcard, empty if there is none."""
    first = (like_parts(pattern, escape) or (Wildcard.ANY,))[0]
    return first if isinstance(first, str) else ""


def like_suffix(pattern: str, escape: str = "\\") -> str:
    """Return the literal text after the last wildcard, empty if there is none."""
    last = (like_parts(pattern, escape) or (Wildcard.ANY,))[-1]
    return last if isinstance(last, str) else ""


def like_regex(pattern: str, escape: str = "\\") -> str | None:
    """Return the regular expression (RE2) for the whole text, None for a pattern that Spark refuses."""
    parts = like_parts(pattern, escape)
    if parts is None:
        return None
    translated = {Wildcard.ANY: ".*", Wildcard.ONE: "."}
    return (
        "(?s)^"
        + "".join(translated[part] if isinstance(part, Wildcard) else _quoted(part) for part in parts)
        + r"\z"
    )


def _quoted(text: str) -> str:
    return re.sub(r"[!-/:-@\[-`{-~]", r"\\\g<0>", text)
