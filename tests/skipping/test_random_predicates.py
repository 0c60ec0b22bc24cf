"""Random predicates: of every type of column, in every form, the same ones for the same seed."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice
from typing import Any

import pyarrow as pa
import pytest
from skipping_law.files_metadata import Files, collected, files_matching, files_read
from skipping_law.predicates import TYPES
from starskip.predicates.expression import Call, Column, Expression, Literal, nodes
from starskip.predicates.expression_sql import expression_sql
from starskip.skipping.clause import Clause, NoFile
from starskip.skipping.index_types.min_max import MinMax
from starskip.skipping.random_predicates import Operand, random_predicates

VALUES: dict[str, Any] = {"string": ["Ab%_\\", "é😀"], "binary": [b"\x00\xff"], "boolean": [True, False]}


def operand(data_type: str, name: str = "c") -> Operand:
    kind = TYPES[data_type][0]
    known = tuple(pa.scalar(each, kind) for each in VALUES.get(data_type, (1, 2)))
    return Operand(Column((name,), data_type), known, known[:1])


def drawn(seed: int, *operands: Operand, count: int = 300) -> list[Expression]:
    found = random_predicates([operands], [], random.Random(seed), count)
    return list(islice(found, count))


@pytest.mark.parametrize("data_type", TYPES)
def test_predicates_of_each_type_are_sql(data_type: str) -> None:
    texts = [expression_sql(each) for each in drawn(1, operand(data_type))]
    assert len(set(texts)) > len(texts) // 3
    assert texts == [expression_sql(each) for each in drawn(1, operand(data_type))]
    assert texts != [expression_sql(each) for each in drawn(2, operand(data_type))]


def test_each_form_and_each_odd_value_is_drawn() -> None:
    names = Counter(
        node.name
        for data_type in ("double", "string")
        for each in drawn(1, operand(data_type))
        for node in nodes(each)
        if isinstance(node, Call)
    )
    wanted = "EqualTo EqualNullSafe LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual In And Or Not If"
    assert {*wanted.split(), "IsNull", "StartsWith", "EndsWith", "Contains", "Like", "Coalesce"} <= {*names}
    literals = {
        str(node.python)
        for each in drawn(1, operand("double"))
        for node in nodes(each)
        if isinstance(node, Literal)
    }
    assert {"nan", "inf", "-inf", "0.0", "-0.0", "None", "2.0"} <= literals


def test_a_column_of_no_comparable_type_is_asked_for_null_alone() -> None:
    asked = drawn(1, Operand(Column(("c",), "map<string,int>")), count=30)
    leaves = {node.name for each in asked for node in nodes(each) if isinstance(node, Call)}
    assert leaves <= {"IsNull", "IsNotNull", "And", "Or", "Not", "EqualNullSafe", "If", "Coalesce"}


class Wrong(MinMax):
    """Leaves out every file for one operator with one kind of literal."""

    operator, literals = "EqualTo", ("nan",)

    def label(self, node: Expression) -> Clause | None:
        is_mine = isinstance(node, Call) and node.name == self.operator and self.is_of(node.arguments[0])
        literal = str(getattr(node.arguments[-1], "python", "")) if isinstance(node, Call) else ""
        if is_mine and (not self.literals or literal in self.literals):
            return NoFile()
        return super().label(node)


class WrongZero(Wrong):
    literals = ("-0.0",)


class WrongBound(Wrong):
    operator, literals = "GreaterThanOrEqual", ("3.5", "7.5")


class WrongNull(Wrong):
    operator, literals = "IsNull", ()


@pytest.mark.parametrize("wrong", [MinMax, Wrong, WrongZero, WrongBound, WrongNull])
def test_a_fault_of_one_operator_and_one_value_is_met(wrong: type[MinMax]) -> None:
    rows = [[float("nan"), 0.0, None, 3.5], [1.5, 2.5, 3.5], [float(each) for each in range(50, 80)], [7.5]]
    files = Files.of(pa.float64(), *rows)
    index = wrong(["c"])
    metadata = collected([index], files)
    known = [pa.scalar(each, pa.float64()) for each in (0.0, 1.5, 3.5, 7.5, 50.0, 66.0, 79.0)]
    asked = Operand(Column(("c",), "double"), tuple(known), tuple(known))
    drawn_here = random_predicates([[asked]], [], random.Random(5), 400, with_functions=False)
    found = sum(
        any(
            has and not is_read
            for has, is_read in zip(
                files_matching(each, files, {}), files_read(each, [index], metadata), strict=True
            )
        )
        for each in islice(drawn_here, 400)
    )
    assert (found > 0) == (wrong is not MinMax)
