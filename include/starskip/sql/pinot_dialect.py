"""Pinot's SQL as sqlglot's default dialect does not know it.

Pinot parses with Calcite: double quotes and backticks name columns, ``$`` is part of a name
(``$ts$DAY``). Nulls sort as if they were greater than any value. Its ``OPTION(…)`` suffix is cut off before
parsing (fingerprint).
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import tokens
from sqlglot.dialects.dialect import Dialect


class PinotDialect(Dialect):
    """Names may hold ``$`` and be quoted with double quotes or backticks."""

    NULL_ORDERING = "nulls_are_large"

    class Tokenizer(tokens.Tokenizer):
        """The tokenizer that sqlglot builds for this dialect."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]
        VAR_SINGLE_TOKENS: ClassVar[set[str]] = {"$"}
