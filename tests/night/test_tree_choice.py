"""Star-trees chosen with the indexes of a table: who votes, what is left for whom, and nights that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pytest
from settings_with import settings_with
from starskip.indexes.index import Structure
from starskip.indexes.star_tree.recommend.candidates import CandidateTree
from starskip.indexes.star_tree.recommend.star_tree_candidates import StarTreeCandidates
from starskip.indexes.star_tree.recommend.trees_in_force import TreesInForce
from starskip.indexes.star_tree.star_tree_config import StarTreeConfig
from starskip.selection.advise_table import TableAdvice, advise_table
from starskip.selection.past_nights import NO_PAST, PastNights
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.storage.schemas import VOTES
from starskip.tables.table_overview import ColumnOverview, TableOverview
from starskip.workload.shape_entries import ShapeEntries
from starskip.workload.shape_workload import Instance, ShapeWorkload

OVERVIEW = TableOverview(
    "t",
    1,
    1_000,
    {name: ColumnOverview(name, cardinality=100.0, dictionary_ratio=1.0) for name in "ab"},
    frozenset(),
)
SIZES = {Structure("inverted", "a"): 50, Structure("inverted", "b"): 50}


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
    def source(
        window: Mapping[str, ShapeEntries], known: Sequence[StarTreeConfig], held: TreesInForce
    ) -> StarTreeCandidates:
        assert held.trees == configured
        assert set(window) == {A.shape_id, B.shape_id}
        assert tuple(known) == past.star_trees
        return StarTreeCandidates(trees, total_entries=300_000.0, table_bytes=10_000.0)

    return advise_table(
        "t",
        [A, B],
        votes(),
        OVERVIEW,
        settings_with(**settings),
        "all",
        past=past,
        size_bytes=SIZES,
        tree_source=source,
        configured_trees=configured,
    )


def chosen(found: TableAdvice) -> list[str]:
    return [str(item.structure) for item in found.recommendation.chosen]


def test_what_a_tree_answers_asks_for_no_index() -> None:
    found = advice(tree("a", A))
    assert len(found.star_trees.trees) == 1
    assert chosen(found) == ["inverted:b"]
    assert ("inverted:a", "answered_by_star_tree") in [
        (str(item.structure), item.reason.value) for item in found.refused
    ]
    assert found.recommendation.saving.ratio == pytest.approx(0.5)


def test_what_a_tree_of_the_config_answers_asks_for_no_index() -> None:
    held = tree("a", A).config
    found = advice(configured=(held,))
    assert found.trees_in_force.answered == {A.shape_id: 0}
    assert chosen(found) == ["inverted:b"]
    (refused,) = [item for item in found.refused if str(item.structure) == "inverted:a"]
    assert refused.reason.value == "answered_by_star_tree"
    assert found.recommendation.saving.ratio == pytest.approx(0.5), "of all entries, those of the tree too"


def test_a_tree_of_the_config_that_answers_nothing_takes_no_votes() -> None:
    held = StarTreeConfig.from_document({"dimensionsSplitOrder": ["a"], "functionColumnPairs": ["SUM__b"]})
    assert sorted(chosen(advice(configured=(held,)))) == ["inverted:a", "inverted:b"]


def test_typical_queries_read_what_the_tree_lets_them_read() -> None:
    found = advice(tree("a", A), max_indexes=8, desirable_query_ratio=1.0)
    assert found.typical is not None
    assert (found.typical.today, found.typical.advised) == (1_000.0, 2.0)


@pytest.mark.parametrize(
    ("budget", "trees", "indexes"),
    [(None, 1, ["inverted:b"]), (60, 1, ["inverted:b"]), (59, 1, []), (9, 0, [])],
)
def test_trees_and_indexes_share_one_budget(budget: int | None, trees: int, indexes: list[str]) -> None:
    found = advice(tree("a", A), index_budget_bytes=budget)
    assert (len(found.star_trees.trees), chosen(found)) == (trees, indexes)


def test_without_candidates_the_indexes_are_chosen_as_ever() -> None:
    assert chosen(advice()) == ["inverted:a", "inverted:b"]
    assert advice().star_trees.trees == ()


def test_the_tree_of_the_last_advice_is_known_and_stays() -> None:
    old, new = tree("a", A), tree("b", A, saving=150_100.0)
    past = PastNights(star_trees=(old.config,))
    assert advice(old, new, past=past, max_star_trees=1).star_trees.trees == (old,)
    assert advice(old, new, max_star_trees=1).star_trees.trees == (new,)


def test_too_few_queries_are_no_reason_for_a_tree() -> None:
    assert advice(tree("a", A), num_queries_threshold=1_000).star_trees.trees == ()
