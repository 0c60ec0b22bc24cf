"""Reasons why a filtered column has no vote."""

from __future__ import annotations

from dataclasses import replace

import pytest
from index_choice import in_force
from starskip.advisor.families.access_rules import access_rules
from starskip.advisor.families.families import families_named
from starskip.advisor.families.verdict import Reason
from starskip.advisor.selection.filtered_columns import columns_without_votes
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.tables.table_overview import ColumnOverview, TableOverview

PLAIN = ColumnOverview("b", cardinality=100.0)


def refusal(
    condition: str,
    kinds: str,
    column: ColumnOverview = PLAIN,
    inverted: str = "",
    ranges: str = "",
    version: str = "0.11",
) -> tuple[Reason, str]:
    shape = query_shape(normalize_sql(f"SELECT COUNT(*) FROM t WHERE {condition}").skeleton)
    table = TableOverview("t", 1, 1000, {"b": column}, in_force(inverted, ranges))
    (found,) = columns_without_votes(
        [(shape, 7)], table, (), families_named(kinds).asked, access_rules(version)
    )
    return found.reason, found.detail


NOT_SERVED = Reason.PREDICATE_NOT_SERVED
INDEXED = Reason.ALREADY_INDEXED


@pytest.mark.parametrize(
    ("condition", "kinds", "in_force", "version", "reason"),
    [
        # The inverted index is proposed as a drop: it serves nothing, and is no reason to refuse.
        ("b > 1", "inverted", "inverted", "0.11", NOT_SERVED),
        ("b LIKE 'x%'", "inverted,range", "inverted", "0.11", NOT_SERVED),
        ("b = 1", "inverted", "inverted", "0.11", INDEXED),
        ("b = 1", "inverted,range", "inverted", "0.11", INDEXED),
        ("b = 1", "range", "range", "0.11", NOT_SERVED),
        ("b = 1", "range", "range", "1.2", INDEXED),
        ("b > 1", "inverted,range", "range", "0.11", INDEXED),
        # A range index would serve it; the inverted one in force does not.
        ("b > 1", "inverted,range", "inverted", "0.11", Reason.SAVES_NOTHING),
        ("b > 1 AND b <> 5", "inverted", "inverted", "0.11", INDEXED),
    ],
)
def test_an_index_in_force_is_a_reason_where_it_answers(
    condition: str, kinds: str, in_force: str, version: str, reason: Reason
) -> None:
    names = {"inverted": "", "ranges": ""} | {"ranges" if in_force == "range" else in_force: "b"}
    found, detail = refusal(condition, kinds, version=version, **names)
    assert found is reason
    assert detail.endswith("; 7 queries filter on it")
    assert ("in force" in detail) == (reason is INDEXED)


def test_a_sort_order_answers_what_it_serves_alone() -> None:
    ordered = replace(PLAIN, sorted_ratio=1.0)
    assert refusal("b = 1", "inverted", ordered)[0] is Reason.ALREADY_SORTED
    assert refusal("b LIKE 'x%'", "inverted", ordered)[0] is NOT_SERVED


def test_other_reasons() -> None:
    assert refusal("c = 1", "inverted")[0] is Reason.UNKNOWN_COLUMN
    assert refusal("b = 1", "inverted", replace(PLAIN, dictionary_ratio=0.0))[0] is Reason.NO_DICTIONARY
    many = replace(PLAIN, is_single_value=False)
    assert refusal("b = 1", "sorted", many)[0] is Reason.MULTI_VALUE
    assert refusal("b = 1", "inverted", many)[0] is Reason.SAVES_NOTHING


def test_a_filter_that_prunes_is_named_only_where_nothing_answers() -> None:
    raw = replace(PLAIN, dictionary_ratio=0.0)
    assert refusal("b = 1", "inverted,bloom", raw)[0] is Reason.NO_DICTIONARY
    assert refusal("b = 1", "inverted,bloom")[0] is Reason.SAVES_NOTHING
    assert refusal("b = 1", "bloom", raw)[0] is Reason.SAVES_NOTHING
    assert refusal("b = 1", "bloom")[0] == "has_dictionary"
    assert refusal("b > 1", "bloom", raw)[0] is Reason.PREDICATE_NOT_SERVED
