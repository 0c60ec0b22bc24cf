"""Candidate trees: which there are, which are refused, and how near to the best of all they come."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations

import pytest
from starskip.advisor.families.star_tree.recommend.asked_shape import (
    AnswerableShape,
    AskedShape,
    UnanswerableShape,
    answerable_shape,
)
from starskip.advisor.families.star_tree.recommend.candidates import CandidateTrees, candidate_trees
from starskip.advisor.families.star_tree.recommend.layout_search import MAX_LEAF_RECORDS, saving_of
from starskip.advisor.families.star_tree.recommend.simulated_tree import TreeLayout
from starskip.advisor.families.star_tree.recommend.table_sample import TableSample
from starskip.advisor.families.star_tree.recommend.tree_forecast import Forecaster
from starskip.pinot.star_tree_rules import star_tree_rules
from starskip.star_tree.star_tree_config import StarTreeConfig

Asked = Callable[..., AnswerableShape]

BY_COUNTRY = "SELECT SUM(price) FROM sales WHERE country = 'c00'"
BY_BROWSER = "SELECT browser, COUNT(*) FROM sales GROUP BY browser"
BY_DAY = "SELECT SUM(clicks) FROM sales WHERE day BETWEEN 100 AND 130 AND browser = 'Chrome'"
BY_CUSTOMER = "SELECT COUNT(*) FROM sales WHERE customer = 17"


def found(sample: TableSample, shapes: list[AnswerableShape], **options: float) -> CandidateTrees:
    return candidate_trees(
        sample, shapes, max_size_ratio=options.pop("max_size_ratio", 0.5), most=6, **options
    )


def orders(trees: CandidateTrees) -> set[frozenset[str]]:
    return {frozenset(tree.config.dimensions_split_order) for tree in trees.candidates}


def test_one_shape_gets_a_tree_of_what_it_filters_and_sums(sales_sample: TableSample, asked: Asked) -> None:
    trees = found(sales_sample, [asked("a", BY_COUNTRY)])
    (tree,) = trees.candidates
    assert tree.config.dimensions_split_order == ("country",)
    assert [pair.name for pair in tree.config.function_column_pairs] == ["SUM__price"]
    assert tree.documents_read["a"] <= 20
    assert tree.config.skip_star_node_creation_for_dimensions == ("country",)


def test_two_shapes_get_a_tree_for_both_beside_one_for_each(sales_sample: TableSample, asked: Asked) -> None:
    trees = found(sales_sample, [asked("a", BY_COUNTRY), asked("b", BY_BROWSER)])
    assert orders(trees) >= {frozenset({"country", "browser"})}
    both = next(tree for tree in trees.candidates if len(tree.config.dimensions_split_order) == 2)
    assert set(both.saving_entries) == {"a", "b"}
    assert both.config.skip_star_node_creation_for_dimensions == ()


def test_a_tree_near_the_size_of_its_table_is_refused_with_that_reason(
    sales_sample: TableSample, asked: Asked
) -> None:
    trees = found(sales_sample, [asked("a", BY_CUSTOMER)])
    assert trees.candidates == ()
    (refused,) = trees.refused
    assert refused.reason == "near_table_size"
    assert "customer" in refused.config.dimensions_split_order
    assert "of the table's 40,000 rows" in refused.detail


def test_a_tree_with_too_many_bytes_is_refused_even_if_its_documents_are_few(
    sales_sample: TableSample, asked: Asked
) -> None:
    query = "SELECT day, DISTINCTCOUNTHLL(customer), PERCENTILEEST(price, 95) FROM sales GROUP BY day"
    trees = found(sales_sample, [asked("a", query)], max_size_ratio=0.1)
    assert [refused.reason for refused in trees.refused] == ["near_table_size"]
    assert "of the table's bytes" in trees.refused[0].detail


def test_trees_with_too_many_bytes_leave_others_their_place(days_sample: TableSample, asked: Asked) -> None:
    sketches = "DISTINCTCOUNTHLL(customer), PERCENTILEEST(price, 95)"
    texts = [f"SELECT {sketches} FROM sales GROUP BY day_{number}" for number in range(7)]
    large = [asked(f"large {number}", text) for number, text in enumerate(texts)]
    trees = found(days_sample, [*large, asked("a", BY_COUNTRY, queries=2)], max_size_ratio=0.03)
    assert [refused.reason for refused in trees.refused] == ["near_table_size"] * 7
    assert orders(trees) == {frozenset({"country"})}


def test_sketches_are_offered_beside_a_tree_without_them(sales_sample: TableSample, asked: Asked) -> None:
    sketch = asked("s", "SELECT DISTINCTCOUNTHLL(customer) FROM sales WHERE browser = 'Safari'", queries=5)
    trees = found(sales_sample, [asked("b", BY_BROWSER), sketch])
    kept = {tuple(sorted(tree.saving_entries)): tree.size_bytes for tree in trees.candidates}
    assert kept[("b",)] < kept[("b", "s")]


def test_a_tree_of_the_last_advice_is_judged_as_it_is(sales_sample: TableSample, asked: Asked) -> None:
    known = StarTreeConfig.from_document(
        {"dimensionsSplitOrder": ["browser", "country"], "functionColumnPairs": ["SUM__price", "MAX__clicks"]}
    )
    trees = candidate_trees(sales_sample, [asked("a", BY_COUNTRY)], max_size_ratio=0.5, most=6, known=[known])
    first, *others = trees.candidates
    assert first.config == known
    assert first.saving_entries["a"] > 0
    assert known not in [tree.config for tree in others]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT * FROM sales WHERE country = 'c00'", "not_an_aggregation"),
        ("SELECT COUNT(DISTINCT customer) FROM sales", "distinct"),
        ("SELECT SUM(price * clicks) FROM sales", "expression"),
        ("SELECT SUM(browser) FROM sales", "config"),
        ("SELECT COUNT(*) FROM sales WHERE country = 'c00' OR browser = 'Safari'", "several_columns"),
        ("SELECT COUNT(*) FROM sales WHERE country = 'c01'", "multi_value"),
        ("SELECT MAX(height) FROM sales", "unknown_column"),
    ],
)
def test_what_no_tree_answers_is_told_with_its_reason(
    sales_sample: TableSample, text: str, reason: str
) -> None:
    several = {"country"} if reason == "multi_value" else set[str]()
    shape = answerable_shape(AskedShape("a", 1.0, 1.0, ((text, 1.0),)), sales_sample.types, several, "sales")
    assert isinstance(shape, UnanswerableShape)
    assert shape.reason == reason


def test_a_predicate_that_cannot_be_computed_leaves_its_shape_out(
    sales_sample: TableSample, asked: Asked
) -> None:
    wrong = asked("w", "SELECT COUNT(*) FROM sales WHERE day = 'Monday'")
    trees = found(sales_sample, [asked("b", BY_BROWSER), wrong])
    assert orders(trees) == {frozenset({"browser"})}
    assert list(Forecaster(sales_sample, [wrong]).refused) == ["w"]


def test_the_best_candidate_saves_as_much_as_the_best_of_all_trees(
    sales_sample: TableSample, asked: Asked
) -> None:
    shapes = [
        asked("a", BY_COUNTRY, "SELECT SUM(price) FROM sales WHERE country = 'c07'"),
        asked("b", BY_BROWSER, queries=30),
        asked("c", BY_DAY, queries=250),
    ]
    trees = found(sales_sample, shapes, max_size_ratio=1.0)
    forecaster = Forecaster(sales_sample, shapes)
    best = 0.0
    names = ("country", "browser", "day")
    for count in (1, 2, 3):
        for dimensions in combinations(names, count):
            fitting = [shape for shape in shapes if shape.dimensions <= set(dimensions)]
            for order in permutations(dimensions):
                for threshold in (*MAX_LEAF_RECORDS, 30, 10, 1):
                    forecast = forecaster.forecast(TreeLayout(order, threshold), fitting)
                    if forecast.documents <= sales_sample.rows:
                        best = max(best, saving_of(forecast, fitting))
    assert trees.candidates[0].total_saving_entries >= 0.95 * best


def test_no_tree_answers_a_query_whose_options_rule_trees_out(sales_sample: TableSample) -> None:
    def reason(options: str, version: str, nulls: frozenset[str] = frozenset()) -> str:
        text = f"{options}SELECT browser, SUM(price) FROM sales WHERE country = 'c00' GROUP BY browser"
        asked = AskedShape("a", 1.0, 1.0, ((text, 1.0),))
        rules = star_tree_rules(version)
        shape = answerable_shape(asked, sales_sample.types, (), "sales", rules, nulls=nulls)
        if isinstance(shape, AnswerableShape):
            return ""
        assert (shape.by_starskip is None) == (shape.reason == "use_star_tree")
        return shape.reason

    assert reason("", "0.11", frozenset({"price"})) == ""
    assert reason("SET useStarTree='false'; ", "1.5.1") == "use_star_tree"
    assert reason("SET enableNullHandling=true; ", "1.2") == "null_handling"
    assert reason("SET enableNullHandling=true; ", "1.3") == ""
    assert reason("SET enableNullHandling=true; ", "1.3", frozenset({"price"})) == "null_handling"
