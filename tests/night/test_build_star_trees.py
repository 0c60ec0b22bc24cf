"""Chosen star-trees become built ones: what is kept, refreshed, built anew, refused, and what survives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from settings_with import settings_with
from starskip.advisor.families.star_tree import build_star_trees as stage_module
from starskip.advisor.families.star_tree.build_star_trees import build_star_trees
from starskip.advisor.run.night import StageResult
from starskip.errors import NotPlainFiles, SourceOutage, StaleTree, StorageError, UnsupportedQuery
from starskip.execution.local_engine import LocalEngine
from starskip.lake.iceberg.iceberg_deletes import DeleteFiles
from starskip.lake.lake_table import LakeTable
from starskip.lake.table_snapshot import DELETES
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.tree_set import open_trees
from starskip.storage.artefact_store import Experiment

Config = Callable[..., dict[str, Any]]


def run(house: Any, **changes: Any) -> StageResult:
    house.changes.update(changes)
    return build_star_trees(LocalEngine(), house.night)


def outcomes(house: Any, table: str = "sales") -> list[tuple[str, str]]:
    return [(row["outcome"], row["detail"]) for row in house.rows("star_tree_builds", table)]


def manifest(house: Any) -> Any:
    return house.night.store.snapshot("star_trees", "current").manifest


def answer(house: Any, sql: str) -> tuple[list[dict[str, Any]], bool]:
    found = answer_sql(open_trees(house.night.store, "sales"), sql)
    return found.table.to_pylist(), found.star_tree


def test_chosen_trees_are_built_and_answer(tree_house: Any, star_tree_config: Config) -> None:
    tree_house.choose(
        {"config": star_tree_config("country", "browser"), "documents": 12, "size_bytes": 9_000},
        star_tree_config("day", pairs=["COUNT__*"]),
    )
    result = run(tree_house)
    assert result.counts == {
        "tables": 1,
        "unchanged": 0,
        "refreshed": 0,
        "built": 2,
        "failed": 0,
        "not_built": 0,
    }
    first, second = tree_house.rows("star_tree_builds")
    assert (first["tree"], first["outcome"], first["detail"]) == (1, "built", "there was none")
    assert (first["estimated_documents"], first["estimated_bytes"]) == (12, 9_000)
    assert (first["rows"], second["rows"]) == (1_200, 1_200)
    assert first["documents"] > second["documents"] >= 5
    stored = {file.name: file.size_bytes for file in manifest(tree_house).parts["sales"].files}
    assert 0 < first["size_bytes"] <= sum(stored.values())
    assert answer(tree_house, "SELECT COUNT(*) AS n FROM sales WHERE day LIKE '2026-11-03%'") == (
        [{"n": 240}],
        True,
    )


def test_a_night_in_which_nothing_changed_leaves_all_as_it_is(
    tree_house: Any, star_tree_config: Config
) -> None:
    tree_house.choose(star_tree_config("country"))
    run(tree_house)
    before = manifest(tree_house)
    run(tree_house, run_date=date(2026, 11, 20))
    assert outcomes(tree_house) == [("unchanged", "same configuration, same files")]
    assert manifest(tree_house) == before


def test_a_night_that_chooses_none_keeps_the_former_trees_up_to_date(
    tree_house: Any, star_tree_config: Config
) -> None:
    tree_house.choose(star_tree_config("country"))
    run(tree_house)
    tree_house.choose()
    tree_house.add_file("c.parquet", rows=10)
    run(tree_house)
    assert outcomes(tree_house) == [("refreshed", "c.parquet new")]
    assert answer(tree_house, "SELECT COUNT(*) AS n FROM sales") == ([{"n": 1_210}], True)


def test_a_table_with_neither_choice_nor_trees_has_nothing_to_tell(tree_house: Any) -> None:
    tree_house.choose()
    assert run(tree_house).warnings == ()
    assert outcomes(tree_house) == []
    assert tree_house.night.store.snapshot("star_trees", "current") is None


def test_a_table_without_a_lake_table_is_pinots_to_build(tree_house: Any, star_tree_config: Config) -> None:
    tree_house.choose(star_tree_config("Carrier"), table="flights")
    assert run(tree_house).counts["not_built"] == 1
    assert outcomes(tree_house, "flights") == [
        ("not_built", "no lake table is configured: Pinot builds it itself once the change is applied")
    ]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"run_date": date(2026, 11, 19)}, "only the newest night builds, which is 2026-11-20"),
        ({"settings": settings_with(build_indexes=False)}, "this run advises and builds nothing"),
    ],
)
def test_an_older_night_and_a_backfill_build_nothing(
    tree_house: Any, star_tree_config: Config, changes: dict[str, Any], reason: str
) -> None:
    tree_house.choose(star_tree_config("country"))
    run(tree_house)
    before = manifest(tree_house)
    tree_house.changes.update(changes)
    tree_house.choose(star_tree_config("browser"))
    result = run(tree_house)
    ((outcome, detail),) = outcomes(tree_house)
    assert (outcome, detail[: len(reason)]) == ("not_built", reason)
    assert result.warnings == ()
    assert manifest(tree_house) == before


def test_an_experiment_builds_nothing_though_its_settings_have_not_arrived(
    tree_house: Any, star_tree_config: Config
) -> None:
    tree_house.choose(star_tree_config("country"))
    run(tree_house)
    before = manifest(tree_house)
    aside = Experiment(tree_house.night.date_text, "tried")
    tree_house.changes["store"] = replace(tree_house.night.store, experiment=aside)
    tree_house.choose(star_tree_config("browser"))
    assert run(tree_house).counts["not_built"] == 1
    assert manifest(tree_house) == before


def test_a_tree_that_the_table_cannot_have_costs_the_others_nothing(
    tree_house: Any, star_tree_config: Config
) -> None:
    tree_house.choose(star_tree_config("nation"), star_tree_config("country"))
    result = run(tree_house)
    (failed, why), built = outcomes(tree_house)
    assert failed == "failed"
    assert "nation" in why and "sales" in why
    assert built == ("built", "there was none")
    assert result.warnings == (f"table sales: star-tree not built: {why}",)
    assert answer(tree_house, "SELECT country, COUNT(*) FROM sales GROUP BY country")[1]


def test_rows_that_one_tree_cannot_take_cost_the_others_nothing(
    tree_house: Any, star_tree_config: Config
) -> None:
    """``note`` holds x0, x1, …, which are no numbers."""
    lake = LakeTable(str(tree_house.lake), {"note": "int32"})
    tree_house.choose(star_tree_config("country"), star_tree_config("browser", pairs=["SUM__note"]))
    run(tree_house, lake_tables={"sales": lake})
    built, (failed, why) = outcomes(tree_house)
    assert built == ("built", "there was none")
    assert failed == "failed"
    assert "a.parquet" in why and "note" in why and "int32" in why


def test_a_table_that_is_gone_fails_alone_and_its_last_trees_stay(
    tree_house: Any, star_tree_config: Config
) -> None:
    tree_house.choose(star_tree_config("country"))
    tree_house.choose(star_tree_config("country"), table="other")
    lakes = {"sales": LakeTable(str(tree_house.lake)), "other": LakeTable(str(tree_house.lake))}
    run(tree_house, lake_tables=lakes)
    before = manifest(tree_house).parts
    gone = str(tree_house.root / "no" / "such")
    result = run(tree_house, lake_tables={**lakes, "sales": LakeTable(gone)})
    assert outcomes(tree_house) == [("failed", f"{gone}: there is no such file or folder")]
    assert outcomes(tree_house, "other") == [("unchanged", "same configuration, same files")]
    assert result.counts["failed"] == 1
    assert manifest(tree_house).parts == before


def test_a_table_that_was_never_there_is_no_failure(tree_house: Any, star_tree_config: Config) -> None:
    tree_house.choose(star_tree_config("country"))
    gone = str(tree_house.root / "no" / "such")
    result = run(tree_house, lake_tables={"sales": LakeTable(gone)})
    assert outcomes(tree_house) == [("not_built", f"{gone}: there is no such file or folder")]
    assert (result.counts["failed"], result.counts["not_built"]) == (0, 1)


def test_a_night_of_one_table_leaves_the_trees_of_the_others(
    tree_house: Any, star_tree_config: Config
) -> None:
    lakes = {name: LakeTable(str(tree_house.lake)) for name in ("sales", "other")}
    for table in lakes:
        tree_house.choose(star_tree_config("country"), table=table)
    run(tree_house, lake_tables=lakes)
    before = manifest(tree_house).parts
    for table in lakes:
        tree_house.choose(star_tree_config("browser"), table=table)
    run(tree_house, tables=frozenset({"other"}))
    after = manifest(tree_house).parts
    assert after["sales"] == before["sales"]
    assert after["other"] != before["other"]
    assert len(tree_house.rows("star_tree_builds")) == 1


def test_a_store_that_does_not_answer_fails_the_stage_so_that_it_is_tried_again(
    tree_house: Any, star_tree_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    def silent(*_: Any, **__: Any) -> None:
        raise SourceOutage("the store does not answer", source="lake")

    monkeypatch.setattr(stage_module, "publish_trees", silent)
    tree_house.choose(star_tree_config("country"))
    with pytest.raises(SourceOutage):
        run(tree_house)


@pytest.mark.parametrize("chosen", [{}, {"config": 1}, "tree", {"dimensionsSplitOrder": [1]}])
def test_a_recommendation_of_another_version_is_named(tree_house: Any, chosen: Any) -> None:
    tree_house.choose(chosen)
    with pytest.raises(StorageError, match=r"recommendations of sales: .* run select_indexes again"):
        run(tree_house)


def test_a_hudi_table_of_the_lake_has_no_trees_and_the_reason_is_told(
    tree_house: Any, star_tree_config: Config
) -> None:
    sign = ".hoodie/hoodie.properties"
    tree_house.choose(star_tree_config("country"))
    run(tree_house)
    before = manifest(tree_house)
    (tree_house.lake / sign).parent.mkdir()
    (tree_house.lake / sign).write_text("{}")
    result = run(tree_house)
    assert (result.counts["failed"], result.counts["not_built"], result.warnings) == (0, 1, ())
    ((outcome, detail),) = outcomes(tree_house)
    assert outcome == "not_built"
    assert str(tree_house.lake) in detail and "whose files also hold rows that were deleted" in detail
    assert manifest(tree_house) == before
    with pytest.raises(NotPlainFiles):
        answer(tree_house, "SELECT COUNT(*) FROM sales")


def test_an_iceberg_table_of_the_lake_is_built_and_not_once_rows_of_it_are_deleted(
    tree_house: Any, star_tree_config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tree_house.lake.parent / "iceberg"
    folder.mkdir()
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder}/c.db", warehouse=f"file://{folder}")
    catalog.create_namespace("n")
    rows = ds.dataset(tree_house.lake).to_table()
    made = catalog.create_table("n.sales", rows.schema)
    made.append(rows)
    lakes = {"sales": LakeTable(made.location().removeprefix("file://"))}
    tree_house.choose(star_tree_config("country"))
    run(tree_house, lake_tables=lakes)
    assert outcomes(tree_house) == [("built", "there was none")]
    # A delete file, which pyiceberg writes none of.
    monkeypatch.setattr(DeleteFiles, "numbers_for", lambda self, entry: [0])
    deletes = pa.Table.from_pylist([{"kind": "position", "path": "d", "rows": 1}], DELETES)
    monkeypatch.setattr(DeleteFiles, "table", lambda self: deletes)
    result = run(tree_house, lake_tables=lakes)
    assert (result.counts["failed"], result.counts["not_built"], result.warnings) == (0, 1, ())
    ((outcome, detail),) = outcomes(tree_house)
    assert outcome == "not_built" and "were deleted by a position delete file, which Spark alone" in detail
    with pytest.raises(StaleTree):
        answer(tree_house, "SELECT COUNT(*) AS n FROM sales")
    catalog.close()


def test_trees_of_the_night_answer_to_their_tables_name_alone(
    tree_house: Any, star_tree_config: Config
) -> None:
    tree_house.choose(star_tree_config("country"))
    run(tree_house)
    for name in ("sales", "SALES", "lake.sales"):
        assert answer(tree_house, f"SELECT COUNT(*) AS n FROM {name}") == ([{"n": 1_200}], True)
    with pytest.raises(UnsupportedQuery, match="asks airlineStats, and these star-trees are of sales"):
        answer(tree_house, "SELECT COUNT(*) FROM airlineStats")


def test_files_of_the_lake_are_never_written(tree_house: Any, star_tree_config: Config) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in tree_house.lake.iterdir()}
    tree_house.choose(star_tree_config("country"))
    run(tree_house)
    assert {path.name: path.stat().st_mtime_ns for path in tree_house.lake.iterdir()} == before
