"""A table of six files that the night asks Spark about, and what is asked of it."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping.registry import index_from_specification

ROWS = 600
FILES = 6
ID, S, DAY = Column(("id",), "bigint"), Column(("s",), "string"), Column(("day",), "date")


def literal(value: Any, kind: pa.DataType) -> Literal:
    return Literal(pa.scalar(value, kind))


def call(name: str, *arguments: Expression) -> Call:
    return Call(name, arguments)


def below(limit: int) -> Call:
    return call("LessThan", ID, literal(limit, pa.int64()))


def indexes(*specifications: str) -> list[Any]:
    return [index_from_specification(each) for each in specifications]
