"""Parse Catalyst's text of filters into expressions: ``isnotnull(a#1), (a#1 >= 5), s#2 IN (x,y)``.

The form is Spark's ``Expression.toString`` (4.1 and 4.2). It is made for people: strings have no quotes, so a
literal may look like syntax. If there are several readings, the reading with the shortest literals is taken.
Parts that cannot be parsed become ``Unknown``, which no index labels. That suffices to choose indexes, and is
never used to skip files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import pyarrow as pa

from starskip.advisor.workload.function_text import (
    PARSED_URL,
    known_function,
    map_value,
    parsed_url,
    value_type,
)
from starskip.predicates.data_types import family_of, literal_type_of
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.predicates.expression_json import UNKNOWN
from starskip.predicates.literal_text import catalyst_value

_OPERATORS = {
    "=": "EqualTo",
    "<=>": "EqualNullSafe",
    "<": "LessThan",
    "<=": "LessThanOrEqual",
    ">": "GreaterThan",
    ">=": "GreaterThanOrEqual",
    "AND": "And",
    "OR": "Or",
    "+": "Add",
    "-": "Subtract",
    "*": "Multiply",
    "/": "Divide",
    "%": "Remainder",
}
_FUNCTIONS = {"isnotnull": "IsNotNull", "isnull": "IsNull"}
_OF_TEXTS = frozenset({"StartsWith", "EndsWith", "Contains"})
"""Functions of a column and a text that may contain commas."""
_TEXTS = frozenset({"GetJsonObject", "SubstringIndex", "Invoke"})
"""Functions whose values are texts."""
_ATTRIBUTE = re.compile(r"([^\s#(),]{1,300})#\d{1,18}L?((?:\.[^\s#(),.]{1,300}){0,20})")
_CALL = re.compile(r"([A-Za-z_]\w{0,200})\(")
_INFIX = re.compile(r" (=|<=>|<=|<|>=|>|AND|OR|\+|-|\*|/|%) ")
_CONJUNCT = re.compile(r", (?=\(|NOT |[^\s#(),]{1,300}#\d|[A-Za-z_]\w{0,200}\()")
_PLAIN = re.compile(r"\d{4}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d{1,6})?)?|-?[\w.]{1,100}(?:(?<=E)-\d{1,3})?")
_AFTER_PATTERN = re.compile(r" (?:AND|OR) |\)")
_ESCAPE = re.compile(r"(.*) ESCAPE '(.)'", re.DOTALL)
_MAX_DEPTH = 60
_MAX_STEPS = 100_000
"""Steps for one text; the rest is unknown."""
_STEP_CHARACTERS = 100
"""Characters of a list of values that count as a step."""
_LONGEST_PATTERN = 2_000
EVERYTHING = Literal(pa.scalar(True))
"""The predicate of a scan without filters."""
_Found = Iterator[tuple[Expression, int]]


def filter_expression(texts: tuple[str, ...], types: Mapping[tuple[str, ...], str]) -> Expression:
    """Return the AND of a scan's filters, true without any; ``types``: of columns and fields by path."""
    conjuncts = [each for text in texts for each in _Reader(text, types).conjuncts()]
    if len(conjuncts) > 1:
        return Call("And", tuple(conjuncts))
    return conjuncts[0] if conjuncts else EVERYTHING


class _Reader:
    """A backtracking parser of one text; each method yields the readings at a position, with their ends."""

    __slots__ = ("_steps", "_text", "_types")

    def __init__(self, text: str, types: Mapping[tuple[str, ...], str]) -> None:
        self._text = text
        self._types = types
        self._steps = 0

    def conjuncts(self) -> Iterator[Expression]:
        at = 0
        while at < len(self._text):
            if self._steps > _MAX_STEPS:
                yield UNKNOWN
                return
            found = self._conjunct(at)
            if found is None:
                later = _CONJUNCT.search(self._text, at)
                found = UNKNOWN, later.start() if later else len(self._text)
            yield found[0]
            at = found[1] + len(", ")

    def _conjunct(self, at: int) -> tuple[Expression, int] | None:
        """Return the first reading that another conjunct follows, else a reading that a comma follows."""
        doubtful = None
        for found in self._expression(at, _MAX_DEPTH):
            if found[1] == len(self._text) or _CONJUNCT.match(self._text, found[1]):
                return found
            if doubtful is None and self._text.startswith(", ", found[1]):
                doubtful = found
        return doubtful

    def _expression(self, at: int, depth: int) -> _Found:
        self._steps += 1
        if depth == 0 or self._steps > _MAX_STEPS or at >= len(self._text):
            return
        if self._text.startswith("NOT ", at):
            for inner, end in self._expression(at + 4, depth - 1):
                yield Call("Not", (inner,)), end
        elif self._text[at] == "(":
            yield from self._infix(at, depth)
        else:
            for found, end in self._primary(at, depth):
                yield from self._with_suffix(found, end)
                yield found, end

    def _infix(self, at: int, depth: int) -> _Found:
        for left, end in self._expression(at + 1, depth - 1):
            operator = _INFIX.match(self._text, end)
            if operator is None:
                continue
            name = _OPERATORS[operator[1]]
            for right, last in self._operand(
                operator.end(), left, depth - 1, literals=name not in ("And", "Or")
            ):
                if self._text.startswith(")", last):
                    yield Call(name, (left, right)), last + 1

    def _operand(self, at: int, left: Expression, depth: int, *, literals: bool) -> _Found:
        data_type = value_type(left)
        is_text = literals and data_type is not None and _is_text(data_type)
        # A text may begin with a bracket or NOT, but hardly like an attribute or a call.
        if not is_text or _ATTRIBUTE.match(self._text, at) or _CALL.match(self._text, at):
            yield from self._expression(at, depth)
        if not literals:
            return
        if data_type is not None and not _is_text(data_type):
            plain = _PLAIN.match(self._text, at)
            value = catalyst_value(plain[0], data_type) if plain else None
            if plain and value is not None:
                yield Literal(value), plain.end()
            return
        for end in self._ends_of_text(at):
            yield Literal(pa.scalar(self._text[at:end])), end

    def _ends_of_text(self, at: int) -> Iterator[int]:
        end = self._text.find(")", at)
        while end >= 0 and self._steps <= _MAX_STEPS:
            self._steps += 1
            yield end
            end = self._text.find(")", end + 1)

    def _primary(self, at: int, depth: int) -> _Found:
        attribute = _ATTRIBUTE.match(self._text, at)
        if attribute is not None:
            yield self._column(attribute), attribute.end()
            return
        parsed = PARSED_URL.match(self._text, at)
        if parsed is not None:
            for inner, end in self._expression(parsed.end(), depth - 1):
                closed = self._text.find("))", end)
                if self._text.startswith(", ", end) and closed > 0:
                    yield parsed_url(inner, self._text[end + 2 : closed]), closed + 2
            return
        call = _CALL.match(self._text, at)
        if call is None:
            return
        if call[1] == "cast":
            for inner, end in self._expression(call.end(), depth - 1):
                last = self._text.find(")", end)
                if self._text.startswith(" as ", end) and last > 0:
                    closed = self._text.find(")", last + 1) if "(" in self._text[end:last] else last
                    if closed > 0:
                        data_type = Literal(pa.scalar(self._text[end + len(" as ") : closed]))
                        yield Call("Cast", (inner, data_type)), closed + 1
            return
        if call[1] in _OF_TEXTS:
            for inner, end in self._expression(call.end(), depth - 1):
                if self._text.startswith(", ", end):
                    for last in self._ends_of_text(end + 2):
                        yield Call(call[1], (inner, Literal(pa.scalar(self._text[end + 2 : last])))), last + 1
            return
        name = _FUNCTIONS.get(call[1], f"udf:{call[1].lower()}")
        for arguments, end in self._arguments(call.end(), (), depth - 1):
            yield known_function(call[1], arguments) or Call(name, arguments), end

    def _arguments(
        self, at: int, before: tuple[Expression, ...], depth: int
    ) -> Iterator[tuple[tuple[Expression, ...], int]]:
        if self._text.startswith(")", at) and not before:
            yield (), at + 1
            return
        for argument, end in self._argument(at, depth):
            if self._text.startswith(")", end):
                yield (*before, argument), end + 1
            elif self._text.startswith(", ", end) and depth > 0:
                yield from self._arguments(end + 2, (*before, argument), depth - 1)

    def _argument(self, at: int, depth: int) -> _Found:
        yield from self._expression(at, depth)
        comma = self._text.find(", ", at)
        for end in self._ends_of_text(at):
            if 0 <= comma < end:
                yield Literal(pa.scalar(self._text[at:comma])), comma
                comma = -1
            yield Literal(pa.scalar(self._text[at:end])), end

    def _column(self, found: re.Match[str]) -> Expression:
        path = (found[1], *found[2].split(".")[1:])
        data_type = self._types.get(path)
        return UNKNOWN if data_type is None else Column(path, data_type)

    def _with_suffix(self, left: Expression, at: int) -> _Found:
        if self._text.startswith("[", at):
            end = self._text.find("]", at)
            while end >= 0 and self._steps <= _MAX_STEPS:
                self._steps += 1
                value = map_value(left, self._text[at + 1 : end])
                if value is not None:
                    yield from self._with_suffix(value, end + 1)
                    yield value, end + 1
                end = self._text.find("]", end + 1)
        elif self._text.startswith(" IN (", at):
            for end in self._ends_of_text(at + 5):
                self._steps += (end - at) // _STEP_CHARACTERS
                yield self._in(left, self._text[at + 5 : end].split(",")), end + 1
        elif self._text.startswith(" INSET ", at):
            later = _CONJUNCT.search(self._text, at)
            closed = self._text.find(")", at)
            ends = {later.start() if later else len(self._text), closed if closed >= 0 else len(self._text)}
            for end in sorted(ends):
                yield self._in(left, self._text[at + 7 : end].split(", ")), end
        elif self._text.startswith(" LIKE ", at):
            later = _CONJUNCT.search(self._text, at)
            near = _AFTER_PATTERN.finditer(self._text, at, at + _LONGEST_PATTERN)
            ends = {later.start() if later else len(self._text), *(found.start() for found in near)}
            for end in sorted(ends):
                self._steps += 1
                yield self._like(left, self._text[at + 6 : end]), end

    def _in(self, left: Expression, listed: list[str]) -> Expression:
        data_type = value_type(left) or ("string" if isinstance(left, Call) and left.name in _TEXTS else None)
        if data_type is None:
            return UNKNOWN
        values = [catalyst_value(each, data_type) for each in listed if each != "null"]
        if any(each is None for each in values):
            return UNKNOWN
        return Call("In", (left, LiteralSet(pa.array(values, literal_type_of(data_type)), "null" in listed)))

    def _like(self, left: Expression, text: str) -> Expression:
        named = _ESCAPE.fullmatch(text)
        pattern, escape = (named[1], named[2]) if named else (text, "\\")
        return Call("Like", (left, Literal(pa.scalar(pattern)), Literal(pa.scalar(escape))))


def _is_text(data_type: str) -> bool:
    return family_of(data_type) in ("string", "collated")
