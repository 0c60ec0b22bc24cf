r"""Read queries that a broker logged on one line: ``\n`` for a line end, ``\r``, and ``\\`` for a backslash.

Source: `QueryLogger` of Pinot's master since September 2026 (pull request 19453). Its lines have the field
``workloadName``, as those of master since May 2026 have. Older lines have it not, and show a query as it
was sent. But lines are rewritten on their way, and queries copied into JSON events: so a text without these
fields is read as escaped, too, if a backslash stands where no SQL has one, outside literals and names.
"""

from __future__ import annotations

import re

_SINCE_ESCAPING = (b",workloadName=", b",approximatedResult=")
_SQL = re.compile(rb"(?>(?:\s|\\[nr])*)(?:(?:SELECT|WITH|SET|EXPLAIN|INSERT)\b|--|/\*|\()", re.IGNORECASE)
_ESCAPED = re.compile(rb"(?>(?:[^\\\n\r]++|\\[\\nr])*)")
_ESCAPE = re.compile(rb"\\([\\nr])")
_MEANING = {b"n": b"\n", b"r": b"\r", b"\\": b"\\"}
_PIECE = re.compile(
    rb"'[^']*+(?:'|\Z)|\"[^\"]*+(?:\"|\Z)|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/|\Z)"
    rb"|--(?>(?:[^\\]++|\\(?!n))*)(?P<comment>\\n(?=.)|)|(?P<outside>\\)",
    re.DOTALL,
)


def as_sent(query: bytes, fields_before: bytes = b"") -> bytes:
    """Return the query as the broker got it; ``fields_before``: its line up to the text.

    A text that the broker cut between the two characters of an escape stays as it is.
    """
    if b"\\" not in query or not _SQL.match(query) or not _ESCAPED.fullmatch(query):
        return query
    if not any(field in fields_before for field in _SINCE_ESCAPING) and not _has_backslash_outside(query):
        return query
    return _ESCAPE.sub(lambda escape: _MEANING[escape[1]], query)


def _has_backslash_outside(query: bytes) -> bool:
    """Return whether a backslash stands outside literals and names, or ends a comment as a line end does."""
    return any(piece["outside"] or piece["comment"] for piece in _PIECE.finditer(query))
