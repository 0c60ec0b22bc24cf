"""Functions of users: what they imply, and what is never concluded."""

from __future__ import annotations

from datetime import date

import pyarrow as pa
import pytest
from skipping_law.files_metadata import Files, collected, files_read
from skipping_law.written import negated
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping.registry import index_from_specification
from starskip.skipping.user_functions import implications, map_function

LAT, LNG = Column(("lat",), "double"), Column(("lng",), "double")
ROWS = [[(25.0, -70.0)], [(48.0, 16.0)], [(25.0, 16.0), (48.0, -70.0)], [(None, -70.0)]]
FILES = Files(
    {"lat": pa.float64(), "lng": pa.float64()}, [[{"lat": a, "lng": b} for a, b in of] for of in ROWS]
)


def test_a_function_that_nobody_has_mapped():
    index = index_from_specification("minmax:lat")
    metadata = collected([index], FILES)
    is_near = Call("udf:is_near", (LAT, LNG))
    assert files_read(is_near, [index], metadata) == [True] * 4
    map_function("IS_NEAR", lambda node: Call("IsNotNull", (node.arguments[0],)))
    assert files_read(is_near, [index], metadata) == [True, True, True, False]
    assert files_read(negated(is_near), [index], metadata) == [True] * 4


def test_an_implication_that_fails_tells_nothing_and_one_warning_says_so_without_the_literal(
    caplog: pytest.LogCaptureFixture,
) -> None:
    map_function("is_day", of_a_day)
    index = index_from_specification("minmax:lat")
    metadata = collected([index], FILES)
    asked = Call("udf:is_day", (Column(("day",), "date"), Literal(pa.scalar("a secret"))))
    southern = Call("LessThan", (LAT, Literal(pa.scalar(30.0))))
    assert files_read(asked, [index], metadata) == [True] * 4
    assert files_read(Call("And", (asked, southern)), [index], metadata) == [True, False, True, False]
    (warning,) = caplog.messages
    assert warning.startswith("the implication of function is_day is not used")
    assert warning.endswith("raised ValueError")


def of_a_day(node: Expression) -> Expression:
    (day,) = (each.python for each in node.arguments if isinstance(each, Literal))
    return Call("EqualTo", (Column(("day",), "date"), Literal(pa.scalar(date.fromisoformat(day)))))


@pytest.mark.parametrize("kind", [pa.date32(), pa.timestamp("us")])
def test_a_day_that_python_does_not_have(kind: pa.DataType) -> None:
    number = pa.array([3_000_000 if kind == pa.date32() else 300_000_000_000_000_000])
    beyond = number.cast(pa.int32() if kind == pa.date32() else pa.int64()).view(kind)[0]
    with pytest.raises((OverflowError, ValueError)):
        beyond.as_py()
    compared = Call("EqualTo", (Call("DateAdd", (Column(("day",), "date"),)), Literal(beyond)))
    assert implications()[1](compared) is None


def test_a_wrapped_predicate_says_what_is_inside() -> None:
    inner = Call("IsNull", (Column(("c",), "int"),))
    wrapped = [Call("EqualNullSafe", (inner, Literal(pa.scalar(each, pa.bool_())))) for each in (True, False)]
    assert [implications()[1](each) for each in wrapped] == [inner, Call("Not", (inner,))]
    assert implications()[1](Call("EqualTo", (inner, Literal(pa.scalar(None, pa.bool_()))))) is None
