"""Great Expectations' answers as checks that people read."""

from __future__ import annotations

from math import nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.run.expectations import (
    Expectation,
    View,
    at_most,
    between,
    distinct,
    equal,
    in_set,
    none,
    present,
    warn_only,
)
from starskip.advisor.run.gate_verdicts import GateCheck
from starskip.night.quality import judge_views
from starskip.night.quality.judge_views import judge

pytestmark = pytest.mark.quality


def judged(expectation: Expectation, *rows: dict[str, object], name: str = "") -> GateCheck:
    ((check,),) = judge("score_votes", {"orders": {"view": View(rows, name)}}, [expectation]).values()
    return check


def test_one_row_shows_its_value():
    check = judged(between("view", "a", "a of {table}: minimum", 0), {"a": -3})
    assert check == GateCheck("score_votes", "a of orders: minimum", False, "-3", "at least 0")


def test_several_rows_show_those_that_fail():
    rows = [{"column": name, "a": value} for name, value in [("x", 1), ("y", -1), ("z", -2)]]
    check = judged(between("view", "a", "a", 0), *rows, name="column")
    assert check.observed == "2 of 3 not: y -1, z -2"


def test_only_the_first_of_many_are_shown():
    rows = [{"column": f"c{n}", "a": n} for n in range(1000)]
    check = judged(none("view", "a", "a"), *rows, name="column")
    assert check.observed == "999 of 1,000 not: c1 1, c2 2, c3 3, c4 4, c5 5, …"


def test_hostile_names_stay_on_one_short_line():
    rows = [{"column": "x\x1b[2J\n" + "y" * 1_000_000, "a": 1}]
    check = judged(none("view", "a", "{table}"), *rows, name="column")
    assert len(check.observed) < 100
    assert check.observed.isprintable()
    views = {"t\n" * 1_000_000: {"view": View([{"a": 1}])}}
    ((check,),) = judge("s", views, [none("view", "a", "{table}")]).values()
    assert len(check.check) < 100
    assert check.check.isprintable()


def test_whole_numbers_beyond_a_double_stay_exact():
    rows = [{"column": "x", "a": 2**60, "b": 2**60 + 1}, {"column": "y", "a": None, "b": None}]
    check = judged(equal("view", "a", "b", "a", "equal"), *rows, name="column")
    assert check.observed == "1 of 2 not: x 1,152,921,504,606,846,976 and 1,152,921,504,606,846,977"


@pytest.mark.parametrize("value", [None, nan])
def test_what_is_no_value_is_missing_and_between_says_nothing_of_it(value):
    assert judged(between("view", "a", "a", 0), {"a": value}).success
    assert not judged(present("view", "a", "a"), {"a": value}).success
    assert judged(at_most("view", "a", "b", "a", "less"), {"a": value, "b": 1}).success
    assert not judged(equal("view", "a", "b", "a", "equal"), {"a": value, "b": 1}).success


def test_a_value_that_cannot_be_compared_fails():
    assert not judged(between("view", "a", "a", 0), {"a": "text"}).success
    rows = [{"column": "x", "a": "text"}, {"column": "y", "a": 1}]
    check = judged(between("view", "a", "a", 0), *rows, name="column")
    assert (check.success, check.observed) == (False, "values that cannot be compared")


def test_no_rows_break_no_expectation():
    for expectation in (
        between("view", "a", "a", 0),
        present("view", "a", "a"),
        in_set("view", "a", "a", [True]),
        distinct("view", ["a", "b"], "a"),
        distinct("view", ["a"], "a"),
        equal("view", "a", "b", "a", "equal"),
        at_most("view", "a", "b", "a", "less"),
    ):
        assert judged(expectation, name="column").success


def test_a_note_tells_and_stops_nothing():
    check = judged(warn_only(none("view", "a", "a")), {"a": 7})
    assert (check.success, check.observed) == (True, "7")


def test_duplicates_are_told_by_name_only():
    rows = [{"name": "x", "set": ("secret",)}, {"name": "x", "set": ("secret",)}]
    check = judged(distinct("view", ["name", "set"], "a"), *rows, name="name")
    assert (check.success, check.observed) == (False, "2 of 2 not: x, x")


def test_answers_come_in_the_order_of_the_questions():
    asked = [none("view", name, name) for name in "cab"] + [none("other", "d", "d")]
    row = {"a": 0, "b": 1, "c": 2}
    (checks,) = judge("s", {"t": {"view": View([row]), "other": View([{"d": 3}])}}, asked).values()
    assert [(check.check, check.observed) for check in checks] == [
        ("c", "2"),
        ("a", "0"),
        ("b", "1"),
        ("d", "3"),
    ]


VALUES = st.one_of(st.integers(-2, 2), st.sampled_from([None, nan, 2**60, "text", 0.5, True]))
ROWS = st.lists(st.fixed_dictionaries({"name": st.sampled_from("xyz"), "a": VALUES, "b": VALUES}), max_size=4)
EACH_KIND = [
    between("view", "a", "between", 0, 1),
    present("view", "a", "present"),
    in_set("view", "a", "in a set", [0, "text"]),
    distinct("view", ["name", "a"], "distinct pairs"),
    distinct("view", ["name"], "distinct"),
    equal("view", "a", "b", "equal", "equal"),
    at_most("view", "a", "b", "at most", "less"),
    warn_only(none("view", "b", "a note")),
    Expectation("view", "ExpectColumnValuesToNotBeNull", "most", "half", {"column": "a", "mostly": 0.5}),
    Expectation("view", "ExpectTableRowCountToBeBetween", "rows", "1 to 2", {"min_value": 1, "max_value": 2}),
]


@settings(max_examples=10)
@given(st.dictionaries(st.sampled_from(["orders", "parts", "sales"]), ROWS, min_size=2))
def test_tables_judged_at_once_get_the_checks_that_each_gets_alone(tables):
    views = {table: {"view": View(rows, "name")} for table, rows in tables.items()}
    alone = {table: judge("s", {table: view}, EACH_KIND)[table] for table, view in views.items()}
    assert judge("s", views, EACH_KIND) == alone


def test_great_expectations_is_asked_as_often_for_fifty_tables_as_for_two(monkeypatch):
    asked = [between("view", "a", "between", 0), none("view", "b", "none"), none("other", "a", "none")]
    views = {"view": View([{"a": 1, "b": 0}]), "other": View([{"a": 0}])}
    times = []
    validated = judge_views._judged
    for tables in (2, 50):
        calls = []
        monkeypatch.setattr(
            judge_views, "_judged", lambda rows, of, calls=calls: calls.append(of) or validated(rows, of)
        )
        judge("s", {f"table {number}": views for number in range(tables)}, asked)
        times.append(len([of for of in calls if of]))
    assert times == [2, 2]
