"""Bytes of a table's files that the proof of a query reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from starskip.advisor.families.star_tree.build_star_trees import build_star_trees
from starskip.advisor.families.star_tree.proof.verify_star_trees import ScanBytes
from starskip.execution.local_engine import LocalEngine
from starskip.lake.lake_table import LakeTable
from starskip.star_tree.serving.tree_set import open_trees

pytestmark = pytest.mark.slow

COUNT = "SELECT COUNT(*) FROM sales WHERE country = 'CA'"
OF_USER = ("SELECT SUM(user) FROM sales", "SELECT PERCENTILEEST(user, 90) FROM sales")
EVERY_COLUMN = "SELECT country, browser, day, user, note, SUM(price) FROM sales GROUP BY 1, 2, 3, 4, 5"


@pytest.fixture
def costs(tree_house: Any, star_tree_config: Callable[..., Any]) -> Callable[[], ScanBytes]:
    def built() -> ScanBytes:
        tree_house.choose(star_tree_config("country", "browser"))
        build_star_trees(LocalEngine(), tree_house.night)
        return ScanBytes(open_trees(tree_house.night.store, "sales"))

    return built


def test_columns_of_parquet_files_are_read_and_no_others(
    tree_house: Any, costs: Callable[[], ScanBytes]
) -> None:
    paths = sorted(tree_house.lake.iterdir())
    groups = [pq.read_metadata(path).row_group(0) for path in paths]
    country = sum(group.column(0).total_compressed_size for group in groups)
    found = costs()
    assert found.of(COUNT) == country
    whole = sum(path.stat().st_size for path in paths)
    assert 0.5 * whole < found.of(EVERY_COLUMN) < whole


def test_a_percentile_is_scanned_for_three_times(costs: Callable[[], ScanBytes]) -> None:
    found = costs()
    of_sum, of_percentile = map(found.of, OF_USER)
    assert of_percentile == 3 * of_sum > 0


def test_a_query_that_no_scan_answers_reads_nothing(costs: Callable[[], ScanBytes]) -> None:
    assert costs().of("SELECT SUM(missing) FROM sales") == 0


def test_files_without_footers_are_read_whole(tree_house: Any, costs: Callable[[], ScanBytes]) -> None:
    for path in list(tree_house.lake.iterdir()):
        csv.write_csv(pq.read_table(path), path.with_suffix(".csv"))
        path.unlink()
    tree_house.changes["lake_tables"] = {
        "sales": LakeTable(str(tree_house.lake), {"day": "string"}, file_format="csv")
    }
    found = costs()
    assert found.of(COUNT) == sum(path.stat().st_size for path in tree_house.lake.iterdir())
