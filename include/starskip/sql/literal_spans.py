"""Find literals and comments in SQL text, parseable or not, under any reading of its quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

MAX_READ = 100_000

_COMMENT = r"(?P<comment>--[^\n]*+|/\*(?>(?:[^*]++|\*(?!/))*)(?:\*/|\Z))"
_NUMBER = r"(?P<literal>(?<!\w)\.?\d(?>(?:[eE][+-](?=\d)|[\w.])*))"


def _quoted(quote: str, backslash_escapes: bool) -> str:
    plain = rf"[^{quote}\\]++|\\.?" if backslash_escapes else rf"[^{quote}]++"
    return rf"{quote}(?>(?:{plain}|{quote}{quote})*)(?:{quote}|\Z)"


_DOLLARS = r"(?P<literal_in_dollars>\$(?P<tag>\w*+)\$(?>(?:[^$]++|\$(?!(?P=tag)\$))*)(?:\$(?P=tag)\$|\Z))"


def _pieces(backslash_escapes: bool, dollar_quotes: bool, quoted_names: bool) -> re.Pattern[str]:
    single, double, back = (_quoted(quote, backslash_escapes) for quote in "'\"`")
    names = f"(?P<name>{double}|{back})" if quoted_names else f"(?P<literal_in_double>{double}|{back})"
    dollars = f"{_DOLLARS}|" if dollar_quotes else ""
    return re.compile(f"{_COMMENT}|(?P<literal_in_single>{single})|{dollars}{names}|{_NUMBER}", re.DOTALL)


_PIECES = {flags: _pieces(*flags) for flags in product((False, True), repeat=3)}

_LAST_TOKEN = re.compile(r"(\w+|\S)\s*\Z")
_WORDS = """
    all and any between by case distinct else except exists from having ilike in inner intersect into is
    join left like limit not on option or order outer over partition right select set table then union
    using values when where with
"""
_BEFORE_A_NAME = frozenset(_WORDS.split())
"""Words before the name of a column or table; a quoted name after any other word or ``)`` is an alias."""
_ESCAPED = re.compile(r"\\(?:x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
_LONGEST_NAME = 64
_MOST_DIGITS = 8


def without_literals(text: str, *, quoted_names: bool, has_aliases: bool = True) -> str:
    """Return the first MAX_READ characters of ``text``, each literal as ``?`` and each comment as a blank.

    ``masking.mask_literals`` defines literals; ``has_aliases`` is false for a predicate by itself. Linear,
    never raises.
    """
    cut = "…" if len(text) > MAX_READ else ""
    text = text[:MAX_READ]
    pieces: list[str] = []
    end = 0
    for start, stop, is_comment in _merged(_spans(text, quoted_names, has_aliases)):
        pieces += text[end:start], " " if is_comment else "?"
        end = stop
    return "".join([*pieces, text[end:], cut])


def _spans(text: str, quoted_names: bool, has_aliases: bool) -> list[tuple[int, int, bool]]:
    spans: set[tuple[int, int, bool]] = set()
    backslashes, dollars = ((False, True) if sign in text else (False,) for sign in "\\$")
    for backslash_escapes, dollar_quotes in product(backslashes, dollars):
        pieces = _PIECES[backslash_escapes, dollar_quotes, quoted_names]
        spans.update(_spans_of(text, pieces, has_aliases))
    return sorted(spans)


def _spans_of(text: str, pieces: re.Pattern[str], has_aliases: bool) -> Iterator[tuple[int, int, bool]]:
    aliases: set[str] = set()
    end, before = 0, ""
    for match in pieces.finditer(text):
        # A comment stands between two words without being one.
        last = _LAST_TOKEN.search(text, max(end, match.start() - _LONGEST_NAME), match.start())
        before = last[1] if last else before
        if match.lastgroup != "name":
            yield (*match.span(), match.lastgroup == "comment")
        elif match[0] in aliases or (has_aliases and _is_alias(before)) or _is_doubtful(match[0]):
            aliases.add(match[0])
            yield (*match.span(), False)
        end = match.end()
        before = before if match.lastgroup == "comment" else ")"


def _is_alias(before: str) -> bool:
    """Return whether a quoted name is an alias, by the word or sign before it."""
    return before == ")" or (before[-1:].isalnum() and before.casefold() not in _BEFORE_A_NAME)


def _is_doubtful(quoted: str) -> bool:
    quoted = _ESCAPED.sub("", quoted)  # control characters that masking escaped do not count
    is_long = len(quoted) > _LONGEST_NAME or sum(map(str.isdigit, quoted)) > _MOST_DIGITS
    return is_long or "@" in quoted or "://" in quoted


def _merged(spans: list[tuple[int, int, bool]]) -> Iterator[tuple[int, int, bool]]:
    """Yield the union of overlapping spans; it is a comment only where every reading says so."""
    if not spans:
        return
    start, stop, is_comment = spans[0]
    for next_start, next_stop, next_is_comment in spans[1:]:
        if next_start < stop:
            stop, is_comment = max(stop, next_stop), is_comment and next_is_comment
        else:
            yield start, stop, is_comment
            start, stop, is_comment = next_start, next_stop, next_is_comment
    yield start, stop, is_comment
