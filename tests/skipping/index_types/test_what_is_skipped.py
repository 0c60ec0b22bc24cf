"""Files that each index type can skip, written down: 1 is a file that is read."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest
from skipping_law.files_metadata import Collected, Files, collected, files_read
from skipping_law.written import compared, is_not_null, is_null, negated
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping.registry import index_from_specification

NAN = float("nan")
TEXTS = Files.of(
    pa.string(),
    ["apple", "avocado"],
    ["banana", None],
    ["cherry", "apricot"],
    [None],
    [],
    ["blue\U0001f600"] * 2,
)
NUMBERS = Files.of(pa.float64(), [1.0, 2.0], [5.0, NAN], [-0.0], [None], [NAN], [1.0, 100.0])
DAY = dt.date(2026, 11, 1)
DAYS = Files.of(
    pa.date32(), *([DAY + dt.timedelta(each) for each in days] for days in ([0, 1], [10, 20], [5]))
)


def read(specification: str, files: Files, predicate: Expression) -> str:
    index = index_from_specification(specification)
    return "".join("01"[each] for each in files_read(predicate, [index], collected([index], files)))


@pytest.mark.parametrize(
    ("specification", "predicate", "wanted"),
    [
        ("minmax:c", compared("=", "avocado"), "101000"),
        ("minmax:c", compared("=", "b"), "001000"),
        ("minmax:c", compared("<=>", "banana"), "011000"),
        ("minmax:c", negated(compared("=", "banana")), "101001"),
        ("minmax:c", compared("<", "apq"), "100000"),
        ("minmax:c", compared(">=", "b"), "011001"),
        ("minmax:c", negated(compared(">=", "b")), "101000"),
        ("minmax:c", compared("in", ["aaa", "bbb", "zzz"]), "001000"),
        ("minmax:c", compared("in", []), "000000"),
        ("minmax:c", negated(compared("in", ["banana", "x"])), "101001"),
        ("minmax:c", compared("starts with", "b"), "011001"),
        ("minmax:c", negated(compared("starts with", "a")), "011001"),
        ("minmax:c", compared("like", "bl_e%"), "001001"),
        ("minmax:c", compared("ends with", "x"), "111111"),
        ("minmax:c", is_not_null(), "111001"),
        ("nulls:c", is_null(), "010100"),
        ("nulls:c", is_not_null(), "111001"),
        ("nulls:c", negated(is_null()), "111001"),
        ("nulls:c", compared("=", "nothing"), "111001"),
        ("nulls:c", negated(compared("like", "a%")), "111001"),
        ("valuelist:c", compared("=", "b"), "000000"),
        ("valuelist:c", negated(compared("in", ["apple", "avocado"])), "011001"),
        ("valuelist:c", compared("contains", "an"), "010000"),
        ("valuelist:c", compared("like", "%o%d_"), "100000"),
        ("valuelist:c", compared("like", "blue_"), "000001"),
        ("valuelist:c", negated(compared("like", "%a%")), "001001"),
        ("valuelist:c", compared("ends with", "\U0001f600"), "000001"),
        ("valuelist:c", compared(">", "apricot"), "111001"),
        ("bloom:c", compared("=", "banana"), "010000"),
        ("bloom:c", compared("in", ["banana", "cherry"]), "011000"),
        ("bloom:c", negated(compared("=", "banana")), "111111"),
        ("hybrid:c", compared("contains", "an"), "010000"),
        ("hybrid:c:1", compared("contains", "an"), "111000"),
        ("hybrid:c:1", compared("=", "avocado"), "100000"),
        ("prefix:c:2", compared("starts with", "a"), "101000"),
        ("prefix:c:2", compared("starts with", "avx"), "100000"),
        ("prefix:c:2", compared("=", "blue"), "000001"),
        ("prefix:c:2", compared("in", ["avast", "blast"]), "100001"),
        ("prefix:c:2", compared("like", "ch%x"), "001000"),
        ("prefix:c:2", compared("<", "am"), "000000"),
        ("prefix:c:2", compared("<", "aps"), "101000"),
        ("prefix:c:2", compared(">", "blua"), "001001"),
        ("prefix:c:2", negated(compared("starts with", "a")), "011001"),
        ("prefix:c:2", negated(compared("starts with", "avocado")), "111111"),
        ("prefix:c:2", compared("ends with", "e"), "111111"),
        ("suffix:c:2", compared("ends with", "e\U0001f600"), "000001"),
        ("suffix:c:2", compared("ends with", "xyz"), "000000"),
        ("suffix:c:2", compared("like", "%x_y"), "001000"),
        ("suffix:c:2", compared("=", "nana"), "010000"),
        ("suffix:c:2", negated(compared("ends with", "na")), "101001"),
        ("partition:c", compared("=", "banana"), "111000"),
        ("partition:c", negated(compared("=", "banana")), "101001"),
    ],
)
def test_texts(specification, predicate, wanted):
    assert read(specification, TEXTS, predicate) == wanted


@pytest.mark.parametrize(
    ("specification", "predicate", "wanted"),
    [
        ("minmax:c", compared("=", 0.0, "double"), "001000"),
        ("minmax:c", compared("=", NAN, "double"), "010010"),
        ("minmax:c", compared(">", 1e300, "double"), "010010"),
        ("minmax:c", compared("<", NAN, "double"), "111001"),
        ("minmax:c", negated(compared("=", 0.0, "double")), "110011"),
        ("minmax:c", compared("in", [3.0, NAN], "double"), "010011"),
        ("valuelist:c", compared("=", 0.0, "double"), "001000"),
        ("valuelist:c", compared("in", [3.0, NAN], "double"), "010010"),
        ("valuelist:c", compared(">=", 50.0, "double"), "010011"),
        ("bloom:c", compared("=", 0.0, "double"), "001000"),
        ("bloom:c", compared("=", NAN, "double"), "010010"),
        ("gaplist:c:1", compared("=", 50.0, "double"), "000000"),
        ("gaplist:c:1", compared("=", 100.0, "double"), "000001"),
        ("gaplist:c:1", compared("in", [3.0, 50.0], "double"), "000000"),
        ("partition:c", compared("=", NAN, "double"), "110011"),
    ],
)
def test_numbers(specification, predicate, wanted):
    assert read(specification, NUMBERS, predicate) == wanted


def between(least: int, greatest: int) -> Expression:
    days = [DAY + dt.timedelta(each) for each in (least, greatest)]
    return Call("And", (compared(">=", days[0], "date"), compared("<=", days[1], "date")))


@pytest.mark.parametrize(
    ("specification", "predicate", "wanted"),
    [
        ("minmax:c", between(12, 15), "010"),
        ("gaplist:c", between(12, 15), "000"),
        ("gaplist:c", between(5, 15), "011"),
        ("gaplist:c", Call("Or", (between(12, 15), between(0, 0))), "100"),
        ("gaplist:c", negated(Call("Or", (compared("<", DAY, "date"), compared(">", DAY, "date")))), "100"),
        ("valuelist:c", compared("=", DAY, "date"), "100"),
    ],
)
def test_days(specification, predicate, wanted):
    assert read(specification, DAYS, predicate) == wanted


def test_a_column_of_truths():
    flag = Column(("c",), "boolean")
    files = Files.of(pa.bool_(), [True, None], [False], [True, False])
    for specification in ("minmax:c", "valuelist:c", "bloom:c"):
        assert read(specification, files, flag) == "101"
        assert read(specification, files, negated(flag)) == "011"


def test_case_when_is_seen_through():
    wrapped = Call("EqualNullSafe", (compared("=", "banana"), Literal(pa.scalar(True))))
    assert read("valuelist:c", TEXTS, wrapped) == "010000"


UNKNOWN = {
    "minmax:c": {
        "min": pa.array([None, "b", None], pa.string()),
        "max": pa.array([None, None, None], pa.string()),
        "values": pa.array([None, 2, 0]),
    },
    "nulls:c": {"nulls": pa.array([None, 1, 2]), "rows": pa.array([None, None, 2])},
    "valuelist:c": {"values": pa.array([None, None, []], pa.list_(pa.string()))},
    "bloom:c": {"filter": pa.array([None, None, b""], pa.large_binary())},
    "hybrid:c": {
        "values": pa.array([None, None, []], pa.list_(pa.string())),
        "filter": pa.array([None, None, None], pa.large_binary()),
    },
    "prefix:c:2": {"affixes": pa.array([None, None, []], pa.list_(pa.string()))},
    "partition:c": {"value": pa.array([None, None, None], pa.string()), "values": pa.array([None, 2, 0])},
}


@pytest.mark.parametrize("specification", UNKNOWN)
@pytest.mark.parametrize("value", ["a", "b"])
def test_what_is_not_known_is_read_what_is_not_there_is_skipped(specification, value):
    metadata = Collected(3, {specification: UNKNOWN[specification]})
    index = index_from_specification(specification)
    assert files_read(compared("=", value), [index], metadata) == [True, True, False]


@pytest.mark.parametrize("specification", ["minmax:c", "valuelist:c", "hybrid:c", "gaplist:c", "bloom:c"])
def test_literals_of_another_type_skip_nothing(specification):
    files = Files.of(pa.int32(), [1], [2])
    other = Call("EqualTo", (Column(("c",), "int"), compared("=", 7, "bigint").right))
    assert read(specification, files, other) == "11"


def test_another_column_is_not_known():
    predicate = Call("EqualTo", (Column(("d",), "string"), compared("=", "x").right))
    assert read("minmax:c", TEXTS, predicate) == "111111"
    nested = Call("EqualTo", (Column(("c", "d"), "string"), compared("=", "x").right))
    assert read("minmax:c", TEXTS, nested) == "111111"


def test_collated_texts_are_not_compared():
    column = Column(("c",), "string collate UNICODE_CI")
    predicate = Call("EqualTo", (column, compared("=", "x").right))
    assert read("minmax:c", TEXTS, predicate) == "111111"
