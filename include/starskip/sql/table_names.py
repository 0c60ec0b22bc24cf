"""Find the tables that a query text reads from, without parsing it."""

from __future__ import annotations

import re

READ_CHARACTERS = 100_000
"""A FROM further behind is not looked for."""

_NAME = r'(?:"(?>(?:[^"]++|"")*)"|`[^`]*+`|[\w$-]++)'
_TOKEN = re.compile(
    rf"""
    (?P<comment> --[^\n]*+ | /\*(?>(?:[^*]++|\*(?!/))*)(?:\*/|\Z) )
  | (?P<string> '(?>(?:[^']++|'')*)(?:'|\Z) )
  | (?P<bracket> [()] )
  | (?P<name> {_NAME}(?>(?:\.{_NAME})*) )
    """,
    re.VERBOSE,
)
_QUOTES = str.maketrans("", "", "\"`'")


def table_names(text: str) -> tuple[str, ...]:
    """Return the distinct names behind FROM and JOIN, unquoted, in text order.

    FROM inside a function, as in ``EXTRACT(YEAR FROM day)``, names no table: only a SELECT's FROM does. A
    table may be quoted in any way (PQL may write it as a string). Linear, never raises.
    """
    found: dict[str, None] = {}
    is_select: list[bool | None] = [True]  # an open bracket each; None until its first word
    awaited = False
    for token in _TOKEN.finditer(text, 0, READ_CHARACTERS):
        match token.lastgroup:
            case "comment":
                continue
            case "bracket":
                awaited = False
                if token[0] == "(":
                    is_select.append(None)
                elif len(is_select) > 1:
                    is_select.pop()
                continue
        word = token[0].lower()
        if is_select[-1] is None:
            is_select[-1] = word in ("select", "with")
        if awaited:
            found[token[0].translate(_QUOTES)] = None
        awaited = bool(is_select[-1]) and word in ("from", "join")
    return tuple(name for name in found if name)
