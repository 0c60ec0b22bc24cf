"""Predicates as trees that are independent of the engine ("Extensible Data Skipping", II-A2).

Calls have the names of Catalyst's expressions (``EqualTo``, ``StartsWith``, ``And``), as its optimizer leaves
them. A user-defined function is ``udf:`` and its name in lower case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Column:
    """A column or a field of a struct: ``path`` as the schema spells it, ``data_type`` as in Spark."""

    path: tuple[str, ...]
    data_type: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A literal as an Arrow scalar of the type that corresponds to its Spark type; an invalid scalar is null.

    Timestamps are microseconds (with zone UTC, or none for TIMESTAMP_NTZ), strings are UTF-8.
    """

    value: pa.Scalar

    @property
    def python(self) -> Any:
        """The value as a Python object, None for null."""
        return self.value.as_py()


@dataclass(frozen=True, slots=True)
class LiteralSet:
    """The literals of an IN without null; ``has_null`` is set if null is among them."""

    values: pa.Array
    has_null: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator with its arguments; no index labels an unknown name."""

    name: str
    arguments: tuple[Expression, ...] = ()

    @property
    def left(self) -> Expression:
        """The first argument."""
        return self.arguments[0]

    @property
    def right(self) -> Expression:
        """The second argument."""
        return self.arguments[1]


Expression = Column | Literal | LiteralSet | Call


def nodes(expression: Expression) -> Iterator[Expression]:
    """Yield the expression and all its descendants."""
    waiting = [expression]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, Call):
            waiting.extend(found.arguments)
