"""Star-trees in a table's report, out of the night's artefacts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from settings_with import settings_with
from starskip.advisor.families.star_tree.build_star_trees import build_star_trees
from starskip.advisor.families.star_tree.report.star_tree_evidence import StarTreeEvidence
from starskip.advisor.families.star_tree.report.star_tree_report import star_tree_report
from starskip.advisor.workload.shape_workload import workload_shapes
from starskip.execution.local_engine import LocalEngine
from starskip.night.verify_indexes import verify_indexes
from starskip.star_tree.serving import star_tree as star_tree_module

pytestmark = pytest.mark.slow

QUERIES = (
    "SELECT COUNT(*) FROM sales WHERE country = 'CA'",
    "SELECT COUNT(*) FROM sales WHERE country = 'MX'",
    "SELECT browser, SUM(price) FROM sales GROUP BY browser",
)


def report(house: Any, table: str = "sales") -> StarTreeEvidence | None:
    night = house.night
    advice = night.store.snapshot("recommendations", night.date_text).parts()[table]
    workload = night.store.snapshot("workload", night.date_text)
    shapes = list(workload_shapes(workload.read_table([table]))) if workload else []
    return star_tree_report(night, table, advice, shapes)


@pytest.fixture
def house(tree_house: Any, star_tree_config: Callable[..., Any]) -> Any:
    tree_house.ask(*QUERIES)
    counted, grouped = sorted(tree_house.rows("workload"), key=lambda row: -row["queries"])
    tree = {
        "config": star_tree_config("country", "browser"),
        "documents": 20,
        "size_bytes": 9_000,
        "saving_ratio": 0.25,
        "shapes": {counted["shape_id"]: 3.0, grouped["shape_id"]: 5.0, "of an earlier night": 1.0},
    }
    tree_house.choose(tree)
    return tree_house


def run(house: Any) -> None:
    build_star_trees(LocalEngine(), house.night)
    verify_indexes(LocalEngine(), house.night)


def test_a_tree_is_told_with_why_it_was_chosen_what_it_takes_and_what_it_guarantees(house: Any) -> None:
    run(house)
    trees = report(house)
    assert trees is not None
    (tree,) = trees.chosen
    assert (tree.dimensions, tree.pairs) == (("country", "browser"), ("COUNT__*", "SUM__price"))
    assert (tree.outcome, tree.detail, tree.most_documents) == ("built", "there was none", 10)
    assert (tree.estimated_documents, tree.estimated_bytes, tree.saving_ratio) == (20, 9_000, 0.25)
    assert tree.documents and tree.size_bytes
    # The busiest first, and none that tonight's log has not.
    assert [shape.queries for shape in tree.shapes] == [1, 2]
    assert trees.table_rows == 1_200
    assert trees.table_bytes == sum(path.stat().st_size for path in house.lake.iterdir())


def test_queries_of_a_shape_are_told_together_without_their_literals(house: Any) -> None:
    run(house)
    trees = report(house)
    assert trees is not None
    assert [(each.instances, each.verdict, each.tree) for each in trees.proved] == [
        (1, "equal", 1),
        (2, "equal", 1),
    ]
    grouped, counted = trees.proved
    assert "country = ?" in counted.masked_text
    assert "CA" not in repr(trees)
    assert grouped.rows_read_by_scan == counted.rows_read_by_scan == 1_200
    assert grouped.tree_ms and grouped.scan_ms and grouped.rows_read_from_tree


def test_the_worst_of_a_shapes_queries_is_its_verdict(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    build_star_trees(LocalEngine(), house.night)
    real = star_tree_module.traverse
    calls = []

    def once_forgetful(*arguments: Any) -> Any:
        calls.append(1)
        found = real(*arguments)
        if len(calls) % 4:
            return found
        return replace(found, aggregated=found.aggregated[:-1], ends=np.maximum(found.ends - 1, found.starts))

    monkeypatch.setattr(star_tree_module, "traverse", once_forgetful)
    verify_indexes(LocalEngine(), house.night)
    trees = report(house)
    assert trees is not None
    verdicts = {each.instances: (each.verdict, each.detail) for each in trees.proved}
    assert verdicts[1] == ("equal", None)
    assert verdicts[2] == ("different", "column count(*): differs in 1 of 1 groups")


def test_a_shape_that_its_tree_does_not_answer_after_all_is_told(
    house: Any, star_tree_config: Callable[..., Any]
) -> None:
    chosen = house.night.store.snapshot("recommendations", house.night.date_text).parts()["sales"]
    (tree,) = chosen.properties["star_trees"]
    house.choose({**tree, "config": star_tree_config("country")})
    run(house)
    trees = report(house)
    assert trees is not None
    (missing,) = [each for each in trees.proved if each.verdict == "not_answered"]
    assert (missing.tree, missing.rows_read_from_tree) == (None, None)
    assert missing.detail is not None and "browser" in missing.detail


def test_refusals_and_what_no_tree_answers_are_told_where_none_was_chosen(
    tree_house: Any, star_tree_config: Callable[..., Any]
) -> None:
    from starskip.storage.manifest import Part

    night = tree_house.night
    properties = {
        "star_trees": [],
        "refused_star_trees": [
            {
                "config": star_tree_config("user"),
                "reason": "near_table_size",
                "detail": "401 of 1,200",
                "size_bytes": None,
            }
        ],
        "unanswerable_by_star_trees": {"not_an_aggregation": 7},
        "answered_by_starskip_only": [{"shape_id": "gone", "reason": "not", "detail": "it has a NOT"}],
        "star_trees_note": "no rows could be read to estimate trees from",
        "table_bytes": 5_000,
    }
    tree_house.choose()
    night.publish("recommendations", {"sales": Part((), properties)})
    run(tree_house)
    trees = report(tree_house)
    assert trees is not None
    assert (trees.chosen, trees.proved, trees.table_rows, trees.table_bytes) == ((), (), None, 5_000)
    assert trees.note == "no rows could be read to estimate trees from"
    assert trees.unanswerable == {"not_an_aggregation": 7}
    # The workload of the night has no such shape any more.
    assert trees.by_starskip_only == ()
    (refused,) = trees.refused
    assert (refused.dimensions, refused.reason, refused.size_bytes) == (("user",), "near_table_size", None)


def test_a_night_that_looked_at_no_star_tree_tells_nothing_of_them(tree_house: Any) -> None:
    from starskip.storage.manifest import Part

    tree_house.night.publish("recommendations", {"sales": Part(())})
    assert report(tree_house) is None


def test_queries_that_were_not_asked_count_for_no_proof(house: Any) -> None:
    build_star_trees(LocalEngine(), house.night)
    house.changes["settings"] = settings_with(proof_table_bytes=1)
    verify_indexes(LocalEngine(), house.night)
    trees = report(house)
    assert trees is not None
    assert trees.proved == ()
    assert trees.not_proved is not None
    assert trees.not_proved.startswith("0 of 3 queries were asked both ways: of 0 of 2 query shapes.")
    assert trees.not_proved.endswith(", more than the budget of 1 B.")
