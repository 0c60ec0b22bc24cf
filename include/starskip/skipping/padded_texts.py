"""CHAR(n): what a predicate of values that Spark has filled with spaces says of the values that files hold.

Spark reads a shorter value of CHAR(n) with spaces up to n characters, and fills what it is compared with
alike. Metadata is of the values as they are in files, which Spark itself writes filled, and others may not.
With c such a value, p(c) the filled one and L a literal:

    p(c) = L    c is L, or L with fewer spaces at its end
    p(c) <= L   c <= L, since c begins p(c)
    p(c) >= L   c >= L up to its first character that is not above the space: if c < L <= p(c), c begins L,
                and what follows it in L is not above the spaces that follow it in p(c)
    p(c) <> L   c <> L, if L has n characters or more: then p(L) is L
"""

from __future__ import annotations

import pyarrow as pa

from starskip.skipping.expression import Call, Column, Expression, Literal, LiteralSet

PADDED = "ReadSidePadding"
"""The call of a column and n."""
_SPACE = " "
_MOST_ENDS = 300
"""A literal with more spaces at its end is compared as a range."""
_MIRRORED = {
    "LessThan": "GreaterThan",
    "LessThanOrEqual": "GreaterThanOrEqual",
    "GreaterThan": "LessThan",
    "GreaterThanOrEqual": "LessThanOrEqual",
    "EqualTo": "EqualTo",
    "EqualNullSafe": "EqualNullSafe",
}


def of_padded_text(node: Expression) -> Expression | None:
    """Return what holds of a column where ``node`` does, which compares its filled values, if known."""
    if not isinstance(node, Call) or not node.arguments:
        return None
    if node.name == "Not":
        return _negated(node.left)
    if node.name in ("IsNull", "IsNotNull"):
        column = _column(node.left)
        return None if column is None else Call(node.name, (column,))
    if len(node.arguments) < 2:
        return None
    name, left, right = node.name, node.left, node.right
    if isinstance(left, Literal) and name in _MIRRORED:
        name, left, right = _MIRRORED[name], right, left
    column, is_cut = _column(left), False
    if column is None:
        column, is_cut = _column_longer(left), True
    if column is None:
        return None
    if name == "In" and isinstance(right, LiteralSet):
        texts = right.values.to_pylist()
    elif isinstance(right, Literal) and isinstance(right.python, str):
        texts = [right.python]
    else:
        return None
    if name in ("EqualTo", "EqualNullSafe", "In"):
        found = _one_of(column, texts)
        # rpad() also cuts what is longer, which no CHAR(n) is but a file may hold.
        begins = [Call("StartsWith", (column, _literal(text.rstrip(_SPACE)))) for text in texts]
        return Call("Or", (found, *begins)) if is_cut else found
    return None if is_cut else _compared(name, column, texts[0])


def _negated(node: Expression) -> Expression | None:
    if not isinstance(node, Call) or len(node.arguments) < 2 or node.name not in ("EqualTo", "In"):
        return None
    left, right = node.left, node.right
    if isinstance(left, Literal):
        left, right = right, left
    column = _column(left)
    if column is None or not isinstance(left, Call):
        return None
    length = left.right
    if isinstance(right, LiteralSet):
        texts = right.values.to_pylist()
    else:
        texts = [right.python] if isinstance(right, Literal) else [None]
    if not isinstance(length, Literal) or not all(
        isinstance(text, str) and len(text) >= length.python for text in texts
    ):
        return None
    return Call("Not", (Call(node.name, (column, right)),))


def _compared(name: str, column: Column, text: str) -> Expression | None:
    if name in ("LessThan", "LessThanOrEqual"):
        return Call(name, (column, _literal(text)))
    if name in ("GreaterThan", "GreaterThanOrEqual"):
        end = next((at for at, character in enumerate(text) if character <= _SPACE), len(text))
        return Call("GreaterThanOrEqual", (column, _literal(text[:end])))
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


def _column(filled: Expression) -> Column | None:
    if isinstance(filled, Call) and filled.name == PADDED and len(filled.arguments) == 2:
        column = filled.left
        return column if isinstance(column, Column) else None
    return None


def _column_longer(filled: Expression) -> Column | None:
    """Return the column of ``rpad(…, m, ' ')``, by which Spark compares CHAR(n) with a longer literal."""
    if not isinstance(filled, Call) or filled.name != "StringRPad" or len(filled.arguments) != 3:
        return None
    fill = filled.arguments[2]
    return _column(filled.left) if isinstance(fill, Literal) and fill.python == _SPACE else None


def _literal(text: str) -> Literal:
    return Literal(pa.scalar(text, pa.string()))
