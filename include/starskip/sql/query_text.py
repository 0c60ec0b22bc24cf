"""Restore a query text from its skeleton and its literals."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.sql.normalize_sql import SLOT
from starskip.sql.redacted_text import REDACTED


def query_text(skeleton: str, literals: Sequence[Sequence[str]]) -> str:
    """Return a query text as it was logged, but for its comments, options and white space."""
    pieces = skeleton.split(SLOT)
    shown = (", ".join(map(_sql_literal, values)) for values in literals)
    return "".join(piece + value for piece, value in zip(pieces, [*shown, ""], strict=False))


def _sql_literal(text: str) -> str:
    if text.startswith(REDACTED):
        return REDACTED
    return "'" + text[1:].replace("'", "''") + "'" if text.startswith("'") else text
