"""Predicates as trees that know no engine: what filters of index types label with clauses (seed 003, II-A2).

The names of calls are Catalyst's (``EqualTo``, ``StartsWith``, ``And``), since its optimiser has simplified
the tree before it gets here; a user's function is ``udf:`` and its name in small letters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table, or a field of one; ``path`` as the schema spells it, ``data_type`` as Spark."""

    path: tuple[str, ...]
    data_type: str


@dataclass(frozen=True, slots=True)
class Literal:
    """A known value, null if ``value.is_valid`` is false; the Arrow type is that of the Spark type.

    Timestamps are microseconds (with zone UTC, or none for TIMESTAMP_NTZ), texts are UTF-8.
    """

    value: pa.Scalar

    @property
    def python(self) -> Any:
        """The value as Python has it, None for null."""
        return self.value.as_py()


@dataclass(frozen=True, slots=True)
class LiteralSet:
    """The values of an IN of literals, without null; ``has_null``: whether null was one of them."""

    values: pa.Array
    has_null: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function or operator over its arguments; one that nobody knows is never labelled."""

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
    """Yield the expression and all below it."""
    waiting = [expression]
    while waiting:
        found = waiting.pop()
        yield found
        if isinstance(found, Call):
            waiting.extend(found.arguments)
