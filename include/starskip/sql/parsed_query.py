"""Parse a skeleton into sqlglot's tree, with one named placeholder a slot; bound its nesting first."""

from __future__ import annotations

import re
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from starskip.errors import UnsupportedQuery
from starskip.sql.normalize_sql import SLOT, masked
from starskip.sql.pinot_dialect import PinotDialect
from starskip.sql.query_options import split_options

MAX_SKELETON_CHARACTERS = 20_000

_QUERY = re.compile(r"[( ]*(?:select|with)\b", re.IGNORECASE)
_QUOTED_NAME = re.compile(r'"[^"]*+"|`[^`]*+`')
_PLACEHOLDER = re.compile(r'"(?>(?:[^"]++|"")*)"|:p(\d++)')
_SPACED_PLACEHOLDER = re.compile(_PLACEHOLDER.pattern + " ?")
_TYPED_LITERAL = re.compile(rf"\b(?:DATE|TIMESTAMP|TIME)\s+(?={SLOT})", re.IGNORECASE)
_OTHER_WORDS = (
    (re.compile(r"\bLEFT ASOF JOIN\b", re.IGNORECASE), "ASOF LEFT JOIN"),
    (re.compile(r"\bMINUS(?= (?:ALL )?\(?SELECT\b)", re.IGNORECASE), "EXCEPT"),
)
"""Pinot's words, and those that sqlglot knows instead."""


MAX_NESTING = 60
"""The parser is recursive: deeper text would exhaust the stack, and is no basis for advice."""
_NOTS = re.compile(r"(?>(?:\bnot\s+){4,})", re.IGNORECASE)


@lru_cache(maxsize=4)
def parsed_query(skeleton: str) -> exp.Query:
    """Parse ``skeleton`` (see normalize_sql) without its options, slot n as the placeholder ``:pn``.

    The tree is kept for the next call: do not change it. Its names know their places in ``parsed_text``.

    Raises UnsupportedQuery with a reason: "too_long", "too_deep", "syntax", "not_a_select".
    """
    _, skeleton = split_options(skeleton)
    if len(skeleton) > MAX_SKELETON_CHARACTERS:
        raise UnsupportedQuery("the query text is too long to be parsed", reason="too_long")
    if nesting(skeleton) > MAX_NESTING:
        raise UnsupportedQuery("the query is nested too deeply to be parsed", reason="too_deep")
    if not _QUERY.match(skeleton):
        # sqlglot would take it for a command of its own and write a warning to the log.
        raise UnsupportedQuery("not a SELECT", reason="not_a_select")
    if ":" in _QUOTED_NAME.sub("", skeleton):
        # Pinot has no use for it, and ``:p7`` would pass for a slot.
        raise UnsupportedQuery("a colon outside of quotes", reason="syntax")
    try:
        return _parsed(parsed_text(skeleton))
    except RecursionError as error:
        # Not all nesting shows in brackets: ``a IN a IN a …``, casts of casts.
        raise UnsupportedQuery("the query is nested too deeply to be parsed", reason="too_deep") from error


def parsed_text(skeleton: str) -> str:
    """Return the text that is parsed for a skeleton without options, with a placeholder for each slot."""
    bare = _TYPED_LITERAL.sub("", skeleton)
    for pattern, word in _OTHER_WORDS:
        bare = pattern.sub(word, bare)
    pieces = bare.split(SLOT)
    return pieces[0] + "".join(f":p{number} {piece}" for number, piece in enumerate(pieces[1:]))


def skeleton_of(text: str, *, is_parsed_text: bool = False) -> tuple[str, tuple[int, ...]]:
    """Return the skeleton of a text with placeholders, and for each of its slots the placeholder's number.

    ``is_parsed_text``: a blank stands behind each placeholder that is none of the skeleton's.
    """
    slots: list[int] = []

    def cut(match: re.Match[str]) -> str:
        if match[1] is None:
            return match[0]
        slots.append(int(match[1]))
        return SLOT

    pattern = _SPACED_PLACEHOLDER if is_parsed_text else _PLACEHOLDER
    return pattern.sub(cut, text), tuple(slots)


def _parsed(text: str) -> exp.Query:
    try:
        statements = sqlglot.parse(text, dialect=PinotDialect)
    except (SqlglotError, ValueError, TypeError, AttributeError) as error:
        # sqlglot leaks the last three on text that no SQL parser was made for; the query is set aside.
        raise UnsupportedQuery(f"not parsed: {_first_line(error)}", reason="syntax") from error
    queries = [statement for statement in statements if statement is not None]
    if len(queries) != 1 or not isinstance(queries[0], exp.Query):
        raise UnsupportedQuery("not one SELECT", reason="not_a_select")
    return queries[0]


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return masked(lines[0][:200]) if lines else type(error).__name__


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
