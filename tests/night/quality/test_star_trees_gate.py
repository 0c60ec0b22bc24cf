"""Each expectation of the gates of star-trees stops what it is there for, and it alone does."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import write_deltalake
from gate_checks import failed_checks, remove_check
from starskip.advisor.families.star_tree.build_star_trees import build_star_trees
from starskip.advisor.run.gate_verdicts import flagged_tables
from starskip.execution.local_engine import LocalEngine
from starskip.lake.lake_table import LakeTable
from starskip.night.quality.check_stage import check_stage
from starskip.night.verify_indexes import verify_indexes
from starskip.star_tree.serving import star_tree as star_tree_module

pytestmark = pytest.mark.quality
TREES = "star-trees of {table}"
QUERIES = "queries of {table} from a star-tree and by a scan"


@dataclass
class Spoiler:
    """A good night of ``sales``, one thing of which a test spoils."""

    house: Any
    monkeypatch: pytest.MonkeyPatch

    def spoil(self, artefact: str, **values: Any) -> None:
        """Publish the artefact with other values in its first row."""
        rows = self.house.rows(artefact)
        rows[0] |= values
        self.publish(artefact, rows)

    def publish(self, artefact: str, rows: list[dict[str, Any]]) -> None:
        from starskip.storage.manifest import Part

        night = self.house.night
        aside = night.store.staged_write(artefact, night.date_text)
        table = pa.Table.from_pylist(rows, schema=night.store.schemas[artefact])
        night.publish(artefact, {"sales": Part(aside.write("sales", table))})

    def failed(self, stage: str) -> list[str]:
        return failed_checks(self.house.night, stage, "sales")

    def assert_stopped(self, stage: str, check: str) -> None:
        assert self.failed(stage) == [check]


@pytest.fixture
def spoiler(
    tree_house: Any, star_tree_config: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> Spoiler:
    tree_house.changes["tables"] = frozenset({"sales"})
    tree_house.choose(
        {"config": star_tree_config("country", "browser"), "documents": 18, "size_bytes": 8_000},
        star_tree_config("day", pairs=["SUM__price"]),
    )
    tree_house.ask("SELECT COUNT(*) FROM sales WHERE country = 'CA'")
    build_star_trees(LocalEngine(), tree_house.night)
    verify_indexes(LocalEngine(), tree_house.night)
    return Spoiler(tree_house, monkeypatch)


@pytest.mark.parametrize("stage", ["build_star_trees", "verify_indexes"])
def test_a_good_night_passes(spoiler: Spoiler, stage: str) -> None:
    assert spoiler.failed(stage) == []


def test_a_good_night_over_a_delta_table_passes(
    tree_house: Any, star_tree_config: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = ds.dataset(tree_house.lake).to_table()
    table = str(tree_house.lake.parent / "delta")
    write_deltalake(table, rows.slice(0, 10), partition_by=["browser"])
    write_deltalake(table, rows, mode="overwrite", partition_by=["browser"])
    tree_house.changes |= {"tables": frozenset({"sales"}), "lake_tables": {"sales": LakeTable(table)}}
    tree_house.choose(star_tree_config("country", "browser"))
    tree_house.ask("SELECT COUNT(*) FROM sales WHERE country = 'CA' AND browser = 'Safari'")
    build_star_trees(LocalEngine(), tree_house.night)
    verify_indexes(LocalEngine(), tree_house.night)
    spoiler = Spoiler(tree_house, monkeypatch)
    assert [row["outcome"] for row in tree_house.rows("star_tree_builds")] == ["built"]
    assert [row["verdict"] for row in tree_house.rows("verdicts")] == ["equal"]
    for stage in ("build_star_trees", "verify_indexes"):
        assert spoiler.failed(stage) == []


@pytest.mark.parametrize("stage", ["build_star_trees", "verify_indexes"])
def test_a_night_without_star_trees_passes(
    tree_house: Any, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree_house.changes["tables"] = frozenset({"sales"})
    tree_house.choose()
    build_star_trees(LocalEngine(), tree_house.night)
    verify_indexes(LocalEngine(), tree_house.night)
    assert Spoiler(tree_house, monkeypatch).failed(stage) == []


BUILDS = {
    f"{TREES}: rows of this table": {"table": "other"},
    f"{TREES}: listed twice": {"tree": 2},
    f"{TREES}: missing outcome": {"outcome": None},
    f"{TREES}: documents, and documents recorded": {"documents": 1},
}


@pytest.mark.parametrize("check", [c for c in BUILDS if "outcome" not in c])
def test_a_row_that_tells_of_another_tree_than_there_is(spoiler: Spoiler, check: str) -> None:
    spoiler.spoil("star_tree_builds", **BUILDS[check])
    spoiler.assert_stopped("build_star_trees", check)


def test_without_its_expectation_a_fault_passes(spoiler: Spoiler) -> None:
    check = next(iter(BUILDS))
    spoiler.spoil("star_tree_builds", **BUILDS[check])
    remove_check(spoiler.monkeypatch, spoiler.house.night, "build_star_trees", check)
    assert spoiler.failed("build_star_trees") == []


def test_a_tree_without_an_outcome(spoiler: Spoiler) -> None:
    spoiler.spoil("star_tree_builds", outcome=None)
    # It counts as none of the built ones either.
    assert spoiler.failed("build_star_trees") == [
        f"{TREES}: missing outcome",
        f"{TREES}: published, and recorded",
    ]


def test_a_tree_that_could_not_be_built(spoiler: Spoiler, star_tree_config: Any) -> None:
    spoiler.house.choose(star_tree_config("country", "browser"), star_tree_config("nation"))
    build_star_trees(LocalEngine(), spoiler.house.night)
    spoiler.assert_stopped("build_star_trees", f"{TREES}: outcomes")


def test_a_tree_that_is_told_and_not_published(spoiler: Spoiler) -> None:
    first, second = spoiler.house.rows("star_tree_builds")
    spoiler.publish(
        "star_tree_builds", [{**first, "config": second["config"].replace("day", "hour")}, second]
    )
    spoiler.assert_stopped("build_star_trees", f"{TREES}: published as they were chosen")


def test_a_published_tree_that_nobody_tells_of(spoiler: Spoiler) -> None:
    spoiler.publish("star_tree_builds", spoiler.house.rows("star_tree_builds")[:1])
    spoiler.assert_stopped("build_star_trees", f"{TREES}: published, and recorded")


def test_a_tree_of_fewer_rows_than_the_table_has(spoiler: Spoiler) -> None:
    """A file came after the build: the tree is of former rows, and of former files."""
    spoiler.house.add_file("c.parquet", rows=5)
    assert spoiler.failed("build_star_trees") == [
        f"{TREES}: rows, and rows of the lake table",
        f"{TREES}: of files that have changed since",
    ]


def test_a_file_that_was_touched_since(spoiler: Spoiler) -> None:
    path = spoiler.house.lake / "a.parquet"
    content = path.read_bytes()
    path.unlink()
    (spoiler.house.lake / "z.parquet").write_bytes(content)
    spoiler.assert_stopped("build_star_trees", f"{TREES}: of files that have changed since")


def test_a_table_that_is_gone_since(spoiler: Spoiler) -> None:
    shutil.rmtree(spoiler.house.lake)
    spoiler.assert_stopped("build_star_trees", f"{TREES}: of files that have changed since")


def test_a_root_that_stands_for_fewer_rows(spoiler: Spoiler) -> None:
    real = star_tree_module.traverse

    def forgetful(*arguments: Any) -> Any:
        found = real(*arguments)
        return replace(found, aggregated=found.aggregated[:-1], ends=np.maximum(found.ends - 1, found.starts))

    spoiler.monkeypatch.setattr(star_tree_module, "traverse", forgetful)
    spoiler.assert_stopped("build_star_trees", f"{TREES}: rows of the root, and of the tree")


def test_an_estimate_that_is_far_off_is_told_and_stops_nothing(spoiler: Spoiler) -> None:
    spoiler.spoil("star_tree_builds", estimated_bytes=1)
    assert spoiler.failed("build_star_trees") == []
    (verdict,) = check_stage(spoiler.house.night, "build_star_trees")
    (note,) = [check for check in verdict.checks if "estimate" in check.check]
    assert note.observed.startswith("1 of 2 not: tree 1 ")


VERDICTS = {
    f"{QUERIES}: rows of this table": {"table": "other"},
    f"{QUERIES}: answers": {"verdict": "different"},
    f"{QUERIES}: missing tree": {"tree": None},
    **{
        f"{QUERIES}: missing {name}": {name: None}
        for name in ("tree_rows_read", "scan_rows_read", "tree_ms", "scan_ms")
    },
    **{f"{QUERIES}: {name}": {name: -1} for name in ("tree_rows_read", "tree_ms", "scan_ms")},
}


@pytest.mark.parametrize("check", VERDICTS)
def test_a_spoilt_verdict_is_stopped_by_one_expectation(spoiler: Spoiler, check: str) -> None:
    spoiler.spoil("verdicts", **VERDICTS[check])
    spoiler.assert_stopped("verify_indexes", check)


@pytest.mark.parametrize("verdict", ["different", "not_answered", "failed"])
def test_an_answer_that_does_not_agree_stops_the_table(spoiler: Spoiler, verdict: str) -> None:
    spoiler.spoil("verdicts", verdict=verdict)
    assert spoiler.failed("verify_indexes") == [f"{QUERIES}: answers"]


@pytest.mark.parametrize("verdict", ["within_bound", "not_comparable"])
def test_an_answer_within_what_it_states_does_not(spoiler: Spoiler, verdict: str) -> None:
    spoiler.spoil("verdicts", verdict=verdict)
    assert spoiler.failed("verify_indexes") == []


def test_a_verdict_that_is_missing(spoiler: Spoiler) -> None:
    spoiler.spoil("verdicts", verdict=None)
    spoiler.assert_stopped("verify_indexes", f"{QUERIES}: missing verdict")


def test_a_query_that_is_told_twice(spoiler: Spoiler) -> None:
    spoiler.publish("verdicts", spoiler.house.rows("verdicts") * 2)
    spoiler.assert_stopped("verify_indexes", f"{QUERIES}: listed twice")


def test_a_tree_that_reads_more_than_a_scan_is_told_and_stops_nothing(spoiler: Spoiler) -> None:
    spoiler.spoil("verdicts", tree_rows_read=10**9)
    assert spoiler.failed("verify_indexes") == []


def test_no_gate_of_what_is_built_keeps_a_report_back(spoiler: Spoiler) -> None:
    spoiler.spoil("verdicts", verdict="different")
    check_stage(spoiler.house.night, "verify_indexes")
    night = spoiler.house.night
    assert flagged_tables(night) == {"sales": "verify_indexes"}
    assert flagged_tables(night, "write_report") == {}


def test_a_query_that_was_not_asked_stops_nothing(spoiler: Spoiler) -> None:
    row = dict.fromkeys(("tree", "answer_rows", "tree_rows_read", "scan_rows_read", "tree_ms", "scan_ms"))
    spoiler.spoil("verdicts", **row, verdict="not_proved", detail="the budget of 1 kB is used up")
    assert spoiler.failed("verify_indexes") == []
