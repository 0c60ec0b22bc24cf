"""Mask literals in SQL text from logs, parseable or not, so that reports show shapes and no data."""

from __future__ import annotations

import re

from starskip.errors import printable
from starskip.sql.literal_spans import MAX_READ as MAX_READ
from starskip.sql.literal_spans import without_literals

MAX_TEXT = 2_000

_FAILURE = re.compile(r"\[(?P<condition>[A-Z][A-Z0-9_.]+)\] (?P<words>[^:]*)(?P<value>: .*)?", re.DOTALL)
_PATTERN = re.compile(r"'(?:\?%|%\?%?)'")
"""Patterns in the shape of a LIKE predicate: the open end of the pattern decides which index serves it."""


def mask_literals(text: str, *, quoted_names: bool = False) -> str:
    r"""Return ``text`` on one line of at most MAX_TEXT characters, its literals as ``?``, comments dropped.

    Everything in quotes of any kind counts as a literal. With ``quoted_names`` the text is SQL, where double
    quotes and backticks hold names, which stay. A quoted name is masked all the same if it is an alias, since
    an alias may be any text, or if it looks like data: an address, a long number. An unterminated quote runs
    to the end. Every word that starts with a digit is a number. Whether a backslash escapes a quote, and
    whether ``$$`` is a quote, depends on the dialect: text that is a literal under any reading is masked.
    Control characters come out escaped. A prefix of a text is masked as the whole text is, so a cut text is
    safe. Linear, looks at MAX_READ characters, never raises.
    """
    return _on_one_line(without_literals(text, quoted_names=quoted_names))


def mask_failure(text: str) -> str:
    """Return the error message of a failed Spark query, masked; values are quoted or end a sentence."""
    found = _FAILURE.search(text)
    if found is None:
        return mask_literals(text)
    words = "" if found["condition"] == "USER_RAISED_EXCEPTION" else found["words"]
    message = f"[{found['condition']}] {words}".rstrip()
    return mask_literals(f"{text[: found.start()]}{message}{': ?' if found['value'] and words else ''}")


def mask_condition(skeleton: str) -> str:
    """Return the shape of a predicate, masked if it holds literals other than ``?`` and patterns of it."""
    masked = _on_one_line(without_literals(skeleton, quoted_names=True, has_aliases=False))
    return skeleton if _PATTERN.sub("?", skeleton) == masked else masked


def _on_one_line(text: str) -> str:
    return printable(" ".join(text.split()), MAX_TEXT)
