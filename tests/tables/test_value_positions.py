from __future__ import annotations

import datetime
import operator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.tables.value_positions import ValuePositions, value_of_type

INTS = ValuePositions(pa.array([-5, 0, 3, 7, 7_000_000_000], pa.int64()))
TEXTS = ValuePositions(pa.array(["", "10", "9", "AIR", "it's", "rail"]))


@pytest.mark.parametrize(
    ("literals", "positions"),
    [
        (["3"], [2]),
        (["'3"], [2]),  # Pinot takes a quoted number too
        (["3.0"], [2]),
        (["-5", "7", "8"], [0, 3]),
        (["3.5"], []),
        (["'x"], []),
        (["1e999999999"], []),
        (["99999999999999999999"], []),
        ([], []),
    ],
)
def test_equal_to_whole_numbers(literals: list[str], positions: list[int]) -> None:
    assert INTS.equal_to(literals).tolist() == positions


@pytest.mark.parametrize(
    ("low", "high", "positions"),
    [
        ("0", "7", [1, 2, 3]),
        ("0.5", "3.5", [2]),
        (None, "-1", [0]),
        ("'3", None, [2, 3, 4]),
        ("-1e999999999", "1e999999999", [0, 1, 2, 3, 4]),
        ("99999999999999999999", None, []),
        ("'x", None, []),
    ],
)
def test_between_whole_numbers(low: str | None, high: str | None, positions: list[int]) -> None:
    assert INTS.between(low, high, low_inclusive=True, high_inclusive=True).tolist() == positions


_EXTREMES = [-(2**63), -(2**63) + 1, -1, 0, 2**53 + 1, 2**63 - 2, 2**63 - 1]


@pytest.mark.parametrize("values", [_EXTREMES, _EXTREMES[::-1]], ids=["ascending", "in another order"])
@pytest.mark.parametrize(
    "bound",
    [
        *("-1e20", "1e20", "-1e999999999", "1e999999999", "0.5", "-0.5", "9007199254740992.5"),
        *("-9223372036854775808", "-9223372036854775808.5", "9223372036854775807", "9223372036854775806.5"),
    ],
)
def test_bounds_of_whole_numbers_are_exact(values: list[int], bound: str) -> None:
    positions = ValuePositions(pa.array(values, pa.int64()))
    for compare, ends, inclusive in (
        (operator.ge, (bound, None), True),
        (operator.gt, (bound, None), False),
        (operator.le, (None, bound), True),
        (operator.lt, (None, bound), False),
    ):
        found = positions.between(*ends, low_inclusive=inclusive, high_inclusive=inclusive)
        assert found.tolist() == [at for at, value in enumerate(values) if compare(value, Decimal(bound))]


def test_bounds_may_be_exclusive() -> None:
    assert INTS.between("0", "7", low_inclusive=False, high_inclusive=False).tolist() == [2]


def test_texts_are_ordered_as_texts() -> None:
    assert TEXTS.equal_to(["'it's", "9"]).tolist() == [2, 4]
    assert TEXTS.between("10", "'9", low_inclusive=True, high_inclusive=False).tolist() == [1]


@pytest.mark.parametrize(
    ("pattern", "positions"),
    [("'%i%", [4, 5]), ("'_", [2]), ("'", [0]), ("'A%", [3]), ("'%'s", [4]), ("'.", [])],
)
def test_like(pattern: str, positions: list[int]) -> None:
    assert TEXTS.like(pattern).tolist() == positions


def test_regular_expressions_find_anywhere_and_those_that_re2_refuses_are_unknown() -> None:
    found = TEXTS.regexp_like("'^[0-9]+$")
    assert found is not None
    assert found.tolist() == [1, 2]
    assert TEXTS.regexp_like("'(?<=a)b") is None
    assert TEXTS.regexp_like("'(") is None


def test_patterns_ask_texts_only() -> None:
    assert INTS.like("'%").tolist() == []
    found = INTS.regexp_like("'.*")
    assert found is not None
    assert found.tolist() == []


@pytest.mark.parametrize(
    ("kind", "literal", "value"),
    [
        (pa.bool_(), "'TRUE", True),
        (pa.bool_(), "0", False),
        (pa.bool_(), "2", None),
        (pa.int32(), "2147483648", None),
        (pa.float32(), "0.05", 0.05000000074505806),
        (pa.float64(), "1e-3", 0.001),
        (pa.decimal128(5, 2), "1.5", Decimal("1.50")),
        (pa.decimal128(5, 2), "1.555", None),
        (pa.decimal128(5, 2), "1e999999999", None),
        (pa.timestamp("ms"), "1577836800000", 1_577_836_800_000),
        (pa.timestamp("ms"), "'2020-01-01 00:00:00.5", 1_577_836_800_500),
        (pa.timestamp("ms"), "'soon", None),
        (pa.binary(), "'ff00", b"\xff\x00"),
        (pa.binary(), "'xyz", None),
    ],
)
def test_literals_of_each_type(kind: pa.DataType, literal: str, value: Any) -> None:
    assert value_of_type(literal, kind) == value


def test_timestamps_and_decimals_compare_by_value() -> None:
    days = ValuePositions(pa.array([datetime.datetime(2020, 1, d) for d in (1, 2, 3)], pa.timestamp("ms")))
    assert days.equal_to(["'2020-01-02 00:00:00"]).tolist() == [1]
    assert days.between("1577923200000", None, low_inclusive=False, high_inclusive=False).tolist() == [2]
    prices = ValuePositions(pa.array([Decimal("1.50"), Decimal("2.25")]))
    assert prices.equal_to(["1.5", "1e40", "'x"]).tolist() == [0]
    assert prices.between("2", "1e40", low_inclusive=True, high_inclusive=True).tolist() == [1]


numbers = st.lists(st.integers(-100, 100), min_size=1, max_size=20, unique=True)


@given(values=numbers, low=st.integers(-110, 110), high=st.floats(-110, 110).map(lambda x: round(x, 2)))
def test_between_agrees_with_plain_comparison(values: list[int], low: int, high: float) -> None:
    found = ValuePositions(pa.array(values, pa.int32())).between(
        str(low), str(high), low_inclusive=True, high_inclusive=False
    )
    assert found.tolist() == [
        at for at, value in enumerate(values) if low <= value and operator.lt(value, high)
    ]


KINDS = {
    "int32": pa.array([1, 2], pa.int32()),
    "int64": pa.array([1, 2], pa.int64()),
    "float32": pa.array([0.5, 1.0], pa.float32()),
    "float64": pa.array([0.5, float("nan")]),
    "string": pa.array(["a", "b"]),
    "bool": pa.array([False, True]),
    "timestamp": pa.array([0, 86_400_000], pa.timestamp("ms")),
    "decimal": pa.array([Decimal("1.50"), Decimal("2.25")]),
    "binary": pa.array([b"a", b"\x01"]),
    "nothing": pa.array([], pa.string()),
}
hostile = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [
            "1e999999999",
            "-1e999999999",
            "1e-999999999",
            "9" * 5000,
            "nan",
            "inf",
            "-",
            "²",
            "'\x00",
            "--5",
            "'" + "%" * 5000,
            "'" + "_" * 5000,
            "'" + "(" * 2000,
            "'a{1000}{1000}",
            "'(a*)*b",
            "0x1F",
            "'9999-12-31T23:59:59+14:00",
            "'0001-01-01",
            "99999999999999999999",
        ]
    ),
)


@pytest.mark.timeout(60)
@settings(max_examples=200, deadline=None)
@given(kind=st.sampled_from(sorted(KINDS)), literals=st.lists(hostile, min_size=1, max_size=3))
def test_no_literal_breaks_a_comparison(kind: str, literals: list[str]) -> None:
    values = ValuePositions(KINDS[kind])
    rows = range(len(KINDS[kind]))
    for found in (
        values.equal_to(literals),
        values.between(literals[0], None, low_inclusive=True, high_inclusive=False),
        values.between(None, literals[0], low_inclusive=True, high_inclusive=True),
        values.like(literals[0]),
        values.regexp_like(literals[0]),
    ):
        assert found is None or set(found.tolist()) <= set(rows)


_WHOLE = st.integers(-(2**63), 2**63 - 1)
_ASCENDING = {
    "int64": (pa.int64(), st.one_of(st.integers(-9, 9), _WHOLE)),
    "int32": (pa.int32(), st.integers(-(2**31), 2**31 - 1)),
    "string": (pa.string(), st.text(max_size=3)),
    "timestamp": (pa.timestamp("ms"), st.one_of(st.integers(-9, 9), st.integers(-(10**13), 10**13))),
}


@pytest.mark.parametrize("kind", _ASCENDING)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), is_low_in=st.booleans(), is_high_in=st.booleans())
def test_values_that_ascend_are_found_as_in_any_other_order(
    kind: str, data: st.DataObject, is_low_in: bool, is_high_in: bool
) -> None:
    arrow_type, drawn = _ASCENDING[kind]
    values = sorted(data.draw(st.sets(drawn, min_size=2, max_size=12)))
    some = st.one_of(st.sampled_from(values), drawn, st.sampled_from(["0.5", "-3.5", "1e20", "-1e20"]))
    literals = [f"'{each}" for each in data.draw(st.lists(some, min_size=1, max_size=20))]
    low, high = (data.draw(st.sampled_from([None, *literals])) for _ in range(2))
    rising = pa.array(values, pa.int64() if kind == "timestamp" else arrow_type).cast(arrow_type)
    ends = {"low_inclusive": is_low_in, "high_inclusive": is_high_in}

    def found(of: pa.Array) -> list[list[Any]]:
        positions = ValuePositions(of)
        return [
            sorted(of.take(pa.array(some, pa.int64())).cast(rising.type).to_pylist())
            for some in (positions.equal_to(literals), positions.between(low, high, **ends))
        ]

    assert found(rising) == found(rising[::-1])
