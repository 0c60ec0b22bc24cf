"""Name the columns of an answer where the SELECT gives them no alias.

The rule is Pinot's: the text as written, function names in lower case, blanks only between two words: ``SUM(
Impressions )`` is ``sum(Impressions)``. In Spark's dialect a comma is followed by a space, texts lose their
quotes and ``COUNT(*)`` is ``count(1)``, as Spark names them. Both dialects drop quotes around a column's
name.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

_OPENING = (TokenType.L_PAREN, TokenType.DOT)
_CLOSING = (TokenType.R_PAREN, TokenType.COMMA, TokenType.DOT, TokenType.L_PAREN)
_OPENED = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE)
_CLOSED = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE)
_WORDS_BEFORE_BRACKET = (TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.IN, TokenType.BETWEEN)


def answer_names(select: exp.Select, tokens: Sequence[Token], sql: str, dialect: str) -> tuple[str, ...]:
    """Return one name for each item of ``select``, which was parsed from ``tokens`` of ``sql``."""
    items = _items(tokens)
    if len(items) != len(select.expressions):
        # For text that the parser tolerates, such as a comma too many, the parsed expression gives the name.
        return tuple(item.alias_or_name or item.sql() for item in select.expressions)
    return tuple(
        item.alias
        if isinstance(item, exp.Alias)
        else item.name
        if isinstance(item, exp.Column)
        else _name(written, sql, dialect)
        for item, written in zip(select.expressions, items, strict=True)
    )


def _items(tokens: Sequence[Token]) -> list[list[Token]]:
    kinds = [token.token_type for token in tokens]
    start = _outermost_select(kinds) + 1
    if start < len(kinds) and kinds[start] in (TokenType.DISTINCT, TokenType.ALL):
        start += 1
    items: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[start:]:
        depth += (token.token_type in _OPENED) - (token.token_type in _CLOSED)
        if depth < 0 or (depth == 0 and token.token_type == TokenType.FROM):
            break
        if depth == 0 and token.token_type == TokenType.COMMA:
            items.append([])
        else:
            items[-1].append(token)
    return items


def _outermost_select(kinds: Sequence[TokenType]) -> int:
    """Return the position of the SELECT in the fewest brackets: the SELECTs of WITH stand in brackets."""
    found: list[tuple[int, int]] = []
    depth = 0
    for position, kind in enumerate(kinds):
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if kind == TokenType.SELECT:
            found.append((depth, position))
    return min(found)[1]


def _name(item: Sequence[Token], sql: str, dialect: str) -> str:
    text = ""
    for position, token in enumerate(item):
        after = item[position + 1] if position + 1 < len(item) else None
        before = item[position - 1] if position else None
        if before is not None and _spaced(before, token, dialect):
            text += " "
        text += _token_text(token, after, sql, dialect)
    return "count(1)" if dialect == "spark" and text == "count(*)" else text


def _spaced(before: Token, token: Token, dialect: str) -> bool:
    if before.token_type == TokenType.COMMA:
        return dialect == "spark"
    if token.token_type == TokenType.L_PAREN:
        return before.token_type in _WORDS_BEFORE_BRACKET
    return before.token_type not in _OPENING and token.token_type not in _CLOSING


def _token_text(token: Token, after: Token | None, sql: str, dialect: str) -> str:
    written = sql[token.start : token.end + 1]
    if token.token_type == TokenType.IDENTIFIER or (
        token.token_type == TokenType.STRING and dialect == "spark"
    ):
        return token.text
    if after is not None and after.token_type == TokenType.L_PAREN:
        return written.lower()
    return written
