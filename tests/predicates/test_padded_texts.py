"""Implications of predicates on padded values hold of the values themselves, for any values."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from hypothesis import example, given, settings
from hypothesis import strategies as st
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet
from starskip.predicates.padded_texts import PADDED, of_padded_text

TEXTS = st.text(alphabet=" \t\x00ab~é😀", max_size=7)
LENGTHS = st.integers(1, 6)
COLUMN = Column(("c",), "string")
ORDERS = {
    "EqualTo": lambda left, right: left == right,
    "EqualNullSafe": lambda left, right: left == right,
    "LessThan": lambda left, right: left < right,
    "LessThanOrEqual": lambda left, right: left <= right,
    "GreaterThan": lambda left, right: left > right,
    "GreaterThanOrEqual": lambda left, right: left >= right,
    "StartsWith": str.startswith,
    "EndsWith": str.endswith,
    "Contains": lambda left, right: right in left,
}


def literal(value: object) -> Literal:
    return Literal(pa.scalar(value))


def holds(expression: Expression, value: str) -> Any:
    """Evaluate as Spark does, whose texts compare by their bytes: as their characters do."""
    if isinstance(expression, Column):
        return value
    if isinstance(expression, Literal):
        return expression.python
    assert isinstance(expression, Call)
    arguments = expression.arguments
    if expression.name == PADDED:
        return holds(arguments[0], value).ljust(holds(arguments[1], value))
    if expression.name == "StringRPad":
        length = holds(arguments[1], value)
        return holds(arguments[0], value).ljust(length)[:length]
    if expression.name in ("And", "Or"):
        return (all if expression.name == "And" else any)(holds(each, value) for each in arguments)
    if expression.name == "Not":
        return not holds(arguments[0], value)
    if expression.name == "In":
        assert isinstance(arguments[1], LiteralSet)
        return holds(arguments[0], value) in arguments[1].values.to_pylist()
    return ORDERS[expression.name](holds(arguments[0], value), holds(arguments[1], value))


@settings(max_examples=2000)
@given(
    value=TEXTS,
    length=LENGTHS,
    name=st.sampled_from([*ORDERS, "In"]),
    texts=st.lists(TEXTS, min_size=1, max_size=3),
    longer=st.none() | st.integers(0, 9),
    negated=st.booleans(),
    turned=st.booleans(),
)
@example(
    value="a", length=5, name="GreaterThanOrEqual", texts=["a \tz"], longer=None, negated=False, turned=False
)
@example(
    value="a" + " " * 9,
    length=3,
    name="EqualTo",
    texts=["a" + " " * 400],
    longer=None,
    negated=False,
    turned=False,
)
def test_what_is_implied_holds(
    value: str, length: int, name: str, texts: list[str], longer: int | None, negated: bool, turned: bool
) -> None:
    filled: Expression = Call(PADDED, (COLUMN, literal(length))) if longer is None or longer % 2 else COLUMN
    if longer is not None:
        filled = Call("StringRPad", (filled, literal(longer), literal(" ")))
    if name == "In":
        node = Call("In", (filled, LiteralSet(pa.array(texts))))
    elif turned and name not in ("StartsWith", "EndsWith", "Contains"):
        node = Call(name, (literal(texts[0]), filled))
    else:
        node = Call(name, (filled, literal(texts[0])))
    asked = Call("Not", (node,)) if negated else node
    found = of_padded_text(asked)
    if found is not None and holds(asked, value):
        assert holds(found, value), (asked, found)


def test_it_is_known_of_most_comparisons() -> None:
    filled = Call(PADDED, (COLUMN, literal(5)))
    for name in ORDERS:
        assert of_padded_text(Call(name, (filled, literal("ab   ")))) is not None, name
    assert of_padded_text(Call("Not", (Call("EqualTo", (filled, literal("ab   "))),))) is not None
    assert of_padded_text(Call("IsNotNull", (filled,))) == Call("IsNotNull", (COLUMN,))
    cut = Call("StringRPad", (COLUMN, literal(5), literal(" ")))
    assert of_padded_text(Call("Not", (Call("EqualTo", (cut, literal("ab   "))),))) is not None
    assert of_padded_text(Call("Not", (Call("EqualTo", (cut, literal("ab    "))),))) is None
    assert of_padded_text(Call("EqualTo", (filled, COLUMN))) is None
    assert of_padded_text(Call("EqualTo", (COLUMN, literal("ab")))) is None
