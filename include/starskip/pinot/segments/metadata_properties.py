"""Parse the text of ``metadata.properties`` and ``index_map``, as Apache Commons Configuration writes it.

Two dialects: in the first, keys are escaped and end at the first ``=``, ``:`` or blank; a first
line ``# version=2`` (Pinot 1.0 and later) means keys as they are, up to the first `` = ``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Properties = Mapping[str, Sequence[str]]
"""Key to its value at every occurrence; values are unescaped but not yet split at commas."""

_BLANKS = "".join(map(chr, range(33)))
_VERSION_2 = re.compile(r"[#!]\s*version\s*=\s*2\s*")
_LINE = re.compile(r"((?:\\.|[^\\=:\s])*)(?:\s*[=:]\s*|\s+)?(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED_CHARACTERS = {"r": "\r", "n": "\n", "t": "\t", "f": "\f", "b": "\b"} | {c: c for c in ":#=!\\'\""}
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_properties(content: bytes) -> Properties:
    """Return every key with its values in the order of the file; any bytes parse to something."""
    # Commons Configuration writes Latin-1 and escapes the rest.
    text = content.decode("latin-1").replace("\r\n", "\n").replace("\r", "\n")
    first_line, _, _ = text.partition("\n")
    keys_as_they_are = _VERSION_2.fullmatch(first_line.strip(_BLANKS)) is not None
    found: dict[str, list[str]] = {}
    for line in _logical_lines(text):
        if keys_as_they_are and " = " in line:
            key, _, value = line.partition(" = ")
        else:
            match = _LINE.match(line)
            assert match is not None, "every part of the pattern may be empty"
            key, value = _unescape(match[1], keep_unknown=False), match[2]
        found.setdefault(key, []).append(_unescape(value, keep_unknown=True))
    return found


def list_values(properties: Properties, key: str) -> tuple[str, ...]:
    """Return the items of a list, written as one comma value, as repeated keys, or both."""
    items = (item.strip(_BLANKS) for value in properties.get(key, ()) for item in _split_at_commas(value))
    return tuple(item for item in items if item)


def single_value(properties: Properties, key: str) -> str | None:
    """Return the value of a key that is no list, None where it is missing.

    Pinot hides commas and outer blanks of values behind NUL characters, which values cannot hold.
    """
    values = properties.get(key)
    if not values:
        return None
    value = ",".join(_split_at_commas(values[0])) if "\\" in values[0] else values[0]
    if "\0" not in value:
        return value
    value = value[1:] if value.startswith("\0 ") else value
    value = value[:-1] if value.endswith(" \0") else value
    return value.replace("\0\0", ",")


def _logical_lines(text: str) -> list[str]:
    lines = []
    started: list[str] = []
    for physical in text.split("\n"):
        line = physical.strip(_BLANKS)
        if not started and (not line or line[0] in "#!"):
            continue
        if line.endswith("\\") and (len(line) - len(line.rstrip("\\"))) % 2:
            started.append(line[:-1])
            continue
        lines.append("".join(started) + line if started else line)
        started = []
    return lines + (["".join(started)] if started else [])


def _unescape(text: str, *, keep_unknown: bool) -> str:
    if "\\" not in text:
        return text

    def character(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        return _ESCAPED_CHARACTERS.get(code, match[0] if keep_unknown else code)

    unescaped = _ESCAPE.sub(character, text)
    if _SURROGATE.search(unescaped):
        return unescaped.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return unescaped


def _split_at_commas(value: str) -> list[str]:
    """Split at commas without a backslash before them; escaped commas and backslashes lose theirs."""
    if "\\" not in value:
        return value.split(",")
    items = [""]
    for part in re.split(r"(\\[\\,]|,)", value):
        if part == ",":
            items.append("")
        else:
            items[-1] += part[1:] if part in ("\\,", "\\\\") else part
    return items
