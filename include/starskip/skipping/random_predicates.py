"""Draw predicates over a table's columns, with literals that it has, that lie near these, and beyond them.

Every form of a predicate meets every kind of literal before one comes again, so that a few hundred
predicates find a fault that only one operator has with only one kind of value.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import reduce
from itertools import chain, product
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.predicates.data_types import literal_type_of
from starskip.predicates.expression import Call, Column, Expression, Literal, LiteralSet

_COMPARISONS = (
    "EqualTo",
    "EqualNullSafe",
    "LessThan",
    "LessThanOrEqual",
    "GreaterThan",
    "GreaterThanOrEqual",
)
_OF_ONE = (*_COMPARISONS, "NotEqual")
_OF_SEVERAL = ("In", "NotIn", "Between", "NotBetween")
_OF_TEXTS = ("StartsWith", "EndsWith", "Contains", "Like", "NotLike", "Levenshtein")
_NULL_TESTS = ("IsNull", "IsNotNull")
_PATTERNS = ("{}%", "%{}", "%{}%", "{}", "_%{}%", "{}_%")
_FROM_TABLE = ("bound", "bound", "value", "near", "beside a bound")
_SINGLE_RATIO = 0.7
"""Share of the predicates that are no trees: they come first, since a simple counterexample says most."""
_ANY_COLUMN_RATIO = 0.2
_BOX_RATIO = 0.5
"""Share of trees that bound all columns of an index of several."""
_REPEATED, _OF_BOOLEANS = 3, 30
"""The number of null tests, and of booleans that stand alone, for one other form with one kind of literal."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A column, or what stands for an expression of columns, with ``values`` that the table has.

    ``bounds``: least and greatest values of files. ``weight``: how often it is asked for, beside others.
    """

    column: Column
    values: tuple[pa.Scalar, ...] = ()
    bounds: tuple[pa.Scalar, ...] = ()
    weight: float = 1.0
    is_function: bool = False


def random_predicates(
    indexed: Sequence[Sequence[Operand]],
    others: Sequence[Operand],
    rng: random.Random,
    wanted: int,
    *,
    with_functions: bool = True,
) -> Iterator[Expression]:
    """Yield predicates without end; of the first ``wanted``, trees follow the single ones.

    ``indexed``: the operands of each index, which take turns; ``others`` only stand beside them in trees.
    ``with_functions``: whether ``if`` and ``coalesce`` may stand in a tree.
    """
    drawn = [_Drawn(operands, rng) for operands in indexed if operands]
    beside = _Drawn(others, rng) if others else None
    for number in range(int(wanted * _SINGLE_RATIO)):
        yield drawn[number % len(drawn)].leaf()
    turn = 0
    while drawn:
        own = drawn[turn % len(drawn)]
        turn += 1

        def leaf(own: _Drawn = own) -> Expression:
            is_other = beside is not None and rng.random() < _ANY_COLUMN_RATIO
            return beside.leaf() if is_other and beside is not None else own.leaf()

        is_box = own.columns > 1 and rng.random() < _BOX_RATIO
        yield own.box() if is_box else _tree(leaf, rng, with_functions=with_functions)


def probe(operand: Operand) -> Expression | None:
    """Return an OR of common predicates of an operand, which shows whether an index judges any of them."""
    column, known = operand.column, [Literal(each) for each in operand.values]
    if column.data_type == "boolean":
        return column
    names: tuple[str, ...] = ("EqualTo", "GreaterThan", "LessThan")
    if column.data_type == "string":
        names = (*names, "StartsWith", "EndsWith", "Contains")
    asked = [Call(name, (column, known[at % len(known)])) for at, name in enumerate(names) if known]
    return Call("Or", tuple(asked)) if asked else None


def _tree(leaf: Callable[[], Expression], rng: random.Random, *, with_functions: bool) -> Expression:
    def both() -> Expression:
        return Call(rng.choice(("And", "Or")), (leaf(), leaf()))

    truth = Literal(pa.scalar(rng.random() < 0.5))
    forms: list[Callable[[], Expression]] = [
        lambda: _not(leaf()),
        both,
        both,
        lambda: _not(both()),
        lambda: Call("And", (both(), leaf())),
        lambda: Call("Or", (both(), _not(leaf()))),
        lambda: Call("EqualNullSafe", (leaf(), truth)),
    ]
    if with_functions:
        forms.append(lambda: Call("Coalesce", (leaf(), truth)))
        forms.append(lambda: Call("If", (leaf(), leaf(), leaf())))
    return rng.choice(forms)()


class _Drawn:
    """Draws predicates of single operands, in which forms and kinds of literals take turns."""

    def __init__(self, operands: Sequence[Operand], rng: random.Random) -> None:
        self._rng = rng
        self._operands = [self._turns(each) for each in operands]
        self._weights = [each.weight for each in operands]
        self._columns = [each for each in operands if not each.is_function]

    def _turns(self, operand: Operand) -> Iterator[tuple[Operand, str, Any]]:
        """Yield an operand with forms and kinds of literals, every pair before one comes again."""
        every = [(operand, *turn) for turn in _forms(operand)]
        while True:
            self._rng.shuffle(every)
            yield from every

    @property
    def columns(self) -> int:
        """The number of columns, without functions of these."""
        return len(self._columns)

    def box(self) -> Expression:
        """Return bounds of all columns, most of them on both sides."""
        bounds: list[Expression] = []
        for each in self._columns:
            ends = [self._literal(each, self._rng.choice(_FROM_TABLE)) for _ in range(2)]
            # Most boxes hold something.
            low, high = sorted(ends, key=_as_number) if self._rng.random() < 0.8 else ends
            bounds.append(
                Call(self._rng.choice(("GreaterThan", "GreaterThanOrEqual")), (each.column, Literal(low)))
            )
            bounds.append(
                Call(self._rng.choice(("LessThan", "LessThanOrEqual")), (each.column, Literal(high)))
            )
        if self._rng.random() < 0.3:
            bounds.pop(self._rng.randrange(len(bounds)))
        return reduce(lambda one, two: Call("And", (one, two)), bounds)

    def leaf(self) -> Expression:
        """Return a predicate without AND and OR."""
        (turns,) = self._rng.choices(self._operands, self._weights)
        operand, form, kind = next(turns)
        column = operand.column
        if form == "Itself":
            return column
        if form in _NULL_TESTS:
            return Call(form, (column,))
        if form in _OF_TEXTS:
            return self._of_text(operand, form, kind)
        first = self._literal(operand, kind)
        if form in ("In", "NotIn"):
            listed = [first, *(self._literal(operand, "any") for _ in range(self._rng.randint(0, 3)))]
            known = pa.array([each for each in listed if each.is_valid], first.type)
            found = Call("In", (column, LiteralSet(known, has_null=len(known) < len(listed))))
            return found if form == "In" else _not(found)
        if form in ("Between", "NotBetween"):
            ends = [Literal(first), Literal(self._literal(operand, "any"))]
            self._rng.shuffle(ends)
            low, high = (
                Call("GreaterThanOrEqual", (column, ends[0])),
                Call("LessThanOrEqual", (column, ends[1])),
            )
            return Call("And", (low, high)) if form == "Between" else _not(Call("And", (low, high)))
        sides: tuple[Expression, Expression] = (column, Literal(first))
        others = (each.column for each in self._columns if each is not operand)
        alike = [each for each in others if each.data_type == column.data_type]
        if alike and self._rng.random() < 0.05:
            sides = column, self._rng.choice(alike)
        if form == "NotEqual":
            return _not(Call("EqualTo", sides))
        return Call(form, sides if self._rng.random() < 0.8 else sides[::-1])

    def _of_text(self, operand: Operand, form: str, kind: Any) -> Expression:
        text = self._literal(operand, kind).as_py() or ""
        if form == "Levenshtein":
            distance = Call(form, (operand.column, Literal(pa.scalar(text[:20]))))
            return Call(
                "LessThanOrEqual", (distance, Literal(pa.scalar(self._rng.randint(0, 4), pa.int32())))
            )
        start = self._rng.choice((0, 0, self._rng.randint(0, len(text))))
        part = text[start:] if self._rng.random() < 0.4 else text[start : start + self._rng.randint(1, 6)]
        if "Like" not in form:
            return Call(form, (operand.column, Literal(pa.scalar(part))))
        for sign in "\\%_":
            part = part.replace(sign, f"\\{sign}")
        pattern = self._rng.choice(_PATTERNS).replace("{}", part)
        found = Call("Like", (operand.column, Literal(pa.scalar(pattern))))
        return found if form == "Like" else _not(found)

    def _literal(self, operand: Operand, kind: Any) -> pa.Scalar:
        """Return a literal of a kind, which is the literal itself where it does not come from the table."""
        if isinstance(kind, pa.Scalar):
            return kind
        if kind == "any":
            return self._literal(operand, self._rng.choice(_kinds(operand)))
        known = operand.bounds if "bound" in kind and operand.bounds else operand.values or operand.bounds
        if not known:
            return self._rng.choice(_specials(literal_type_of(operand.column.data_type)))
        value = self._rng.choice(known)
        if kind in ("bound", "value"):
            return value
        if kind in ("upper", "lower"):
            other = "lower" if kind == "upper" else "upper"
            cased = [each for each in known if each.as_py() != getattr(each.as_py(), other)()]
            if cased and self._rng.random() < 0.5:
                return self._rng.choice(cased)
            return pa.scalar(getattr(value.as_py(), kind)(), value.type)
        return self._rng.choice(_near(value) or [value])


def _forms(operand: Operand) -> Iterator[tuple[str, Any]]:
    kind = literal_type_of(operand.column.data_type)
    own: list[tuple[str, Any]] = [(each, None) for each in _NULL_TESTS] * _REPEATED
    if operand.column.data_type == "boolean":
        own += [("Itself", None)] * _OF_BOOLEANS
    if kind is None:
        return iter(own)
    texts: Iterator[tuple[str, Any]] = iter(())
    if pa.types.is_string(kind):
        texts = product(_OF_TEXTS, ("bound", "value", "value", "near", "upper", "lower"))
    # The others of several literals are of any kind.
    several = product(_OF_SEVERAL, ("bound", "value", "near", "any"))
    equal = product(("EqualTo", "EqualTo", "EqualNullSafe"), ("value", "value", "near"))
    return chain(own, product(_OF_ONE, _kinds(operand)), equal, several, texts)


def _kinds(operand: Operand) -> list[Any]:
    kind = literal_type_of(operand.column.data_type)
    of_case = ("upper", "lower") if kind is not None and pa.types.is_string(kind) else ()
    return [*_FROM_TABLE, *of_case, *_specials(kind), pa.scalar(None, kind)]


def _not(expression: Expression) -> Call:
    return Call("Not", (expression,))


def _specials(kind: pa.DataType | None) -> list[pa.Scalar]:
    """Return values of a type that are easily forgotten: its ends, NaN and both zeros, and empty texts."""
    found: tuple[Any, ...] = (None,)
    if kind is None or pa.types.is_null(kind):
        return [pa.scalar(None, kind or pa.null())]
    if pa.types.is_boolean(kind):
        found = (True, False)
    elif pa.types.is_integer(kind):
        bits = kind.bit_width - 1
        found = (-(1 << bits), 0, (1 << bits) - 1)
    elif pa.types.is_floating(kind):
        found = (float("nan"), float("inf"), float("-inf"), 0.0, -0.0)
    elif pa.types.is_decimal(kind):
        most = Decimal((0, (9,) * kind.precision, -kind.scale))
        found = (Decimal(0), most, most.copy_negate())
    elif pa.types.is_string(kind):
        found = ("", " ", "\U0010ffff", "Zz")
    elif pa.types.is_binary(kind):
        found = (b"", b"\xff")
    elif pa.types.is_date(kind):
        return [pa.scalar(each, pa.int32()).cast(kind) for each in (-719162, 0, 2932896)]
    elif pa.types.is_timestamp(kind):
        ends = (-62135596800000000, 0, 253402300799999999)
        return [pa.scalar(each, pa.int64()).cast(kind) for each in ends]
    return [pa.scalar(each, kind) for each in found]


def _as_number(value: pa.Scalar) -> Any:
    """Return what orders values; Python has no times before its year 1."""
    if not pa.types.is_temporal(value.type):
        return value.as_py()
    return value.cast(pa.int32() if pa.types.is_date(value.type) else pa.int64()).as_py()


def _near(value: pa.Scalar) -> list[pa.Scalar]:
    """Return the values that lie next to a value, and some a little further away."""
    kind, known = value.type, _as_number(value)
    candidates: list[Any] = []
    if pa.types.is_boolean(kind):
        candidates = [not known]
    elif pa.types.is_integer(kind):
        candidates = [known - 1, known + 1, known + 10]
    elif pa.types.is_floating(kind):
        number = np.float32(known) if pa.types.is_float32(kind) else np.float64(known)
        ends = (number.dtype.type(end) for end in ("-inf", "inf"))
        with np.errstate(all="ignore"):
            candidates = [*(float(np.nextafter(number, end)) for end in ends), known - 1, known + 0.5, -known]
    elif pa.types.is_decimal(kind):
        step = Decimal((0, (1,), -kind.scale))
        candidates = [known - step, known + step]
    elif pa.types.is_string(kind):
        candidates = [known[:-1], known + " ", known + "a", known.swapcase(), known[1:]]
    elif pa.types.is_binary(kind):
        candidates = [known[:-1], known + b"\0"]
    elif pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        of = pa.int32() if pa.types.is_date(kind) else pa.int64()
        return [pa.scalar(known + step, of).cast(kind) for step in (-1, 1, 1_000)]
    found = []
    for each in candidates:
        try:
            found.append(pa.scalar(each, kind))
        except (pa.ArrowInvalid, OverflowError):
            continue  # beyond the type
    return found
