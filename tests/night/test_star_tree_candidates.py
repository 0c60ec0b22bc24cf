"""Candidate star-trees in a night: from a lake table, from segments, and without any rows at all."""

from __future__ import annotations

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from index_choice import trees_of, with_star_trees
from settings_with import settings_with
from starskip.advisor.families.answer import RowSource, TableQueries
from starskip.advisor.families.star_tree.chosen_trees import chosen_trees
from starskip.advisor.families.star_tree.recommend.asked_shapes import asked_shapes
from starskip.advisor.families.star_tree.recommend.star_tree_candidates import (
    StarTreeCandidates,
    star_tree_candidates,
)
from starskip.advisor.families.star_tree.recommend.star_tree_offer import answer_of
from starskip.advisor.families.star_tree.tree_properties import star_tree_properties
from starskip.advisor.selection.chosen_answers import AnswerTerms, ChosenAnswers
from starskip.advisor.selection.recommendation import Budget
from starskip.advisor.workload.shape_entries import ShapeEntries
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.lake.lake_table import LakeTable
from starskip.pinot.segments.segment_files import list_segments
from starskip.settings import Settings
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for
from starskip.tables.table_overview import ColumnOverview, TableOverview

pytestmark = pytest.mark.slow

SAMPLE = Path(__file__).parents[2] / "include" / "sample"
ROWS = 30_000
BY_SHOP = "SELECT SUM(amount) FROM sales WHERE shop = 'shop 3'"
BY_KIND = "SELECT kind, COUNT(*) FROM sales GROUP BY kind"


def logged(
    sql: str, *, entries: int = ROWS, post: int = 0, queries: int = 10, failed: int = 0
) -> ShapeWorkload:
    """Return a shape of queries that all scanned the same."""
    cut = normalize_sql(sql)
    shape = query_shape(cut.skeleton)
    return ShapeWorkload(
        "sales",
        shape.shape_id,
        shape.text,
        cut.skeleton,
        queries=queries,
        failed=failed,
        entries_scanned_in_filter=entries * queries,
        failed_entries_scanned_in_filter=entries * failed,
        entries_scanned_post_filter=post * queries,
        instances={cut.literals: Instance(queries=queries - failed)} if queries > failed else {},
    )


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> LakeTable:
    drawn = np.random.default_rng(5)
    rows = pa.table(
        {
            "shop": pa.array([f"shop {number}" for number in drawn.geometric(0.1, ROWS)]),
            "kind": pa.array(drawn.integers(0, 4, ROWS)),
            "tags": pa.array([[1, 2]] * ROWS),
            "amount": pa.array(drawn.integers(1, 1_000, ROWS)),
        }
    )
    folder = tmp_path_factory.mktemp("sales")
    pq.write_table(rows.slice(0, 20_000), folder / "a.parquet")
    pq.write_table(rows.slice(20_000), folder / "b.parquet")
    return LakeTable(str(folder))


def offer(
    shapes: list[ShapeWorkload],
    lake: LakeTable | None,
    segments: str = "",
    *,
    table: str = "sales",
    overview: TableOverview | None = None,
) -> StarTreeCandidates:
    """Return the offer of a store that is empty before and after; one night votes."""
    window = {
        shape.shape_id: ShapeEntries(
            shape.queries, shape.entries_scanned_in_filter, shape.entries_scanned_post_filter
        )
        for shape in shapes
    }
    with TemporaryDirectory() as folder:
        aside = ArtefactStore(storage_for(folder)).staged_write("recommendations", "2026-11-20")
        listing = partial(list_segments, segments, [table]) if segments else None
        found = star_tree_candidates(
            TableQueries(table, shapes, window, overview, Settings()),
            RowSource(EngineTasks(LocalEngine()).run_tasks, listing, lake, aside),
        )
        assert list(Path(folder).iterdir()) == []
        return found


def test_a_lake_table_is_read_once_for_all_candidates(lake: LakeTable) -> None:
    found = offer([logged(BY_SHOP), logged(BY_KIND, entries=0, post=ROWS)], lake)
    assert found.note == ""
    assert found.total_entries == 20 * ROWS
    best = found.candidates[0]
    assert set(best.config.dimensions_split_order) == {"shop", "kind"}
    assert sum(best.saving_entries.values()) > 0.95 * found.total_entries


def test_shapes_that_no_tree_answers_are_told(lake: LakeTable) -> None:
    shapes = [logged("SELECT * FROM sales LIMIT 5"), logged("SELECT COUNT(*) FROM sales WHERE tags = 1")]
    found = offer(shapes, lake)
    assert found.note == "Pinot answers none of the queries from a star-tree"
    assert sorted(item.reason for item in found.unanswerable) == ["multi_value", "not_an_aggregation"]


def test_a_tree_counts_for_what_pinot_answers_from_it(lake: LakeTable) -> None:
    """Two shapes that a real Pinot 0.11 did not answer from the trees that Starskip answered them from."""
    served = logged(BY_SHOP)
    negated = logged("SELECT SUM(amount) FROM sales WHERE NOT (shop = 'shop 3' OR kind = 2)")
    function = logged("SELECT SUM(amount) FROM sales WHERE SUBSTRING(shop, 0, 5) = 'shop ' AND kind = 1")
    found = offer([served, negated, function], lake)
    assert found.total_entries == 30 * ROWS
    assert {shape for tree in found.candidates for shape in tree.saving_entries} == {served.shape_id}
    reasons = {shape.shape_id: shape.reason for shape in found.unanswerable}
    assert reasons == {negated.shape_id: "not", function.shape_id: "expression_in_filter"}
    # A tree of both columns answers them on the lake; the one that is chosen has one.
    both = StarTreeConfig.from_document(
        {"dimensionsSplitOrder": ["kind", "shop"], "functionColumnPairs": ["SUM__amount"]}
    )
    assert [shape.by_starskip.fits(both) for shape in found.unanswerable if shape.by_starskip] == [True, True]
    tree = replace(found.candidates[0], config=both)
    told = star_tree_properties(ChosenAnswers((answer_of(tree),), {served.shape_id: 0}), found)
    assert [each["shape_id"] for each in told["answered_by_starskip_only"]] == sorted(reasons)
    assert star_tree_properties(ChosenAnswers(), found)["answered_by_starskip_only"] == []


def test_without_rows_there_is_no_tree_and_a_word_about_it() -> None:
    found = offer([logged(BY_SHOP)], None)
    assert (found.candidates, found.note) == (
        (),
        "there are neither segments nor a lake table to read rows from",
    )


def test_a_table_without_one_sound_segment_gets_no_tree() -> None:
    found = offer([logged("SELECT COUNT(*) FROM sales")], None, str(SAMPLE / "segments"))
    assert (found.candidates, found.note) == ((), "nothing is known of the table's columns")


def test_without_a_column_to_filter_or_group_by_there_is_nothing_to_split(lake: LakeTable) -> None:
    found = offer([logged("SELECT SUM(amount) FROM sales"), logged("SELECT * FROM sales LIMIT 5")], lake)
    assert (found.candidates, found.note) == ((), "no query filters or groups by a column")
    assert [item.reason for item in found.unanswerable] == ["not_an_aggregation"]


def test_a_lake_table_that_is_gone_ends_no_night() -> None:
    found = offer([logged(BY_SHOP)], LakeTable("gone/sales"))
    assert found.candidates == ()
    assert "gone/sales" in found.note


def test_a_lake_table_of_a_table_format_is_a_reason_in_the_report_and_ends_no_night(
    lake: LakeTable, tmp_path: Path
) -> None:
    table = tmp_path / "sales"
    shutil.copytree(lake.path, table)
    (table / ".hoodie").mkdir()
    found = offer([logged(BY_SHOP)], LakeTable(str(table)))
    assert found.candidates == ()
    assert ".hoodie: belongs to a Hudi table" in found.note


def test_a_delta_table_is_sampled_like_its_rows_as_plain_files(lake: LakeTable, tmp_path: Path) -> None:
    table = str(tmp_path / "sales")
    write_deltalake(table, ds.dataset(lake.path).to_table())
    write_deltalake(table, ds.dataset(lake.path).to_table(), mode="overwrite")
    found, plain = (offer([logged(BY_SHOP)], each) for each in (LakeTable(table, lake.casts), lake))
    assert found.candidates
    assert [each.config for each in found.candidates] == [each.config for each in plain.candidates]


@pytest.mark.parametrize("lake", ["", "hudi", "missing"])
def test_segments_stand_for_the_trees_that_pinot_would_build(tmp_path: Path, lake: str) -> None:
    """Also beside a lake table that no tree of Starskip's is built of."""
    (tmp_path / "hudi" / ".hoodie").mkdir(parents=True)
    columns = {
        name: ColumnOverview(name, data_type=kind)
        for name, kind in (("Carrier", "STRING"), ("Origin", "STRING"), ("Distance", "INT"))
    }
    overview = TableOverview("airlineStats", 31, 9_746, columns)
    shape = logged("SELECT SUM(Distance) FROM airlineStats WHERE Carrier = 'AA'", entries=9_746)
    lake_table = LakeTable(str(tmp_path / lake)) if lake else None
    found = offer([shape], lake_table, str(SAMPLE / "segments"), table="airlineStats", overview=overview)
    (tree,) = found.candidates
    # 14 or 15 carriers in each of 31 small segments, of which none has enough rows to be split.
    assert 31 * 10 < tree.documents < 31 * 17
    assert 0 < tree.saving_entries[shape.shape_id] < 10 * 9_746


def test_failed_queries_and_other_nights_count_as_they_do_for_indexes() -> None:
    shape = logged(BY_SHOP, post=100, failed=4)
    (asked,) = asked_shapes([shape], {}, Settings())
    assert (asked.queries, asked.entries_scanned) == (6, 6 * (ROWS + 100))
    (asked,) = asked_shapes([shape], {shape.shape_id: ShapeEntries(20.0, 20.0 * ROWS)}, Settings())
    assert (asked.queries, asked.entries_scanned) == (12, 12 * (ROWS + 100))
    (asked,) = asked_shapes([shape], {}, settings_with(post_filter_entry_weight=0.5))
    assert asked.entries_scanned == 6 * (ROWS + 50)
    assert asked_shapes([logged(BY_SHOP, failed=10)], {}, Settings()) == []


def test_what_is_chosen_is_read_back_from_the_properties(lake: LakeTable) -> None:
    offered = offer([logged(BY_SHOP), logged("SELECT * FROM sales LIMIT 5")], lake)
    budget = AnswerTerms(offered.total_entries, 0.005, 1, 0.05 * offered.table_bytes)
    chosen = with_star_trees(offered.candidates, [], Budget(1, 0.0, 0.0), 1.0, budget)
    properties = star_tree_properties(chosen, offered)
    (tree,) = chosen_trees("sales", Part((), properties))
    assert tree.config == trees_of(chosen)[0].config
    assert properties["unanswerable_by_star_trees"] == {"not_an_aggregation": 10}
    # The queries that no tree answers scan as much.
    assert properties["star_trees"][0]["saving_ratio"] == pytest.approx(0.5, abs=0.01)
