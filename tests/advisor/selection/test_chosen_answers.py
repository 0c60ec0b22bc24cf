"""Star-trees beside indexes: one budget for both, no vote counted twice, and why a tree is refused."""

from __future__ import annotations

from collections.abc import Mapping

from index_choice import k_selection, trees_of, with_star_trees
from starskip.advisor.families.index import Index
from starskip.advisor.families.star_tree.recommend.candidates import CandidateTree
from starskip.advisor.selection.chosen_answers import AnswerTerms
from starskip.advisor.selection.recommendation import Budget
from starskip.advisor.selection.vote_list import Saving, VoteList
from starskip.star_tree.star_tree_config import StarTreeConfig

STRUCTURES = tuple(Index("inverted", name) for name in "abc")
SHAPES = ("s", "t", "u", "v")


def tree(
    name: str, savings: Mapping[str, float], size: float = 10.0, documents: float = 5.0
) -> CandidateTree:
    config = StarTreeConfig.from_document(
        {"dimensionsSplitOrder": [name], "functionColumnPairs": ["COUNT__*"]}
    )
    return CandidateTree(config, documents, size, dict.fromkeys(savings, 1.0), dict(savings))


def vote(shape: str, saving: float, column: str = "a") -> VoteList:
    index = frozenset([Index("inverted", column)])
    return VoteList("t", shape, 0, {index: Saving(saving)}, is_complete=True)


def budget(most: int = 3, storage: int | None = None, gain: float = 0.0) -> Budget:
    return Budget(most, gain, 0.0, storage)


def tree_budget(most: int = 2, total: float = 1_000.0, gain: float = 0.0, switch: float = 0.0) -> AnswerTerms:
    return AnswerTerms(total, gain, most, 1e9, switch)


def test_a_shape_that_a_tree_answers_votes_for_no_index_any_more() -> None:
    lists = [vote("s", 100), vote("t", 40, "b")]
    chosen = with_star_trees([tree("x", {"s": 150.0})], lists, budget(), 1_000, tree_budget())
    assert [item.config.dimensions_split_order for item in trees_of(chosen)] == [("x",)]
    assert chosen.unanswered(lists) == [lists[1]]
    left = k_selection(chosen.unanswered(lists), 3)
    assert left.chosen == {Index("inverted", "b")}


def test_an_index_that_does_as_well_for_one_shape_leaves_no_room_for_a_tree() -> None:
    chosen = with_star_trees(
        [tree("x", {"s": 100.0})], [vote("s", 100)], budget(), 1_000, tree_budget(gain=0.01)
    )
    assert trees_of(chosen) == ()
    assert chosen.refused[0][1].code == "covered_by_chosen"


def test_trees_and_indexes_share_the_bytes() -> None:
    lists = [vote("s", 90), vote("t", 80, "b")]
    sizes = {STRUCTURES[0]: 60, STRUCTURES[1]: 60}
    offered = [tree("x", {"s": 100.0}, size=50)]
    wide = with_star_trees(offered, lists, budget(storage=110), 1_000, tree_budget(), size_bytes=sizes)
    assert len(trees_of(wide)) == 1
    narrow = with_star_trees(offered, lists, budget(storage=49), 1_000, tree_budget(), size_bytes=sizes)
    assert trees_of(narrow) == ()
    assert narrow.refused[0][1].code == "over_storage_budget"


def test_the_smaller_of_two_trees_answers_what_both_could() -> None:
    offered = [
        tree("large", {"s": 50.0, "t": 60.0}, documents=900),
        tree("small", {"s": 90.0}, documents=10),
    ]
    chosen = with_star_trees(offered, [], budget(), 1_000, tree_budget())
    assert [item.config.dimensions_split_order for item in trees_of(chosen)] == [("small",), ("large",)]
    assert chosen.answered == {"s": 0, "t": 1}
    assert (chosen.saving_entries(0), chosen.saving_entries(1)) == (90.0, 60.0)


def test_a_tree_that_brings_less_than_the_least_gain_is_refused() -> None:
    chosen = with_star_trees([tree("x", {"s": 4.0})], [], budget(), 1_000, tree_budget(gain=0.005))
    assert (trees_of(chosen), chosen.refused[0][1].code) == ((), "below_min_gain")
    large = AnswerTerms(1_000.0, 0.005, 2, gain_bytes=10.0)
    for size, trees in ((10.0, 1), (30.0, 0)):
        found = with_star_trees([tree("x", {"s": 7.0}, size=size)], [], budget(), 1_000, large)
        assert len(trees_of(found)) == trees
    assert found.refused[0][1].detail.endswith("; at its size it must save 1.5 %")


def test_no_more_trees_than_are_allowed() -> None:
    offered = [tree(name, {shape: 50.0}) for name, shape in zip("xyz", SHAPES, strict=False)]
    chosen = with_star_trees(offered, [], budget(), 1_000, tree_budget(most=2))
    assert len(trees_of(chosen)) == 2
    assert [verdict.code for _, verdict in chosen.refused] == ["over_max_answers"]


def test_a_tree_of_the_last_advice_stays_until_another_is_clearly_better() -> None:
    old, new = tree("old", {"s": 100.0}), tree("new", {"s": 105.0})
    for switch, stays in ((0.01, old), (0.004, new)):
        chosen = with_star_trees(
            [old, new], [], budget(), 1_000, tree_budget(most=1, switch=switch), kept=[old.config]
        )
        assert trees_of(chosen) == (stays,)


def test_any_number_of_answers_may_be_allowed() -> None:
    chosen = with_star_trees([tree("x", {"s": 90.0})], [], budget(), 1_000, tree_budget(most=10**400))
    assert len(trees_of(chosen)) == 1
