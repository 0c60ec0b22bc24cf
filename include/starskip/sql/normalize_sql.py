"""Split SQL text into a skeleton and its literals without parsing it.

Logs repeat few skeletons with many literals. Cutting the literals out costs microseconds a query,
so that the parser (milliseconds) runs once a distinct skeleton and never once a query.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from starskip.sql.query_options import query_options
from starskip.sql.redacted_text import REDACTED

SLOT = "\x00"
"""Stands in the skeleton for one literal, or for the whole literal list of an IN."""

Literal = str
"""A literal as text: strings begin with a quote and are unescaped (``'it's``), numbers do not (``42``).

A literal that the broker did not log is REDACTED (sql.redacted_text).
"""

# Possessive quantifiers and atomic groups keep hostile text linear: an unterminated quote or comment runs
# to the end once.
_COMMENT = r"(?P<comment> --[^\n]*+ | /\*(?>(?:[^*]++|\*(?!/))*)(?:\*/|\Z) )"
_STRING = r"(?P<string> '(?>(?:[^']++|'')*)(?:'|\Z) )"
_CALLED = r"(?P<called> `\w++`(?=\s*+\() )"
_NAME = r'(?P<name> "(?>(?:[^"]++|"")*)(?:"|\Z) | `[^`]*+(?:`|\Z) )'
_REDACTED = r"(?P<redacted> \? )"
_NUMBER = r"(?P<number> (?<![\w$.]) (?:\d++(?>\.\d*+|)|\.\d++) (?>[eE][+-]?\d++|) (?![\w$]) )"
_PIECE = re.compile(rf"{_COMMENT} | {_STRING} | {_CALLED} | {_NAME} | {_REDACTED} | {_NUMBER}", re.VERBOSE)
COMMENT_OR_LITERAL = re.compile(rf"{_COMMENT} | {_STRING} | {_REDACTED} | {_NUMBER}", re.VERBOSE)
"""Pattern that is cut out of a text without quoted names."""

_PREFIX_ENDS = ("x'", "X'", "n'", "N'", "&'")
_PREFIX = re.compile(r"(?<![\w$.])(?:[xXnN]|[uU]&)(?=')")
_PREFIXED_SLOT = re.compile(_PREFIX.pattern.replace("'", SLOT))
_LIST = re.compile(rf"\(\s*-?\s*{SLOT}(?>(?:\s*,\s*-?\s*{SLOT})*)\s*\)")
_IN = re.compile(r"\bIN\s*$", re.IGNORECASE)
_NAMES = r'"[^"]*+"|`[^`]*+`'
_STATEMENT = re.compile(rf"(?>(?:{_NAMES}|[^;\"`]++|[\"`])+)")
_WORD = rf"{_NAMES}|{SLOT}|[\w.$]+"
_SETTING = re.compile(
    rf"SET(?: |(?=[\"`{SLOT}]))(?P<key>{_WORD}) ?= ?(?P<value>-?(?:{_WORD}))", re.IGNORECASE
)
_OPTION = re.compile(r"(?>(?:\boption ?\([^()]*+\) ?)+)$", re.IGNORECASE)
_OPTION_WORDS = re.compile(r"\boption ?\(|[(),]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NormalizedSql:
    """``skeleton``: the text without comments and literals, white space folded, one SLOT a literal.

    Pinot's query options, ``SET …;`` around the query and ``OPTION(…)`` behind it, are cut off with their
    literals: a timeout makes no other query, nor may it shift the slots of its twin without one. Those that
    decide which indexes answer the query stand in front of it, in one spelling (query_options).
    ``literals``: one tuple a slot, with one literal, or all of an IN list in their order.
    """

    skeleton: str
    literals: tuple[tuple[Literal, ...], ...]


def normalize_sql(sql: str) -> NormalizedSql:
    """Cut ``sql`` into skeleton and literals; linear in its length, never raises."""
    literals: list[Literal] = []
    skeleton = _PIECE.sub(_cutter(literals), sql.replace(SLOT, " ") if SLOT in sql else sql)
    if literals and has_prefix(sql):
        skeleton = _without_prefixes(skeleton, literals)
    skeleton, literals = _without_options(" ".join(skeleton.split()), literals)
    if not literals or "(" not in skeleton:
        return NormalizedSql(skeleton, tuple((value,) for value in literals))
    return _fold_lists(skeleton, literals)


def is_open(sql: str) -> bool:
    """Return whether ``sql`` ends within a text literal, a quoted name, a comment or brackets."""
    depth = position = 0
    for match in _PIECE.finditer(sql):
        between = sql[position : match.start()]
        depth += between.count("(") - between.count(")")
        position = match.end()
        if match.end() == len(sql) and _is_unclosed(match[0]):
            return True
    return depth + sql.count("(", position) - sql.count(")", position) > 0


def _is_unclosed(piece: str) -> bool:
    if piece.startswith("/*"):
        return len(piece) < 4 or not piece.endswith("*/")
    return piece[0] in "'\"`" and piece.count(piece[0]) % 2 == 1


def has_prefix(sql: str) -> bool:
    """Return whether a text may hold X'…', N'…' or U&'…'."""
    return any(map(sql.__contains__, _PREFIX_ENDS)) and _PREFIX.search(sql) is not None


def _without_prefixes(skeleton: str, literals: list[Literal]) -> str:
    """Take the X, N and U& before quotes off; Pinot compares the bytes of X'…' as text in lower case."""
    for match in _PREFIXED_SLOT.finditer(skeleton):
        if match[0] in ("x", "X"):
            number = skeleton.count(SLOT, 0, match.end())
            literals[number] = literals[number].lower()
    return _PREFIXED_SLOT.sub("", skeleton)


def masked(skeleton: str) -> str:
    """Return the skeleton as people read it, each literal as ``?``."""
    return skeleton.replace(SLOT, "?")


def _cutter(literals: list[Literal]) -> Callable[[re.Match[str]], str]:
    def cut(match: re.Match[str]) -> str:
        text = match[0]
        match match.lastgroup:
            case "comment":
                return " "
            case "string":
                body = text[1:-1] if len(text) > 1 and text.endswith("'") else text[1:]
                literals.append("'" + body.replace("''", "'"))
            case "number" | "redacted":
                literals.append(text)
            case "called":
                # Redacted texts quote functions as well as columns; a parser knows functions by their bare
                # names.
                return f" {text[1:-1]}"
            case _:
                return text
        return SLOT

    return cut


def _without_options(skeleton: str, literals: list[Literal]) -> tuple[str, list[Literal]]:
    """Cut the options off the one query of a text, and put those that count in front of it."""
    given: list[tuple[str, str]] = []
    if ";" in skeleton:
        queries, taken = [], 0
        for statement in map(str.strip, _STATEMENT.findall(skeleton)):
            own = literals[taken : taken + statement.count(SLOT)]
            taken += len(own)
            if setting := _SETTING.fullmatch(statement):
                given.append(_pair(setting["key"], setting["value"], own))
            elif statement:
                queries.append((statement, own))
        if len(queries) != 1:
            return skeleton, literals  # which the parser refuses, as Pinot does
        skeleton, literals = queries[0]
    # Few queries end with a bracket, and only these are searched.
    tail = _OPTION.search(skeleton) if skeleton.endswith(")") else None
    if tail:
        before = len(literals) - tail[0].count(SLOT)
        own, literals = literals[before:], literals[:before]
        for option in _OPTION_WORDS.split(tail[0]):
            key, equals, value = option.strip().partition("=")
            if equals:
                given.append(_pair(key.strip(), value.strip(), own))
        skeleton = skeleton[: tail.start()].rstrip()
    return (query_options(given).words + skeleton if given else skeleton), literals


def _pair(key: str, value: str, literals: list[Literal]) -> tuple[str, str]:
    """Return the key and the value of an option without quotes; takes their literals off the list."""

    def bare(text: str) -> str:
        while SLOT in text and literals:
            text = text.replace(SLOT, literals.pop(0).removeprefix("'").replace(SLOT, ""), 1)
        return text[1:-1] if text[:1] in ('"', "`") and text[-1:] == text[:1] else text

    return bare(key), bare(value)


def _fold_lists(skeleton: str, literals: list[Literal]) -> NormalizedSql:
    """Fold ``IN (SLOT, SLOT, …)`` to ``IN (SLOT)``: lists of any length are one shape."""
    pieces: list[str] = []
    folded: list[tuple[Literal, ...]] = []
    start = taken = 0
    for match in _LIST.finditer(skeleton):
        before = skeleton[start : match.start()]
        if not _IN.search(before[-8:]):
            continue
        singles = before.count(SLOT)
        folded.extend((value,) for value in literals[taken : taken + singles])
        taken += singles
        count = match[0].count(SLOT)
        values = tuple(literals[taken : taken + count])
        if "-" in match[0]:
            signs = ["-" in part for part in match[0].split(",")]
            values = tuple(
                "-" + v if minus and v != REDACTED else v for v, minus in zip(values, signs, strict=True)
            )
        folded.append(values)
        taken += count
        pieces.append(before + f"({SLOT})")
        start = match.end()
    folded.extend((value,) for value in literals[taken:])
    return NormalizedSql("".join(pieces) + skeleton[start:], tuple(folded))
