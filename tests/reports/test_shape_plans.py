"""Plans of the predicates of a shape, today and with the advice."""

from __future__ import annotations

import pytest
from starskip.advisor.families.access_rules import access_rules
from starskip.advisor.families.index import Index
from starskip.reports.shapes_evidence import MAX_PREDICATES, shape_plan
from starskip.sql.normalize_sql import normalize_sql

RULES = access_rules("1.2.0")
INVERTED, RANGE = Index("inverted", "a"), Index("range", "b")


def skeleton_of(condition: str) -> str:
    return normalize_sql(f"SELECT COUNT(*) FROM t WHERE {condition}").skeleton


@pytest.mark.parametrize(
    ("condition", "today", "advised"),
    [
        ("a = 7", None, "inverted"),
        ("a > 7", None, None),
        ("b > 7", None, "range"),
        ("s = 7", "sorted", "sorted"),
        ("old = 7", "inverted", "inverted"),
        ("other = 7", None, None),
    ],
)
def test_a_predicate_is_answered_by_what_serves_it(
    condition: str, today: str | None, advised: str | None
) -> None:
    (found,) = shape_plan(skeleton_of(condition), RULES, {"s"}, {Index("inverted", "old")}, {INVERTED, RANGE})
    assert (found.today, found.advised) == (today, advised)


def test_a_predicate_on_an_expression_names_its_columns() -> None:
    (found,) = shape_plan(skeleton_of("a + b > 7"), RULES, (), (), {INVERTED})
    assert (found.column, found.comparison, found.advised) == ("a, b", "within an expression", None)


def test_what_cannot_be_understood_has_no_plan_and_a_long_one_is_cut() -> None:
    assert shape_plan("SELECT FROM WHERE", RULES, (), (), ()) == ()
    many = " OR ".join(f"c{i} = 7" for i in range(40))
    assert len(shape_plan(skeleton_of(many), RULES, (), (), ())) == MAX_PREDICATES
