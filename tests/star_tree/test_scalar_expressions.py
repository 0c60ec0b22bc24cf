"""Predicates and group expressions over dictionaries, and the literals in them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import UnsupportedQuery
from starskip.sql.pinot_dialect import PinotDialect
from starskip.sql.sandboxed_duckdb import locked_database
from starskip.star_tree import scalar_expressions
from starskip.star_tree.query.scalar_functions import known_functions
from starskip.star_tree.scalar_expressions import ScalarExpressions

DATABASE = locked_database()
DAYS = pa.array([date(2024, 1, 31), date(2024, 2, 1), date(2024, 2, 29), date(2025, 1, 1)])
MOMENTS = [datetime(2024, 1, 31, 23), datetime(2024, 2, 1), datetime(2024, 2, 1, 0, 0, 1)]
TIMES = pa.array(MOMENTS, pa.timestamp("us"))
ZONED = pa.array([each.replace(tzinfo=UTC) for each in MOMENTS], pa.timestamp("us", "UTC"))
TEXTS = pa.array(["", "5", "A_c", "a", "abc", "it's", "日本"])
NUMBERS = pa.array([-3, 0, 1, 2, 500], pa.int32())
DECIMALS = pa.array([Decimal("0.05"), Decimal("0.07")], pa.decimal128(9, 2))
FLOATS = pa.array([-1.5, 0.0, 0.1, float("inf"), float("nan")])
BOOLEANS = pa.array([False, True])


def expression(text: str, dialect: Any = PinotDialect) -> sqlglot.exp.Expr:
    select = sqlglot.parse_one(f"SELECT {text} AS x FROM t", dialect=dialect)
    known_functions(select)
    found: sqlglot.exp.Expr = select.expressions[0].this
    return found


def passing(values: pa.Array, text: str, dialect: Any = PinotDialect) -> list[Any]:
    """The values that a predicate lets pass, null among them."""
    mask = ScalarExpressions(DATABASE).mask(object(), "c", values, expression(text, dialect))
    assert len(mask) == len(values) + 1
    everything = [*values.to_pylist(), None]
    return [value for value, passes in zip(everything, mask.tolist(), strict=True) if passes]


@pytest.mark.parametrize(
    ("values", "predicate", "wanted"),
    [
        (NUMBERS, "c = 1", [1]),
        (NUMBERS, "1 = c", [1]),
        (NUMBERS, "c <> 1", [-3, 0, 2, 500]),
        (NUMBERS, "c IN (1, 2, 7)", [1, 2]),
        (NUMBERS, "c NOT IN (1, 2)", [-3, 0, 500]),
        (NUMBERS, "c NOT IN (1, NULL)", []),
        (NUMBERS, "c IN (1, NULL)", [1]),
        (NUMBERS, "c = NULL", []),
        (NUMBERS, "c BETWEEN 0 AND 2", [0, 1, 2]),
        (NUMBERS, "NOT c BETWEEN 0 AND 2", [-3, 500]),
        (NUMBERS, "c >= -3 AND (c < 1 OR c > 100)", [-3, 0, 500]),
        (NUMBERS, "NOT (c = 1 OR c = 2)", [-3, 0, 500]),
        (NUMBERS, "c IS NULL", [None]),
        (NUMBERS, "c IS NULL OR c = 2", [2, None]),
        (NUMBERS, "c IS NOT NULL", [-3, 0, 1, 2, 500]),
        (NUMBERS, "coalesce(c, 1) = 1", [1, None]),
        (NUMBERS, "c / 2 = 0.5", [1]),
        (NUMBERS, "10 / c > 5", [0, 1]),  # a division of doubles, as in Pinot
        (NUMBERS, "c = 1.0", [1]),
        (NUMBERS, "c > 100000000000000000000", []),
        (NUMBERS, "c IS NOT DISTINCT FROM 1", [1]),
        (TEXTS, "c = 'a'", ["a"]),
        (TEXTS, "c = 'it''s'", ["it's"]),
        (TEXTS, "c >= 'a' AND c < 'b'", ["a", "abc"]),
        (TEXTS, "c LIKE 'a%'", ["a", "abc"]),
        (TEXTS, "c NOT LIKE '%'", []),
        (TEXTS, r"c LIKE 'A\_%'", ["A_c"]),
        (TEXTS, "c LIKE 'A!_%' ESCAPE '!'", ["A_c"]),
        (TEXTS, "c = ''", [""]),
        (TEXTS, "length(c) = 2", ["日本"]),
        (TEXTS, "upper(c) = 'A'", ["a"]),
        (TEXTS, "c IN ('5')", ["5"]),
        (DAYS, "c = '2024-02-01'", [date(2024, 2, 1)]),
        (DAYS, "c > '2024-02-01 00:00:01'", [date(2024, 2, 29), date(2025, 1, 1)]),
        (DAYS, "c >= DATE '2024-12-31'", [date(2025, 1, 1)]),
        (DAYS, "date_trunc('month', c) = '2024-02-01'", [date(2024, 2, 1), date(2024, 2, 29)]),
        (DAYS, "c BETWEEN '2024-02-01' AND '2024-02-29'", [date(2024, 2, 1), date(2024, 2, 29)]),
        (DAYS, "c IN ('2025-01-01', '1999-01-01')", [date(2025, 1, 1)]),
        (DAYS, "c < DATE '2024-04-01' - INTERVAL '2' MONTH", [date(2024, 1, 31)]),
        (TIMES, "c < '2024-02-01'", MOMENTS[:1]),
        (TIMES, "c = '2024-02-01T00:00:01'", MOMENTS[2:]),
        (TIMES, "c = '2024-02-01 01:00:00+01:00'", MOMENTS[1:2]),
        (ZONED, "c < '2024-02-01'", [MOMENTS[0].replace(tzinfo=UTC)]),
        (ZONED, "c = '2024-02-01 01:00:00+01:00'", [MOMENTS[1].replace(tzinfo=UTC)]),
        (DECIMALS, "c = 0.05", [Decimal("0.05")]),
        (DECIMALS, "c BETWEEN 0.05 AND 0.06", [Decimal("0.05")]),
        (FLOATS, "c = 0.1", [0.1]),
        (FLOATS, "c > 1e300", [float("inf"), pytest.approx(float("nan"), nan_ok=True)]),
        (BOOLEANS, "c", [True]),
        (BOOLEANS, "NOT c", [False]),
        (BOOLEANS, "c = 'true'", [True]),
        (BOOLEANS, "c = 0", [False]),
    ],
)
def test_a_predicate_passes_the_values_that_make_it_true(
    values: pa.Array, predicate: str, wanted: list[Any]
) -> None:
    assert passing(values, predicate) == wanted


def test_spark_writes_its_own_way() -> None:
    assert passing(DAYS, "year(`c`) = 2025", "spark") == [date(2025, 1, 1)]
    assert passing(NUMBERS, "c <=> 1", "spark") == [1]
    assert passing(DAYS, "c >= date_add('2024-12-30', 2)", "spark") == [date(2025, 1, 1)]


@pytest.mark.parametrize(
    ("values", "predicate", "told"),
    [
        (NUMBERS, "c = '1'", "int32.*a number.*'1'"),
        (NUMBERS, "c IN (1, 'a')", "'a'"),
        (NUMBERS, "c BETWEEN 1 AND 'a'", "'a'"),
        (NUMBERS, "c = true", "a number"),
        (FLOATS, "'x' < c", "double"),
        (DECIMALS, "c = '0.05'", "decimal"),
        (TEXTS, "c = 5", "string.*a text, not with 5"),
        (TEXTS, "c > -5", "a text"),
        (DAYS, "c = 'yesterday'", "date32.*'2024-12-31'.*'yesterday'"),
        (DAYS, "c > 20240101", "date32"),
        (TIMES, "c > 1700000000000", "timestamp"),
        (BOOLEANS, "c = 'maybe'", "true or false"),
    ],
)
def test_a_literal_of_another_type_is_an_error_that_says_so(
    values: pa.Array, predicate: str, told: str
) -> None:
    with pytest.raises(UnsupportedQuery, match=told) as caught:
        passing(values, predicate)
    assert caught.value.reason == "literal_type"
    assert "column c" in str(caught.value) or str(caught.value).startswith("c is")


@pytest.mark.parametrize("predicate", ["CAST(c AS INT) = 5", "c LIKE 5", "c + 1 = 2", "substr(c, 'a') = 'b'"])
def test_what_cannot_be_computed_is_one_line(predicate: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        passing(TEXTS, predicate)
    assert caught.value.reason == "not_computed"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("values", "text", "groups"),
    [
        (NUMBERS, "abs(c) > 1", [[-3, 2, 500], [0, 1], [None]]),
        (TEXTS, "length(c)", [[""], ["5", "a"], ["A_c", "abc"], ["it's"], ["日本"], [None]]),
        (DAYS, "date_trunc('year', c)", [[*DAYS.to_pylist()[:3]], [date(2025, 1, 1)], [None]]),
        (NUMBERS, "coalesce(c, 2)", [[-3], [0], [1], [2, None], [500]]),
    ],
)
def test_a_group_expression_puts_values_together(
    values: pa.Array, text: str, groups: list[list[Any]]
) -> None:
    grouping = ScalarExpressions(DATABASE).grouping(object(), "c", values, expression(text))
    everything = [*values.to_pylist(), None]
    found: dict[int, list[Any]] = {}
    for value, code in zip(everything, grouping.codes.tolist(), strict=True):
        found.setdefault(code, []).append(value)
    assert sorted(found.values(), key=everything_position(everything)) == sorted(
        groups, key=everything_position(everything)
    )
    assert len(grouping.values) == len(groups)


def everything_position(everything: list[Any]) -> Any:
    return lambda group: everything.index(group[0])


def test_an_empty_dictionary_has_null_alone() -> None:
    assert passing(pa.array([], pa.int32()), "c IS NULL OR c = 1") == [None]


def test_constants() -> None:
    expressions = ScalarExpressions(DATABASE)
    assert expressions.is_true(expression("1 = 1"))
    assert not expressions.is_true(expression("1 = 0"))
    assert not expressions.is_true(expression("NULL"))


def test_the_same_question_is_computed_once_until_the_room_is_used_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scalar_expressions, "CACHED_BYTES", 3 * (len(NUMBERS) + 1))
    expressions = ScalarExpressions(DATABASE)
    masks = [expressions.mask("k", "c", NUMBERS, expression(f"c = {n}")) for n in (0, 1, 2)]
    assert expressions.mask("k", "c", NUMBERS, expression("c = 0")) is masks[0]
    expressions.mask("k", "c", NUMBERS, expression("c = 500"))  # the room of the oldest, c = 1
    assert expressions.mask("k", "c", NUMBERS, expression("c = 0")) is masks[0]
    again = expressions.mask("k", "c", NUMBERS, expression("c = 1"))
    assert again is not masks[1]
    assert (again == masks[1]).all()
    with pytest.raises(ValueError, match="read-only"):
        again[0] = True


def test_many_threads_get_the_same_answers() -> None:
    values = pa.array(range(1000), pa.int32())
    expressions = ScalarExpressions(locked_database())

    def count(number: int) -> int:
        return int(expressions.mask("k", "c", values, expression(f"c < {number % 50}")).sum())

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(count, range(200))) == [number % 50 for number in range(200)]


@given(st.lists(st.integers(-50, 50), unique=True).map(sorted), st.integers(-50, 50), st.integers(-50, 50))
def test_ranges_are_those_of_python(numbers: list[int], low: int, high: int) -> None:
    mask = ScalarExpressions(DATABASE).mask(
        object(), "c", pa.array(numbers, pa.int64()), expression(f"c >= {low} AND NOT c > {high}")
    )
    assert (mask[:-1] == np.array([low <= number <= high for number in numbers], np.bool_)).all()
    assert not mask[-1]
