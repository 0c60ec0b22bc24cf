"""Predicates that kinds of index answer, by version: measured on 0.11, read in the tags of the others."""

from __future__ import annotations

import pytest
from starskip.advisor.families.access_rules import access_rules
from starskip.sql.predicate import Leaf, Operator

EQUALITIES = {"=", "<>", "in", "not in"}


def answered(version: str, index_kind: str, column: str = "short") -> set[str]:
    rules = access_rules(version, {"short"})
    return {item.value for item in Operator if rules.serves(index_kind, Leaf(item, column))}


@pytest.mark.parametrize(
    ("version", "inverted", "ranges", "ordered"),
    [
        ("0.3.0", EQUALITIES, set(), EQUALITIES | {"range"}),
        ("0.4.0", EQUALITIES, {"range"}, EQUALITIES | {"range"}),
        ("0.11", EQUALITIES, {"range"}, EQUALITIES | {"range"}),
        ("0.12.1", EQUALITIES, {"range"}, EQUALITIES | {"range"}),
        ("1.0.0", EQUALITIES, {"range", "="}, EQUALITIES | {"range"}),
        ("1.4.0", EQUALITIES, {"range", "="}, EQUALITIES | {"range"}),
        (
            "1.5.0",
            EQUALITIES | {"like", "regexp_like"},
            {"range", "="},
            EQUALITIES | {"range", "like", "regexp_like"},
        ),
    ],
)
def test_operators_by_version(version: str, inverted: set[str], ranges: set[str], ordered: set[str]) -> None:
    assert answered(version, "inverted") == inverted
    assert answered(version, "range") == ranges
    assert answered(version, "sorted") == ordered


def test_patterns_go_through_short_dictionaries_only() -> None:
    assert answered("1.5.1-SNAPSHOT", "inverted", column="long") == EQUALITIES


def test_range_indexes_are_exact_from_0_10_on() -> None:
    assert access_rules("0.9.3").reads_ratio("range") == 0.1
    assert access_rules("0.10.0").reads_ratio("range") == 0.0
    assert access_rules("0.9.3").reads_ratio("inverted") == 0.0


def test_no_index_answers_an_expression() -> None:
    leaf = Leaf(Operator.EXPRESSION, columns=("short",))
    assert not any(
        access_rules("1.5.0", {"short"}).serves(kind, leaf) for kind in ("inverted", "range", "sorted")
    )
