"""Queries of the log answered from star-trees and by a scan: which are asked, and what is told of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from settings_with import settings_with
from starskip.advisor.families.star_tree.build_star_trees import build_star_trees
from starskip.advisor.families.star_tree.proof.verify_star_trees import ScanBytes
from starskip.advisor.run.night import StageResult
from starskip.errors import SourceError, StorageError, exit_code
from starskip.execution.local_engine import LocalEngine
from starskip.night.verify_indexes import verify_indexes
from starskip.star_tree.serving import star_tree as star_tree_module
from starskip.star_tree.serving.tree_set import open_trees

pytestmark = pytest.mark.slow

Config = Callable[..., dict[str, Any]]
PAIRS = ["COUNT__*", "SUM__price", "AVG__price", "DISTINCTCOUNTHLL__user", "PERCENTILEEST__user"]
EXACT = "SELECT browser, COUNT(*), SUM(price), AVG(price) FROM sales WHERE country = 'CA' GROUP BY browser"


@pytest.fixture
def house(tree_house: Any, star_tree_config: Config) -> Any:
    tree_house.choose(star_tree_config("day"), star_tree_config("country", "browser", pairs=PAIRS))
    build_star_trees(LocalEngine(), tree_house.night)
    return tree_house


def run(house: Any) -> StageResult:
    return verify_indexes(LocalEngine(), house.night)


def verdicts(house: Any) -> list[tuple[str, int | None]]:
    return [(row["verdict"], row["tree"]) for row in house.rows("verdicts")]


def test_what_a_tree_answers_is_asked_both_ways_with_what_each_read(house: Any) -> None:
    house.ask(EXACT)
    result = run(house)
    assert result.counts["equal"] == 1
    assert list(result.warnings) == []
    (row,) = house.rows("verdicts")
    assert (row["verdict"], row["tree"], row["instance"], row["detail"]) == ("equal", 2, 1, None)
    assert row["answer_rows"] == 3
    assert row["scan_rows_read"] == 1_200
    assert 0 < row["tree_rows_read"] < 50
    assert row["tree_ms"] > 0 and row["scan_ms"] > 0


def test_a_tree_is_told_by_its_number_in_the_advice_though_one_before_it_was_not_built(
    house: Any, star_tree_config: Config
) -> None:
    house.choose(star_tree_config("nation"), star_tree_config("country", "browser", pairs=PAIRS))
    build_star_trees(LocalEngine(), house.night)
    assert [row["outcome"] for row in house.rows("star_tree_builds")] == ["failed", "built"]
    house.ask(EXACT)
    run(house)
    assert verdicts(house) == [("equal", 2)]


def test_approximate_answers_are_held_to_the_bound_that_they_state(house: Any) -> None:
    house.ask(
        "SELECT country, DISTINCTCOUNTHLL(user) FROM sales GROUP BY country",
        "SELECT browser, PERCENTILEEST(user, 90) AS p FROM sales WHERE country <> 'MX' GROUP BY browser",
        "SELECT PERCENTILEEST50(user) FROM sales",
    )
    run(house)
    assert verdicts(house) == [("within_bound", 2)] * 3
    assert all("within" in row["detail"] for row in house.rows("verdicts"))


def test_what_no_tree_claims_is_not_asked(house: Any) -> None:
    house.ask(
        "SELECT note FROM sales WHERE country = 'CA'",
        "SELECT COUNT(*) FROM sales WHERE user = 7",
        "SELECT MAX(price) FROM sales WHERE country = 'CA'",
        "SELECT COUNT(*) FROM sales WHERE country = 'CA' OR browser = 'Chrome'",
    )
    assert run(house).counts["shapes"] == 0
    assert house.rows("verdicts") == []


def test_of_a_shape_those_queries_are_asked_that_scanned_most(house: Any) -> None:
    days = [f"SELECT COUNT(*) FROM sales WHERE day = '2026-11-0{i}'" for i in range(1, 6)]
    house.ask("SELECT SUM(price) FROM sales WHERE day > '2026'", *days)
    house.changes["settings"] = settings_with(verified_instances=2)
    run(house)
    rows = house.rows("verdicts")
    assert [row["instance"] for row in rows] == [1, 2, 1]
    assert {row["verdict"] for row in rows} == {"equal"}


def test_ties_under_order_by_and_limit_are_no_difference(house: Any) -> None:
    house.ask("SELECT country, COUNT(*) FROM sales GROUP BY country ORDER BY COUNT(*) > 0 LIMIT 2")
    run(house)
    (row,) = house.rows("verdicts")
    assert (row["verdict"], row["answer_rows"]) == ("equal", 4)


def test_a_fault_in_the_traversal_is_found(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real = star_tree_module.traverse

    def forgetful(*arguments: Any) -> Any:
        found = real(*arguments)
        if len(found.aggregated):
            return replace(found, aggregated=found.aggregated[:-1])
        return replace(found, ends=np.maximum(found.ends - 1, found.starts))

    monkeypatch.setattr(star_tree_module, "traverse", forgetful)
    house.ask(EXACT, "SELECT COUNT(*) FROM sales", "SELECT COUNT(*) FROM sales WHERE day = '2026-11-05'")
    result = run(house)
    assert result.counts["different"] == 3
    assert "CA" not in str(house.rows("verdicts")), "a value of the table is told"
    assert len(result.warnings) == 3
    assert all(text.startswith("table sales: shape ") for text in result.warnings)


def test_a_table_that_changed_since_is_told_and_not_compared(house: Any) -> None:
    house.ask(EXACT)
    house.add_file("c.parquet", rows=5)
    run(house)
    (row,) = house.rows("verdicts")
    assert row["verdict"] == "failed"
    assert "is not what the star-tree was built from" in row["detail"]


@pytest.mark.parametrize("name", ["base", "star", "dictionary", "nodes"])
@pytest.mark.parametrize("damage", ["gone", "cut"])
def test_a_damaged_tree_fails_the_stage_once_its_verdicts_are_published(
    house: Any, name: str, damage: str
) -> None:
    house.ask(EXACT, "SELECT COUNT(*) FROM sales")
    for path in (house.root / "artefacts").rglob(f"star_trees/**/*-{name}.parquet"):
        path.unlink() if damage == "gone" else path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(
        StorageError, match=rf"table sales: .*-{name}\.parquet of its star-trees is gone or"
    ) as e:
        run(house)
    assert "run build_star_trees of this night again" in str(e.value)
    assert exit_code(e.value) == 3
    assert {row["verdict"] for row in house.rows("verdicts")} >= {"failed"}
    assert build_star_trees(LocalEngine(), house.night).counts["built"] == 2
    assert all(row["detail"].endswith("gone or damaged") for row in house.rows("star_tree_builds"))
    assert run(house).counts["equal"] == 2


@pytest.mark.parametrize("name", ["sales_OFFLINE", '"db.sales"', "analytics.sales"])
def test_a_query_is_the_tables_whatever_it_calls_it(house: Any, name: str) -> None:
    house.ask(EXACT.replace("FROM sales", f"FROM {name}"))
    assert run(house).counts["equal"] == 1


def test_arithmetic_with_an_approximate_value_has_no_bound_to_be_held_to(house: Any) -> None:
    house.ask("SELECT country, SUM(price) / DISTINCTCOUNTHLL(user) FROM sales GROUP BY country")
    run(house)
    assert verdicts(house) == [("not_comparable", 2)]


def test_a_night_that_built_nothing_checks_nothing(house: Any, star_tree_config: Config) -> None:
    house.ask(EXACT)
    house.changes["settings"] = settings_with(build_indexes=False)
    build_star_trees(LocalEngine(), house.night)
    assert run(house).counts["shapes"] == 0


def test_a_stage_before_its_time_names_the_one_to_run_first(tree_house: Any) -> None:
    with pytest.raises(SourceError, match="run build_star_trees of that night first"):
        run(tree_house)


def test_a_budget_is_spent_on_the_shapes_that_save_most_and_the_rest_is_told(house: Any) -> None:
    days = [f"SELECT COUNT(*) FROM sales WHERE day = '2026-11-0{i}'" for i in (1, 2)]
    percentile = "SELECT PERCENTILEEST50(user) FROM sales"
    house.ask(EXACT, *days, percentile)
    costs = ScanBytes(open_trees(house.night.store, "sales"))
    budget_bytes = costs.of(percentile) + 3 * costs.of(days[0]) // 2
    house.changes["settings"] = settings_with(proof_table_bytes=budget_bytes)
    result = run(house)
    rows = house.rows("verdicts")
    assert [(row["instance"], row["verdict"], row["tree"]) for row in rows] == [
        (1, "within_bound", 2),
        (1, "equal", 1),
        (2, "not_proved", None),
        (1, "not_proved", None),
    ]
    assert (
        rows[2]["detail"].startswith("one query reads ")
        and " are left of the budget of " in rows[2]["detail"]
    )
    assert (result.counts["shapes"], result.counts["not_proved"]) == (2, 2)
    (warning,) = result.warnings
    assert warning == f"table sales: star-trees: 2 of 4 queries were not proved: {rows[2]['detail']}"


def test_no_query_is_asked_of_a_table_that_costs_more_than_the_budget(house: Any) -> None:
    house.ask(EXACT, "SELECT COUNT(*) FROM sales")
    house.changes["settings"] = settings_with(proof_night_bytes=1)
    result = run(house)
    assert (result.counts["shapes"], result.counts["not_proved"]) == (0, 2)
    assert all(row["detail"].endswith("more than the budget of 1 B") for row in house.rows("verdicts"))
