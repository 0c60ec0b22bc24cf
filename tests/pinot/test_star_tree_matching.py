"""Pinot's star-tree matcher by release: each rule on both sides of the release that brought it."""

from __future__ import annotations

import pytest
from pinot.tree_matching.fitting_tree import fitting_tree
from starskip.advisor.families.star_tree.recommend.pinot_aggregation import pinot_query
from starskip.pinot.star_tree_filter import NotServed
from starskip.pinot.star_tree_matching import (
    Aggregation,
    PinotAggregation,
    SegmentColumns,
    TreePart,
    tree_parts,
)
from starskip.pinot.star_tree_rules import star_tree_rules
from starskip.sql.predicate import Leaf, Operator

USED = ""
NOT_ONE = "SELECT SUM(x) FROM t WHERE NOT a = 1"
EXPRESSION = "SELECT SUM(x) FROM t WHERE SUBSTRING(a, 0, 4) = '1995' AND b = 'c'"
BY_RELEASE = (
    ("SELECT SUM(x) FROM t WHERE a = 1 AND b IN (1, 2) AND c <> 3 AND d NOT IN (4, 5)", "0.3", USED),
    # OR of one column, 0.9.
    ("SELECT SUM(x) FROM t WHERE a < 1 OR a > 5", "0.8", "or"),
    ("SELECT SUM(x) FROM t WHERE a < 1 OR a > 5", "0.9", USED),
    ("SELECT SUM(x) FROM t WHERE a = 1 OR a = 5", "0.8", USED),
    ("SELECT SUM(x) FROM t WHERE a < 1 OR b > 5", "1.5.1", "or_of_several_columns"),
    ("SELECT SUM(x) FROM t WHERE (a > 1 AND a < 5) OR a = 9", "0.11", USED),
    ("SELECT SUM(x) FROM t WHERE (a > 1 AND a <> 5) OR a = 9", "1.5.1", "and_in_or"),
    # NOT of a predicate, 1.2.
    (NOT_ONE, "1.1", "not"),
    (NOT_ONE, "1.2", USED),
    ("SELECT SUM(x) FROM t WHERE NOT a IN (1, 2)", "0.11", "not"),
    ("SELECT SUM(x) FROM t WHERE a NOT IN (1, 2)", "0.11", USED),
    ("SELECT SUM(x) FROM t WHERE NOT (a = 1 OR b = 2)", "1.5.1", "not_of_several"),
    ("SELECT SUM(x) FROM t WHERE NOT (a = 1 AND a > 2)", "1.5.1", "not_of_several"),
    ("SELECT SUM(x) FROM t WHERE NOT a = 1 OR a > 7", "1.2", USED),
    # Leaves that no dictionary answers.
    ("SELECT SUM(x) FROM t WHERE a LIKE 'b%'", "0.4", USED),
    ("SELECT SUM(x) FROM t WHERE a LIKE 'b%'", "0.5", "pattern"),
    ("SELECT SUM(x) FROM t WHERE a IS NOT NULL", "1.5.1", "is_null"),
    (EXPRESSION, "1.5.1", "expression_in_filter"),
    # Clauses.
    ("SELECT SUM(x) FILTER (WHERE a = 1) FROM t", "1.0", "filter_clause"),
    ("SELECT SUM(x) FILTER (WHERE a = 1) FROM t", "1.1", USED),
    ("SELECT DISTINCT a FROM t", "1.5.1", "distinct"),
    ("SELECT a FROM t GROUP BY a", "1.5.1", "distinct"),
    ("SELECT CONCAT(a, b), SUM(x) FROM t GROUP BY CONCAT(a, b) HAVING SUM(x) > 3", "0.11", USED),
    ("SELECT SUM(x + y) FROM t WHERE a = 1", "0.11", "expression"),
    ("SELECT * FROM t", "0.11", "not_an_aggregation"),
    # Answered before trees are looked at, until 1.3.
    ("SELECT COUNT(*) FROM t", "0.11", "counted"),
    ("SELECT MIN(x), COUNT(*) FROM t", "1.3", "from_dictionary"),
    ("SELECT MIN(x), COUNT(*) FROM t", "1.4", USED),
    ("SELECT SUM(x), COUNT(*) FROM t", "0.11", USED),
    # Options of the query, in any spelling and on either side.
    ("SET useStarTree=false; SELECT SUM(x) FROM t WHERE a = 1", "1.5.1", "use_star_tree"),
    (
        "SELECT SUM(x) FROM t WHERE a = 1; set timeoutMs=1; set \"USESTARTREE\"='False';",
        "0.11",
        "use_star_tree",
    ),
    ("SELECT SUM(x) FROM t WHERE a = 1 option(timeoutMs=1, usestartree=FALSE)", "0.9", "use_star_tree"),
    ("SET useStarTree=true; SELECT SUM(x) FROM t WHERE a = 1", "0.11", USED),
    ("SET enableNullHandling=true; SELECT SUM(x) FROM t WHERE a = 1", "0.11", "null_handling"),
    ("SELECT SUM(x) FROM t GROUP BY a OPTION(enableNullHandling='true')", "1.2", "null_handling"),
    ("SELECT SUM(x) FROM t GROUP BY a OPTION(enableNullHandling='true')", "1.3", USED),
    ("SET enableNullHandling=false; SELECT SUM(x) FROM t WHERE a = 1", "0.11", USED),
    # Parameters of sketches, 1.3.
    ("SELECT DISTINCTCOUNTHLL(x, 12) FROM t WHERE a = 1", "1.2", USED),
    ("SELECT DISTINCTCOUNTHLL(x, 12) FROM t WHERE a = 1", "1.3", "parameter"),
    ("SELECT PERCENTILETDIGEST(x, 95, 100), PERCENTILEEST50(x) FROM t WHERE a = 1", "1.3", USED),
)


@pytest.mark.parametrize(("sql", "version", "reason"), BY_RELEASE)
def test_each_rule_begins_with_its_release(sql: str, version: str, reason: str) -> None:
    found = tree_parts(pinot_query(sql).aggregation, star_tree_rules(version))
    assert (found.reason if isinstance(found, NotServed) else USED) == reason


def test_functions_look_for_their_own_pair() -> None:
    def pairs(sql: str, version: str) -> tuple[tuple[str, str], ...]:
        found = tree_parts(pinot_query(sql).aggregation, star_tree_rules(version))
        assert isinstance(found, tuple)
        return found[0].pairs

    text = "SELECT AVG(x), COUNT(y), COUNT(*), DISTINCTCOUNTRAWHLL(z), SUMLONG(x) FROM t WHERE a = 1"
    kept = (("AVG", "x"), ("COUNT", "*"))
    assert pairs(text, "0.11") == (*kept, ("DISTINCTCOUNTRAWHLL", "z"), ("SUMLONG", "x"))
    assert pairs(text, "1.1") == (*kept, ("DISTINCTCOUNTHLL", "z"), ("SUMLONG", "x"))
    assert pairs(text, "1.5.1") == (*kept, ("DISTINCTCOUNTHLL", "z"), ("SUM", "x"))


def test_each_filter_clause_is_a_plan_of_its_own() -> None:
    sql = "SELECT SUM(x) FILTER (WHERE a = 1), MAX(y) FROM t WHERE b <> 2"
    found = tree_parts(pinot_query(sql).aggregation, star_tree_rules("1.1"))
    assert isinstance(found, tuple)
    assert [(part.pairs, part.predicate_columns) for part in found] == [
        ((("SUM", "x"),), ("b", "a")),
        ((("MAX", "y"),), ("b",)),
    ]


def test_the_first_tree_of_the_configuration_that_fits_is_taken() -> None:
    rules = star_tree_rules("0.11")
    part = TreePart((("COUNT", "*"), ("SUM", "x")), (), ("a",))
    small, other, large = [
        (("a",), [("COUNT", "y")]),
        (("b",), [("COUNT", "*"), ("SUM", "x")]),
        (("c", "a"), [("COUNT", "*"), ("SUM", "x")]),
    ]
    assert fitting_tree([part], [small, other, large, large], rules) == (2,)
    lacks = fitting_tree([part], [small, other], rules)
    assert isinstance(lacks, NotServed)
    assert lacks.detail == "SUM(x) is not pre-aggregated; a of GROUP BY is none of its dimensions"


def test_facts_of_a_segment_decide() -> None:
    rules = star_tree_rules("1.3")
    query = pinot_query("SELECT SUM(x) FROM t WHERE a > 1 OR b = 2").aggregation

    def reason(facts: SegmentColumns, asked: PinotAggregation = query) -> str:
        found = tree_parts(asked, rules, facts)
        return found.reason if isinstance(found, NotServed) else USED

    def known(leaf: Leaf) -> bool | None:
        return False if leaf.operator is Operator.RANGE else None

    assert reason(SegmentColumns()) == "or_of_several_columns"
    assert reason(SegmentColumns(truth=known)) == USED
    assert reason(SegmentColumns(truth=known, raw=frozenset("b"))) == "raw_column"
    assert reason(SegmentColumns(truth=known, multi_value=frozenset("x"))) == "multi_value"


@pytest.mark.parametrize("column", ["a", "b", "c", "d", "x"])
def test_a_query_that_handles_nulls_uses_no_tree_where_its_columns_have_some(column: str) -> None:
    sql = "SELECT SUM(x), COUNT(b) FILTER (WHERE d = 2) FROM t WHERE a = 1 GROUP BY c"
    rules, nulls = star_tree_rules("1.3"), SegmentColumns(nulls=frozenset(column))
    handling = pinot_query(f"SET enableNullHandling=true; {sql}").aggregation
    refused = tree_parts(handling, rules, nulls)
    assert isinstance(refused, NotServed)
    assert f"column {column} has some" in refused.detail
    assert not isinstance(tree_parts(handling, rules, SegmentColumns(nulls=frozenset("y"))), NotServed)
    assert not isinstance(tree_parts(pinot_query(sql).aggregation, rules, nulls), NotServed)


def test_indexes_count_rows_before_trees_do() -> None:
    count = pinot_query("SELECT COUNT(*) FROM t WHERE a = 1 AND b = 2").aggregation
    facts = SegmentColumns(by_bitmap=lambda leaf: leaf.column in ("a", "b"))

    def reason(version: str, asked: PinotAggregation) -> str:
        found = tree_parts(asked, star_tree_rules(version), facts)
        return found.reason if isinstance(found, NotServed) else USED

    assert [reason(version, count) for version in ("0.10", "0.11", "1.3", "1.4")] == [
        *(USED, "counted", "counted"),
        USED,
    ]
    both = PinotAggregation((*count.aggregations, Aggregation("SUM", "x")), count.filter)
    assert reason("0.11", both) == USED
