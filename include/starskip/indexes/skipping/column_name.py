"""A column's or nested field's path as one name and back: ``address.city``, backticks where needed."""

from __future__ import annotations

import re

from starskip.errors import ConfigError

_PLAIN = re.compile(r"[^\s.,:`]+")
_PART = re.compile(r"`((?:[^`]|``)+)`|([^\s.,:`]+)")


def column_name(path: tuple[str, ...]) -> str:
    """Return the one name of a path; a part that holds ``.``, ``,``, ``:``, a blank or ````` is quoted."""
    return ".".join(part if _PLAIN.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in path)


def column_path(name: str) -> tuple[str, ...]:
    """Return the path that a name tells of; raise ConfigError for what is no name."""
    path: list[str] = []
    at = 0
    while found := _PART.match(name, at):
        path.append(found[1].replace("``", "`") if found[1] else found[2])
        at = found.end()
        if at == len(name):
            return tuple(path)
        if name[at] != ".":
            break
        at += 1
    raise ConfigError(f"{name!r} is no column: write a.b.c, other names in backticks", setting="index")
