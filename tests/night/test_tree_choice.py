"""Star-trees chosen with the indexes of a table: who votes, what is left for whom, and nights that follow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from index_choice import trees_of
from settings_with import settings_with
from starskip.advisor.families.answer import AnswerOffer, TableQueries
from starskip.advisor.families.families import BUILT_IN, FamilyChoice
from starskip.advisor.families.index import Index
from starskip.advisor.families.star_tree.family import STAR_TREE
from starskip.advisor.families.star_tree.recommend.candidates import CandidateTree
from starskip.advisor.families.star_tree.recommend.star_tree_offer import answer_of, tree_index
from starskip.advisor.selection.advise_table import advise_table
from starskip.advisor.selection.past_nights import NO_PAST, PastNights
from starskip.advisor.selection.table_advice import TableAdvice
from starskip.advisor.selection.table_question import TableQuestion
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.pinot.table_config import TableConfig
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.schemas import VOTES
from starskip.tables.table_overview import ColumnOverview, TableOverview

OVERVIEW = TableOverview(
    "t", 1, 1_000, {name: ColumnOverview(name, cardinality=100.0, dictionary_ratio=1.0) for name in "ab"}
)
SIZES = {Index("inverted", "a"): 50, Index("inverted", "b"): 50}


def shape(column: str) -> ShapeWorkload:
    cut = normalize_sql(f"select count(*) from t where {column} = 1")
    return ShapeWorkload(
        "t",
        query_shape(cut.skeleton).shape_id,
        "",
        cut.skeleton,
        queries=100,
        entries_scanned_in_filter=100_000,
        instances={cut.literals: Instance(100, 100_000, 1e8)},
    )


A, B = shape("a"), shape("b")


def votes() -> pa.Table:
    rows = [
        {
            "table": "t",
            "shape_id": voter.shape_id,
            "leg": 0,
            "structures": [f"inverted:{column}"],
            "saving_entries": 100_000.0,
            "saving_entries_squared": 1e10,
            "saving_entries_cross": 1e10,
            "saving_priced_entries": 100_000.0,
            "is_complete": True,
        }
        for voter, column in ((A, "a"), (B, "b"))
    ]
    return pa.Table.from_pylist(rows, VOTES)


def tree(column: str, voter: ShapeWorkload, saving: float = 150_000.0, size: float = 10.0) -> CandidateTree:
    config = StarTreeConfig.from_document(
        {"dimensionsSplitOrder": [column], "functionColumnPairs": ["COUNT__*"]}
    )
    return CandidateTree(config, 100.0, size, {voter.shape_id: 2.0}, {voter.shape_id: saving})


def advice(
    *trees: CandidateTree,
    past: PastNights = NO_PAST,
    configured: tuple[StarTreeConfig, ...] = (),
    **settings: Any,
) -> TableAdvice:
    def offer(queries: TableQueries) -> AnswerOffer:
        assert set(queries.window) == {A.shape_id, B.shape_id}
        assert STAR_TREE.answer is not None
        held = STAR_TREE.answer(queries)
        assert held.detail.in_force.trees == configured
        assert list(queries.last) == list(past.answers.get("star_tree", ()))
        return replace(
            held, candidates=tuple(map(answer_of, trees)), total_entries=300_000.0, gain_bytes=500.0
        )

    known = tuple(replace(f, answer=offer) if f.name == STAR_TREE.name else f for f in BUILT_IN)
    config = TableConfig("t", star_tree_index_configs=tuple(tree.to_document() for tree in configured))
    return advise_table(
        TableQuestion(
            "t",
            [A, B],
            votes(),
            OVERVIEW,
            settings_with(**settings),
            FamilyChoice(known, known),
            past=past,
            size_bytes=SIZES,
            configs=[config],
        )
    )


def chosen(found: TableAdvice) -> list[str]:
    return [str(item.index) for item in found.recommendation.chosen]


def test_what_a_tree_answers_asks_for_no_index() -> None:
    found = advice(tree("a", A))
    assert len(trees_of(found.answers)) == 1
    assert chosen(found) == ["inverted:b"]
    assert ("inverted:a", "answered_by_another") in [
        (str(item.index), item.reason.value) for item in found.refused
    ]
    assert found.recommendation.saving.ratio == pytest.approx(0.5)


def test_what_a_tree_of_the_config_answers_asks_for_no_index() -> None:
    held = tree("a", A).config
    found = advice(configured=(held,))
    assert found.offers["star_tree"].answered == {A.shape_id}
    assert chosen(found) == ["inverted:b"]
    (refused,) = [item for item in found.refused if str(item.index) == "inverted:a"]
    assert refused.reason.value == "answered_by_another"
    assert found.recommendation.saving.ratio == pytest.approx(0.5), "of all entries, those of the tree too"


def test_a_tree_of_the_config_that_answers_nothing_takes_no_votes() -> None:
    held = StarTreeConfig.from_document({"dimensionsSplitOrder": ["a"], "functionColumnPairs": ["SUM__b"]})
    assert sorted(chosen(advice(configured=(held,)))) == ["inverted:a", "inverted:b"]


def test_typical_queries_read_what_the_tree_lets_them_read() -> None:
    found = advice(tree("a", A), max_indexes=8, desirable_query_ratio=1.0)
    assert found.typical is not None
    assert (found.typical.today, found.typical.advised) == (1_000.0, 2.0)


def test_without_candidates_the_indexes_are_chosen_as_ever() -> None:
    assert chosen(advice()) == ["inverted:a", "inverted:b"]
    assert trees_of(advice().answers) == ()


def test_the_tree_of_the_last_advice_is_known_and_stays() -> None:
    old, new = tree("a", A), tree("b", A, saving=150_100.0)
    index = tree_index(old.config)
    past = PastNights(kept_answers=frozenset([index]), answers={"star_tree": [old.config.to_document()]})
    assert advice(old, new, past=past, max_star_trees=1).answers.answers == (answer_of(old),)
    assert advice(old, new, max_star_trees=1).answers.answers == (answer_of(new),)


def test_too_few_queries_are_no_reason_for_a_tree() -> None:
    assert advice(tree("a", A), num_queries_threshold=1_000).answers.answers == ()


def test_k_bounds_trees_and_indexes_together() -> None:
    great, small = tree("a", A, saving=150_000.0), tree("b", B, saving=30_000.0)
    for most in (1, 2, 3):
        found = advice(great, max_indexes=most)
        assert len(chosen(found)) + len(found.answers.answers) == min(most, 2)
    found = advice(great, max_indexes=1)
    assert found.answers.answers == (answer_of(great),), "it saves most"
    assert {str(item.index): item.code for item in found.refused}["inverted:b"] == "over_max_indexes"
    found = advice(small, max_indexes=1)
    assert found.answers.answers == () and len(chosen(found)) == 1


def test_a_tree_that_k_leaves_out_is_refused_for_it() -> None:
    found = advice(tree("a", A, saving=150_000.0), tree("b", B, saving=140_000.0), max_indexes=1)
    assert len(found.answers.answers) == 1 and chosen(found) == []
    ((answer, verdict),) = found.answers.refused
    assert (answer.columns, verdict.code) == (("b",), "over_max_indexes")


def test_the_curve_holds_the_best_set_of_each_number_and_the_chosen_one() -> None:
    found = advice(tree("a", A), max_indexes=3)
    points = found.recommendation.curve
    assert [(point.k, len(point.indexes) + len(point.answers)) for point in points] == [(1, 1), (2, 2)]
    assert points[0].answers == found.answers.answers, "the tree saves most by itself"
    assert points[-1].saving == found.combined.saving
    assert list(points[-1].indexes) == [item.index for item in found.recommendation.chosen]
    ratios = [point.saving.ratio for point in points]
    assert ratios == sorted(ratios)


def test_indexes_save_by_themselves_whatever_tree_stands_beside_them() -> None:
    # Both shapes read one base: two indexes save all, with a tree for one of the shapes or without it.
    alone, beside = advice(max_indexes=2), advice(tree("a", A, saving=40_000.0), max_indexes=3)
    assert chosen(alone) == chosen(beside)
    assert alone.recommendation.saving.ratio == beside.recommendation.saving.ratio == pytest.approx(1.0)
    found = advice(tree("a", A), max_indexes=3)
    assert found.combined.parts == pytest.approx({"indexes": 0.5, "star_tree": 0.5})
