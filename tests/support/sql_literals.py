"""Literals as SQL has them."""

from __future__ import annotations


def quoted(text: str) -> str:
    """Write a text as standard SQL, DuckDB's and Pinot's alike."""
    return "'" + text.replace("'", "''") + "'"
