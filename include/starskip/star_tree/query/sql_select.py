"""Parse SQL text into one SELECT of sqlglot, within bounds of length and nesting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, DialectType
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from starskip.errors import UnsupportedQuery, first_line
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.parsed_query import MAX_NESTING, nesting
from starskip.sql.pinot_dialect import PinotDialect
from starskip.sql.query_options import split_options

MAX_TEXT_CHARACTERS = 100_000
"""Parsed and answered within seconds; lists of thousands of keys, as machines write them, fit."""

DIALECTS: dict[str, DialectType] = {"pinot": PinotDialect, "spark": "spark"}
"""The dialects of SQL that are understood, by the name that a user gives."""

_QUERY = re.compile(r"[( ]*(?:select|with)\b", re.IGNORECASE)


@contextmanager
def bounded_depth() -> Iterator[None]:
    """Turn a RecursionError into UnsupportedQuery: not all nesting shows in brackets (``a::int::int…``)."""
    try:
        yield
    except RecursionError as error:
        raise UnsupportedQuery("the query is nested too deeply", reason="too_deep") from error


@bounded_depth()
def sql_select(sql: str, dialect: str) -> exp.Select:
    """Return the one SELECT in ``sql``, without Pinot's ``SET …;`` and ``OPTION(…)`` around it.

    Raises UnsupportedQuery with a reason "too_long", "too_deep", "syntax" or "not_a_select".
    """
    if len(sql) > MAX_TEXT_CHARACTERS:
        raise UnsupportedQuery(
            f"the query has {len(sql):,} characters; at most {MAX_TEXT_CHARACTERS:,} are parsed",
            reason="too_long",
        )
    _, skeleton = split_options(normalize_sql(sql).skeleton)
    if nesting(skeleton) > MAX_NESTING:
        raise UnsupportedQuery(f"the query is nested deeper than {MAX_NESTING} levels", reason="too_deep")
    if not _QUERY.match(skeleton):
        # sqlglot would take it for a command of its own and write a warning to the log.
        raise _not_a_select()
    try:
        found = Dialect.get_or_raise(DIALECTS[dialect]).parser().parse(select_tokens(sql, dialect), sql)
    except (SqlglotError, ValueError, TypeError, AttributeError) as error:
        # sqlglot leaks the last three on text that no SQL parser was made for.
        raise _not_parsed(error) from error
    select = found[0] if len(found) == 1 else None
    while isinstance(select, exp.Subquery) and not select.alias:
        select = select.this
    if not isinstance(select, exp.Select):
        raise _not_a_select()
    return select


def select_tokens(sql: str, dialect: str) -> list[Token]:
    """Return the tokens of the query, without the options that Pinot takes around it.

    Raises UnsupportedQuery with a reason "syntax" or "not_a_select".
    """
    try:
        tokens = list(Dialect.get_or_raise(DIALECTS[dialect]).tokenize(sql))
    except SqlglotError as error:
        raise _not_parsed(error) from error
    statements: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            statements.append([])
        else:
            statements[-1].append(token)
    queries = [each for each in statements if each and each[0].token_type != TokenType.SET]
    if len(queries) != 1:
        raise _not_a_select()
    return _without_option(queries[0])


def _without_option(tokens: list[Token]) -> list[Token]:
    """Cut ``OPTION(timeoutMs=1)`` off the end."""
    while tokens and tokens[-1].token_type == TokenType.R_PAREN:
        start = _last_bracket(tokens) - 1
        if start < 1 or tokens[start].text.upper() != "OPTION":
            break
        tokens = tokens[:start]
    return tokens


def _last_bracket(tokens: Sequence[Token]) -> int:
    return max((i for i, token in enumerate(tokens) if token.token_type == TokenType.L_PAREN), default=0)


def _not_parsed(error: Exception) -> UnsupportedQuery:
    return UnsupportedQuery(f"the query cannot be parsed: {first_line(error)}", reason="syntax")


def _not_a_select() -> UnsupportedQuery:
    return UnsupportedQuery("not one SELECT", reason="not_a_select")
