"""Measures: merged in any pieces, stored and read back, they are what Python's exact numbers say.

Environment: STARSKIP_STAR_TREE_CASES (80 random columns).
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.errors import CapExceeded
from starskip.star_tree.measure import Measure, MeasureKind
from starskip.star_tree.measures import exact_sums, extremes
from starskip.star_tree.measures.initial_measure import initial_measure, no_measure, stored_measure

CASES = law_cases("STARSKIP_STAR_TREE_CASES", 80)


def integers(bits: int, *, signed: bool = True) -> st.SearchStrategy[int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.integers(low, high) | st.sampled_from([low, high])


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    largest = 10**precision - 1
    unscaled = st.integers(-largest, largest) | st.sampled_from([-largest, largest])
    # A Decimal of Python's own context would round to 28 digits.
    return unscaled.map(lambda value: Decimal(f"{value}e-{scale}"))


MOMENTS = st.datetimes(datetime(1680, 1, 1), datetime(2260, 1, 1))
NUMBERS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    **{f"int{bits}": (getattr(pa, f"int{bits}")(), integers(bits)) for bits in (8, 16, 32, 64)},
    **{
        f"uint{bits}": (getattr(pa, f"uint{bits}")(), integers(bits, signed=False))
        for bits in (8, 16, 32, 64)
    },
    "decimal(5,2)": (pa.decimal128(5, 2), decimals(5, 2)),
    "decimal(18,4)": (pa.decimal128(18, 4), decimals(18, 4)),
    "decimal(19,0)": (pa.decimal128(19, 0), decimals(19, 0)),
    "decimal(38,10)": (pa.decimal128(38, 10), decimals(38, 10)),
    "decimal256(30,3)": (pa.decimal256(30, 3), decimals(30, 3)),
    "double": (pa.float64(), st.floats()),
    "float": (pa.float32(), st.floats(width=32)),
}
ORDERED: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = NUMBERS | {
    "string": (pa.string(), st.text(max_size=3)),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), st.text(max_size=2)),
    "binary": (pa.binary(), st.binary(max_size=3)),
    "fixed": (pa.binary(2), st.binary(min_size=2, max_size=2)),
    "bool": (pa.bool_(), st.booleans()),
    "date": (pa.date32(), st.dates()),
    "timestamp(ms)": (pa.timestamp("ms"), st.datetimes().map(lambda d: d.replace(microsecond=0))),
    "timestamp(us)": (pa.timestamp("us"), st.datetimes()),
    "timestamp(ns)": (pa.timestamp("ns"), MOMENTS),
    "timestamp(us, zone)": (pa.timestamp("us", "Europe/Zurich"), MOMENTS),
    "time(ms)": (pa.time32("ms"), st.times().map(lambda t: t.replace(microsecond=0))),
    "time(us)": (pa.time64("us"), st.times()),
    "duration": (pa.duration("us"), st.timedeltas(timedelta(-9999), timedelta(9999))),
}


@dataclass(frozen=True)
class Column:
    """``groups`` ascend; ``cuts`` are where the rows are cut into pieces."""

    values: pa.Array
    groups: list[int]
    cuts: list[int]


@st.composite
def columns(draw: Callable[..., Any], kinds: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]]) -> Column:
    arrow_type, drawn = kinds[draw(st.sampled_from(sorted(kinds)))]
    values = draw(st.lists(st.none() | drawn, min_size=1, max_size=30))
    groups = sorted(draw(st.lists(st.integers(0, 3), min_size=len(values), max_size=len(values))))
    cuts = sorted(draw(st.lists(st.integers(0, len(values)), max_size=4)))
    return Column(pa.array(values, arrow_type), groups, cuts)


def runs(groups: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return where the runs of equal groups start."""
    return np.flatnonzero(np.concatenate([[True], groups[1:] != groups[:-1]])) if len(groups) else groups


def stored(measure: Measure, array: Any, column_type: pa.DataType) -> Any:
    """Write a measure as a file of documents keeps it, and read it back."""
    file = io.BytesIO()
    pq.write_table(pa.table({"m": array.to_arrow()}), file)
    return stored_measure(measure, pq.read_table(file)["m"].combine_chunks(), column_type)


def merged_in_pieces(kind: MeasureKind, column: Column) -> Any:
    """Merge each piece, store it, bring the pieces together out of order and merge again."""
    measure = Measure.of(kind, "x")
    groups = np.array(column.groups)
    ends = [*column.cuts, len(groups)]
    pieces, of_pieces = [], []
    for start, end in zip([0, *column.cuts], ends, strict=True):
        if start == end:
            continue
        starts = runs(groups[start:end])
        piece = initial_measure(measure, column.values.slice(start, end - start), end - start).merged(starts)
        pieces.append(stored(measure, piece, column.values.type))
        of_pieces.append(groups[start:end][starts])
    first, *others = pieces[::-1]
    together = np.concatenate(of_pieces[::-1])
    order = np.argsort(together, kind="stable")
    return first.appended(others).take(order).merged(runs(together[order]))


def of_groups(column: Column) -> list[list[Any]]:
    """Return the values of each group that are not null."""
    found: dict[int, list[Any]] = {}
    for value, group in zip(column.values.to_pylist(), column.groups, strict=True):
        found.setdefault(group, []).extend([] if value is None else [value])
    return [found[group] for group in sorted(found)]


def order_key(value: Any) -> tuple[Any, ...]:
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return (value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value,)


@pytest.mark.law
@settings(max_examples=CASES * 2)
@given(columns(ORDERED))
def test_least_and_greatest_values_of_any_type(column: Column) -> None:
    for kind, best in ((MeasureKind.MIN, min), (MeasureKind.MAX, max)):
        results = merged_in_pieces(kind, column).results()
        plain = column.values.type
        assert results.type == (plain.value_type if pa.types.is_dictionary(plain) else plain)
        expected = [best(map(order_key, group), default=None) for group in of_groups(column)]
        assert [None if value is None else order_key(value) for value in results.to_pylist()] == expected


@pytest.mark.law
@settings(max_examples=CASES * 2)
@given(columns({name: kind for name, kind in NUMBERS.items() if name not in ("double", "float")}))
def test_sums_of_integers_and_decimals_are_exact(column: Column) -> None:
    scale = column.values.type.scale if pa.types.is_decimal(column.values.type) else None
    limit = Fraction(10**38, 10 ** (scale or 0))
    try:
        results = merged_in_pieces(MeasureKind.SUM, column).results()
    except CapExceeded as error:
        assert "more than 38 digits" in str(error)
        assert max(sum(abs(Fraction(value)) for value in group) for group in of_groups(column)) >= limit
        return
    sums = [sum(map(Fraction, group)) if group else None for group in of_groups(column)]
    assert [None if value is None else Fraction(value) for value in results.to_pylist()] == sums
    if scale is not None:
        assert results.type == pa.decimal128(38, scale)
    else:
        fit = all(total is None or -(2**63) <= total < 2**63 for total in sums)
        assert results.type == (pa.int64() if fit else pa.decimal128(38, 0))


@pytest.mark.law
@settings(max_examples=CASES)
@given(columns({name: NUMBERS[name] for name in ("double", "float")}))
def test_sums_of_floats_are_within_rounding_and_keep_nan_and_infinity(column: Column) -> None:
    found = merged_in_pieces(MeasureKind.SUM, column).results().to_pylist()
    for total, group in zip(found, of_groups(column), strict=True):
        if not group:
            assert total is None
        elif any(map(math.isnan, group)) or {math.inf, -math.inf} <= set(group):
            assert math.isnan(total)
        elif any(map(math.isinf, group)):
            assert total == next(filter(math.isinf, group))
        elif sum(abs(Fraction(value)) for value in group) < Fraction(1e308):
            rounding = len(group) * 2**-52 * sum(map(abs, group))
            assert abs(Fraction(total) - sum(map(Fraction, group))) <= rounding


@pytest.mark.law
@settings(max_examples=CASES)
@given(columns(ORDERED))
def test_counts_leave_nulls_out_and_rows_do_not(column: Column) -> None:
    counts = merged_in_pieces(MeasureKind.COUNT, column).results()
    assert counts.type == pa.int64()
    assert counts.to_pylist() == [len(group) for group in of_groups(column)]
    rows = merged_in_pieces(MeasureKind.ROWS, column).results().to_pylist()
    assert rows == [column.groups.count(group) for group in sorted(set(column.groups))]


@pytest.mark.parametrize("kind", list(MeasureKind))
@pytest.mark.parametrize("groups", [0, 1, 3])
def test_groups_of_no_rows_have_a_result_too(kind: MeasureKind, groups: int) -> None:
    for arrow_type in (pa.int64(), pa.float64(), pa.decimal128(38, 2)):
        results = no_measure(Measure.of(kind, "x"), arrow_type, groups).results()
        assert len(results) == groups
        if kind in (MeasureKind.ROWS, MeasureKind.COUNT):
            assert results.to_pylist() == [0] * groups
        elif not kind.is_sketch:
            assert results.to_pylist() == [None] * groups


def test_a_sum_may_grow_far_beyond_64_bits_and_come_back() -> None:
    # 3000 times 2^63 - 1 is beyond 2^74; merged a thousand at a time, and then with its opposite.
    values = pa.array([2**63 - 1] * 3000 + [-(2**63)] * 3000)
    rows = initial_measure(Measure.of(MeasureKind.SUM, "x"), values, 6000)
    thousands = rows.merged(np.arange(0, 6000, 1000))
    assert thousands.results().to_pylist() == [1000 * (2**63 - 1)] * 3 + [-1000 * 2**63] * 3
    halves = thousands.merged(np.array([0, 3]))
    assert halves.results().to_pylist() == [3000 * (2**63 - 1), -3000 * 2**63]
    whole = stored(Measure.of(MeasureKind.SUM, "x"), halves, pa.int64()).merged(np.array([0]))
    assert whole.results() == pa.array([-3000])  # it fits into 64 bits again


def test_a_sum_of_exactly_38_digits_is_told_and_one_more_is_refused() -> None:
    largest = Decimal("9" * 38)
    measure = Measure.of(MeasureKind.SUM, "x")
    for sign in (1, -1):
        unscaled = (sign * (10**38 - 8), sign * 7)
        values = pa.array([Decimal(str(value)) for value in unscaled], pa.decimal128(38, 0))
        at_the_limit = initial_measure(measure, values, 2).merged(np.array([0]))
        assert at_the_limit.results().to_pylist() == [largest.copy_sign(Decimal(sign))]
        beyond = at_the_limit.appended([initial_measure(measure, values.slice(1), 1)]).merged(np.array([0]))
        with pytest.raises(CapExceeded, match="more than 38 digits"):
            beyond.results()
        with pytest.raises(CapExceeded, match="more than 38 digits"):
            beyond.to_arrow()


def test_a_value_that_no_exact_sum_holds_names_its_column(trees: Any) -> None:
    rows = {"a": [1, 1], "m": pa.array([Decimal(10**40), None], pa.decimal256(50, 0))}
    with pytest.raises(CapExceeded, match="column m: a value has more than 38 digits"):
        trees.build_of(rows, trees.config("a", "SUM__m"))
    rows = {"a": [1, 2], "m": pa.array([Decimal("9" * 38)] * 2, pa.decimal128(38, 0))}
    with pytest.raises(CapExceeded, match="column m: a sum has more than 38 digits"):
        trees.build_of(rows, trees.config("a", "SUM__m"))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["digit", "sign", "null"])
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    if fault == "digit":
        monkeypatch.setattr(exact_sums, "_ROOM", 1 << 99)  # so that no digit is added in time
        with pytest.raises(AssertionError):
            test_a_sum_may_grow_far_beyond_64_bits_and_come_back()
        return
    law: Any = test_least_and_greatest_values_of_any_type
    law.hypothesis.inner_test(_FLOATS)
    if fault == "sign":
        monkeypatch.setattr(
            extremes, "order_keys", lambda array: array.fill_null(0).to_numpy().view(np.int64)
        )
    else:
        monkeypatch.setattr(extremes, "_GREATEST", 0)
    with pytest.raises(AssertionError):
        law.hypothesis.inner_test(_FLOATS)


_FLOATS = Column(pa.array([-1.0, -2.0, math.nan, 3.0, None, 5.0]), [0, 0, 0, 1, 1, 1], [3])


def test_dates_before_the_epoch_and_times_are_kept_to_the_last_digit() -> None:
    values = pa.array([datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999999)], pa.timestamp("us"))
    for kind, expected in ((MeasureKind.MIN, values[0]), (MeasureKind.MAX, values[1])):
        array = initial_measure(Measure.of(kind, "x"), values, 2).merged(np.array([0]))
        assert array.results().to_pylist() == [expected.as_py()]
    assert pa.array([date(1, 1, 1)]).type == pa.date32() and time.max.microsecond == 999999
