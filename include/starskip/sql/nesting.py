"""Bound the nesting depth of SQL text without parsing it."""

from __future__ import annotations

import re

MAX_NESTING = 60
"""The parser is recursive: deeper text would exhaust the stack, and is no basis for advice."""

_NOTS = re.compile(r"(?>(?:\bnot\s+){4,})", re.IGNORECASE)


def nesting(skeleton: str) -> int:
    """Return an upper bound for a text without literals: open brackets, and chains of NOT. Linear."""
    depth = deepest = 0
    for character in skeleton:
        if character in "([":
            depth += 1
            deepest = max(deepest, depth)
        elif character in ")]":
            depth -= 1
    return max(deepest, max((len(run[0]) // 4 for run in _NOTS.finditer(skeleton)), default=0))
