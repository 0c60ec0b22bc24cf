"""A sqlglot dialect for Pinot's SQL.

Pinot parses with Calcite: double quotes and backticks name columns, ``$`` is part of a name
(``$ts$DAY``). Nulls sort as if they were greater than any value. Options of a query are cut off before
parsing (normalize_sql). Pinot's functions take other arguments than those of the same name elsewhere:
``HOUR(ts, 'Europe/Berlin')``, ``BOOLOR(c)``. ``c NOT IN (…)`` is a predicate of its own, but Pinot runs
``NOT c IN (…)`` as a scan for IN whose result is inverted, at several times the entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp, generator, parser, tokens
from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import TokenType

_IS_INFIX = "is_infix"
"""Argument of a Not that stood behind its column."""


class PinotDialect(Dialect):
    """Names may hold ``$`` and be quoted with double quotes or backticks."""

    NULL_ORDERING = "nulls_are_large"

    class Tokenizer(tokens.Tokenizer):
        """The tokenizer that sqlglot builds for this dialect."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ['"', "`"]
        VAR_SINGLE_TOKENS: ClassVar[set[str]] = {"$"}
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **{word: kind for word, kind in tokens.Tokenizer.KEYWORDS.items() if word != "DIV"},
            "MATCH_CONDITION": TokenType.MATCH_CONDITION,
        }

    class Parser(parser.Parser):
        """The parser, which keeps where a NOT stood, and functions whose arguments only Pinot takes."""

        ID_VAR_TOKENS: ClassVar[set[TokenType]] = {
            *parser.Parser.ID_VAR_TOKENS,
            TokenType.MATCH_CONDITION,
        }
        TABLE_ALIAS_TOKENS: ClassVar[set[TokenType]] = parser.Parser.TABLE_ALIAS_TOKENS - {
            TokenType.MATCH_CONDITION
        }

        FUNC_TOKENS: ClassVar[set[TokenType]] = {*parser.Parser.FUNC_TOKENS, TokenType.AND, TokenType.OR}
        FUNCTIONS: ClassVar[dict[str, Callable[..., exp.Expr]]] = {
            **parser.Parser.FUNCTIONS,
            "AND": lambda args: exp.and_(*args, copy=False),
            "OR": lambda args: exp.or_(*args, copy=False),
        }

        def _parse_function_call(self, *args: Any, **options: Any) -> exp.Expr | None:
            called: list[str] = self.__dict__.setdefault("called", [])
            called.append(self._curr.text if self._curr else "")
            try:
                return super()._parse_function_call(*args, **options)
            finally:
                called.pop()

        def validate_expression(self, expression: Any, args: list[Any] | None = None) -> Any:
            """Return the expression, or a call of an unknown function if no other SQL takes its arguments."""
            if isinstance(expression, exp.Connector) and args is not None:
                return expression  # AND(a, b, c), as a tree of two operands each
            if args is not None and isinstance(expression, exp.Func) and _is_other(expression, args):
                called: list[str] = self.__dict__.get("called") or [expression.sql_name()]
                return exp.Anonymous(this=called[-1], expressions=args)
            return super().validate_expression(expression, args)

        def _negate_range(self, this: exp.Expr | None = None) -> exp.Expr | None:
            return _infix(super()._negate_range(this))

        def _parse_is(self, this: exp.Expr | None) -> exp.Expr | None:
            return _infix(super()._parse_is(this))

    class Generator(generator.Generator):
        """The generator, which puts a NOT where it stood."""

        def not_sql(self, expression: exp.Not) -> str:
            """Write ``c NOT IN (…)`` and ``c IS NOT NULL``, or NOT in front."""
            negated = expression.this
            if is_infix_not(expression) and isinstance(negated, exp.In | exp.Is):
                column, whole = self.sql(negated, "this"), self.sql(negated)
                if isinstance(negated, exp.Is):
                    return f"{column} IS NOT {whole.removeprefix(f'{column} IS ')}"
                return f"{column} NOT{whole[len(column) :]}"
            return super().not_sql(expression)


def is_infix_not(expression: exp.Not) -> bool:
    """Return whether the NOT stood behind its column, as in ``c NOT IN (1)``."""
    return bool(expression.args.get(_IS_INFIX))


def infix_not(negated: exp.Expr) -> exp.Not:
    """Return NOT of a predicate as if it stood behind its column."""
    return exp.Not(this=negated, **{_IS_INFIX: True})


def _is_other(function: exp.Func, args: list[Any]) -> bool:
    """Return whether sqlglot's function refuses some of the arguments, or drops them."""
    values = function.args.values()
    kept = sum(len(each) if isinstance(each, list) else isinstance(each, exp.Expr) for each in values)
    return bool(function.error_messages(args)) or kept < len(args)


def _infix(expression: exp.Expr | None) -> exp.Expr | None:
    if isinstance(expression, exp.Not):
        expression.set(_IS_INFIX, True)
    return expression
