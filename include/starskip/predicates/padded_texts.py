"""Implications of predicates on CHAR(n) for the values that the files hold.

Spark pads a shorter value of CHAR(n) with spaces to n characters when it reads it, and pads the literals of
comparisons. With ``spark.sql.readSideCharPadding`` off, it compares ``rpad(c, n, ' ')`` instead. Metadata
describes the values in the files, which Spark writes padded, and other writers may not. With c a value in a
file, p(c) the padded value and L a literal:

    p(c) = L    c is L, or L with fewer spaces at its end
    p(c) <= L   c <= L, since c is a prefix of p(c)
    p(c) >= L   c >= the prefix of L before its first character that is not above the space: if c < L <= p(c),
                c is a prefix of L, and the rest of L is not above the spaces of p(c)
    p(c) <> L   c <> L, if L has n characters or more: then p(L) is L

``rpad`` also cuts values longer than n, which a file may hold. For =, < and <= such a value begins with the
first n characters of L, unless the rules above hold; for <> nothing follows unless L has n characters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from starskip.predicates.column_name import column_name
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet

PADDED = "ReadSidePadding"
"""The call that pads a column to n characters."""
_SPACE = " "
_MOST_ENDS = 300
"""Literals with more trailing spaces in all are compared as ranges."""
_EQUAL = frozenset({"EqualTo", "In"})
_MIRRORED = {
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
    "EqualTo": "EqualTo",
    "EqualNullSafe": "EqualNullSafe",
}


@dataclass(frozen=True, slots=True)
class _Filled:
    """Values of ``column`` padded to ``length`` characters; with ``is_cut``, longer values are cut to it."""

    column: Column
    length: int
    is_cut: bool

    def or_longer(self, found: Expression, texts: list[str]) -> Expression:
        if not self.is_cut:
            return found
        begins = (text[: self.length].rstrip(_SPACE) for text in texts)
        return Call("Or", (found, *(Call("StartsWith", (self.column, _literal(each))) for each in begins)))


def of_padded_text(node: Expression) -> Expression | None:
    """Return a predicate on the unpadded column that holds where ``node`` does, None if unknown."""
    if not isinstance(node, Call) or not node.arguments:
        return None
    if node.name in ("IsNull", "IsNotNull"):
        filled = _filled(node.left)
        return None if filled is None else Call(node.name, (filled.column,))
    is_not = node.name == "Not"
    plain = node.left if is_not else node
    if not isinstance(plain, Call) or len(plain.arguments) < 2:
        return None
    name, left, right = plain.name, plain.left, plain.right
    if isinstance(left, Literal) and name in _MIRRORED:
        name, left, right = _MIRRORED[name], right, left
    filled, texts = _filled(left), _texts(right)
    if filled is None or texts is None:
        return None
    if is_not:
        lengths = [len(text) for text in texts]
        is_known = all(
            each == filled.length or (each > filled.length and not filled.is_cut) for each in lengths
        )
        return Call("Not", (Call(name, (filled.column, right)),)) if is_known and name in _EQUAL else None
    if name in ("EqualTo", "EqualNullSafe", "In"):
        return filled.or_longer(_one_of(filled.column, texts), texts)
    return _compared(name, filled, texts[0])


def over_padded(node: Expression, lengths: Mapping[str, int]) -> Expression:
    """Return a condition on columns whose values were padded to some lengths before, by the columns' names.

    A reference to a column padded to its length becomes the column itself. A reference to the unpadded column
    becomes unknown, since its values differ, but a null test stays known.
    """
    if isinstance(node, Column):
        return Call("Unknown") if column_name(node.path) in lengths else node
    if not isinstance(node, Call):
        return node
    if node.name in ("IsNull", "IsNotNull") and isinstance(node.left, Column):
        return node
    if node.name == PADDED and isinstance(node.left, Column) and isinstance(node.right, Literal):
        length = lengths.get(column_name(node.left.path))
        if length is not None and length == node.right.python:
            return node.left
    return Call(node.name, tuple(over_padded(each, lengths) for each in node.arguments))


def _texts(given: Expression) -> list[str] | None:
    if isinstance(given, LiteralSet) and pa.types.is_string(given.values.type):
        texts: list[str] = given.values.to_pylist()
        return texts
    # By its type: Python has no value for some of Spark's dates and times.
    if isinstance(given, Literal) and given.value.is_valid and pa.types.is_string(given.value.type):
        return [given.python]
    return None


def _compared(name: str, filled: _Filled, text: str) -> Expression | None:
    column = filled.column
    if name in ("LessThan", "LessThanOrEqual"):
        return filled.or_longer(Call(name, (column, _literal(text))), [text])
    if name in ("GreaterThan", "GreaterThanOrEqual"):
        end = next((at for at, character in enumerate(text) if character <= _SPACE), len(text))
        return Call("GreaterThanOrEqual", (column, _literal(text[:end])))
    if filled.is_cut:
        return None
    if name in ("StartsWith", "Contains"):
        return Call(name, (column, _literal(text.rstrip(_SPACE))))
    if name == "EndsWith":
        return Call("Contains", (column, _literal(text.rstrip(_SPACE))))
    return None


def _one_of(column: Column, texts: list[str]) -> Expression:
    ends = [len(text) - len(text.rstrip(_SPACE)) for text in texts]
    if sum(ends) + len(texts) > _MOST_ENDS:
        ranges = (
            Call(
                "And",
                (
                    Call("GreaterThanOrEqual", (column, _literal(text.rstrip(_SPACE)))),
                    Call("LessThanOrEqual", (column, _literal(text))),
                ),
            )
            for text in texts
        )
        return Call("Or", tuple(ranges))
    values = [
        text[: len(text) - fewer] for text, end in zip(texts, ends, strict=True) for fewer in range(end + 1)
    ]
    return Call("In", (column, LiteralSet(pa.array(list(dict.fromkeys(values)), pa.string()))))


def _filled(given: Expression) -> _Filled | None:
    if not isinstance(given, Call) or given.name not in (PADDED, "StringRPad") or len(given.arguments) < 2:
        return None
    length = given.right
    if not isinstance(length, Literal) or not length.value.is_valid:
        return None
    if not pa.types.is_integer(length.value.type):
        return None
    if given.name == PADDED:
        return _Filled(given.left, length.python, is_cut=False) if isinstance(given.left, Column) else None
    fill = given.arguments[2] if len(given.arguments) == 3 else None
    if not isinstance(fill, Literal) or fill.python != _SPACE:
        return None
    inner = _filled(given.left)
    column = given.left if inner is None else inner.column
    if not isinstance(column, Column) or (inner is not None and inner.is_cut):
        return None
    return _Filled(column, max(length.python, 0), is_cut=True)


def _literal(text: str) -> Literal:
    return Literal(pa.scalar(text, pa.string()))
