"""Recognise PQL, the query language of Pinot up to 0.10, and rewrite it as SQL.

Restates the grammar PQL2.g4 of 0.9 (removed by commit 1b2c278daef, May 2022): text in double quotes is a
literal, as in single ones; names hold hyphens; ``TOP n`` limits groups; after FROM the clauses come in any
order; there are no subqueries. A literal stands for a name behind FROM, AS, GROUP BY and ORDER BY.
"""

from __future__ import annotations

import re

from starskip.sql.function_names import canonical_name

_TOKEN = re.compile(
    r"""
    (?P<comment> --[^\n]*+ )
  | (?P<single> '(?>(?:[^']++|'')*)(?:'|\Z) )
  | (?P<double> "(?>(?:[^"]++|"")*)(?:"|\Z) )
  | (?P<name> `[^`]*+(?:`|\Z) | \$?[A-Za-z_][\w-]*+ )
  | (?P<number> [+-]?(?:\d++(?>\.\d*+|)|\.\d++) )
  | (?P<space> \s++ )
  | (?P<sign> <>|!=|<=|>=|. )
    """,
    re.VERBOSE | re.DOTALL,
)
_CLAUSES = {"where": 1, "group": 2, "having": 3, "order": 4, "limit": 5, "option": 6}
"""The clauses behind FROM, in SQL's order."""

_MAY_BE_PQL = re.compile(r'"|\btop\b', re.IGNORECASE)
_BEFORE_A_VALUE = {"=", "<>", "!=", "<", ">", "<=", ">=", "between"}
_BEFORE_A_LITERAL = _BEFORE_A_VALUE | {"and", "(", ","}
_TAKES_A_VALUE = {"regexplike", "textmatch", "jsonmatch"}


def is_pql(text: str) -> bool:
    """Return whether ``text`` must be PQL: ``TOP n``, or double quotes where SQL would compare two columns.

    Such a place is behind a comparison whose other side is no name in double quotes, behind BETWEEN, the
    first of an IN list, or the second argument of REGEXP_LIKE and the like. Linear, never raises.
    """
    if not _MAY_BE_PQL.search(text):
        return False
    before: list[str] = ["", "", "", ""]
    for token in _TOKEN.finditer(text):
        if token.lastgroup in ("space", "comment"):
            continue
        word = token[0].lower()
        if token.lastgroup == "number" and before[-1] == "top":
            return True
        if token.lastgroup == "double" and (
            (before[-1] in _BEFORE_A_VALUE and not before[-2].startswith('"'))
            or (before[-1] == "(" and before[-2] == "in")
            or (before[-1] == "," and before[-3] == "(" and canonical_name(before[-4]) in _TAKES_A_VALUE)
        ):
            return True
        before = [*before[1:], word]
    return False


def sql_from_pql(text: str) -> str:
    """Return the equivalent SQL; for a text that is no PQL the result means nothing. Never raises.

    LIMIT is the query's LIMIT, or its TOP where it has no LIMIT. A repeated clause stays: the parser refuses
    it.
    """
    clauses: list[tuple[int, list[str]]] = [(0, [])]
    top: str | None = None
    depth = 0
    before = ""
    for token in _TOKEN.finditer(text.rstrip(" \t\r\n;")):
        kind, written = token.lastgroup, token[0]
        word = written.lower()
        if kind == "comment" or word == "top":
            written = " "
        elif kind == "number" and before == "top":
            top, written = written, " "
        elif kind == "number" and before in _BEFORE_A_LITERAL:
            written = written.lstrip("+")
        elif kind == "name":
            if depth == 0 and word in _CLAUSES:
                clauses.append((_CLAUSES[word], [" "]))
            written = f"`{written}`" if "-" in written and not written.startswith("`") else written
        elif kind in ("single", "double"):
            in_names = depth == 0 and clauses[-1][0] in (2, 4)
            is_name = in_names or before in ("from", "as")
            written = _quoted(written, "`" if is_name else "'")
        depth += {"(": 1, ")": -1}.get(word, 0)
        clauses[-1][1].append(written)
        if kind not in ("space", "comment"):
            before = word
    if top is not None and all(rank != _CLAUSES["limit"] for rank, _ in clauses):
        clauses.append((_CLAUSES["limit"], [f" LIMIT {top.lstrip('+')}"]))
    return "".join(part for _, parts in sorted(clauses, key=lambda clause: clause[0]) for part in parts)


def _quoted(written: str, quote: str) -> str:
    """Return a literal, in either kind of quotes, quoted with ``quote``; an open one is closed."""
    mark = written[0]
    body = written[1:-1] if len(written) > 1 and written.endswith(mark) else written[1:]
    body = body.replace(mark * 2, mark)
    return quote + (body.replace("'", "''") if quote == "'" else body.replace("`", "")) + quote
