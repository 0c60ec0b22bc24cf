"""Convert the path of a column or nested field to one name, ``address.city``, and back."""

from __future__ import annotations

import re

from starskip.errors import ConfigError

_PLAIN = re.compile(r"[^\s.,:`]+")
_PART = re.compile(r"`((?:[^`]|``)+)`|([^\s.,:`]+)")


def column_name(path: tuple[str, ...]) -> str:
    """Return the name of a path; a part with ``.``, ``,``, ``:``, a blank or ````` is quoted in backticks."""
    return ".".join(part if _PLAIN.fullmatch(part) else "`" + part.replace("`", "``") + "`" for part in path)


def column_path(name: str) -> tuple[str, ...]:
    """Parse a name into its path; raise ConfigError for an invalid name."""
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


def quoted(name: str) -> str:
    """Return a dotted column name as quoted SQL."""
    return ".".join(f"`{part.replace('`', '``')}`" for part in column_path(name))
