"""Sizes told before building, against the tree that the builder makes of the same rows."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.advisor.families.star_tree.recommend.document_bytes import SampledRows
from starskip.advisor.families.star_tree.recommend.simulated_tree import SimulatedTree, TreeLayout
from starskip.advisor.families.star_tree.recommend.size_estimate import pinot_size_estimate, size_estimate
from starskip.advisor.families.star_tree.recommend.table_sample import TableSample
from starskip.execution.engine_tasks import EngineTasks
from starskip.execution.local_engine import LocalEngine
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.tree_artefact import TableTrees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

CASES = [
    (["country", "browser"], ["SUM__price", "COUNT__*"], 100),
    (["browser", "day"], ["SUM__price", "AVG__clicks", "MAX__price"], 50),
    (["day", "country", "browser"], ["COUNT__*", "MIN__day"], 10),
    (["customer"], ["SUM__clicks"], 10_000),
    (["browser", "country"], ["PERCENTILETDIGEST__price", "DISTINCTCOUNTHLL__customer"], 1),
]


@pytest.mark.parametrize(("order", "pairs", "threshold"), CASES)
def test_documents_are_exact_and_bytes_within_a_fifth(
    sales: pa.Table,
    sales_sample: TableSample,
    tmp_path: Path,
    order: list[str],
    pairs: list[str],
    threshold: int,
) -> None:
    config = StarTreeConfig.from_document(
        {"dimensionsSplitOrder": order, "functionColumnPairs": pairs, "maxLeafRecords": threshold}
    )
    pq.write_table(sales, tmp_path / "sales.parquet")
    published = publish_trees(
        EngineTasks(LocalEngine()).run_tasks,
        ArtefactStore(storage_for(str(tmp_path / "trees"))),
        TreeOrder("sales", str(tmp_path / "sales.parquet"), (config,), {}),
        now=datetime(2026, 11, 21, tzinfo=UTC),
        created_by="test",
    )
    trees = TableTrees.from_properties(published.part.properties)
    layout = trees.trees[0].layout
    (part,) = sales_sample.parts
    assert part.rows is not None
    tree = SimulatedTree(part.cuboids, TreeLayout(tuple(order), threshold))
    rows = SampledRows({name: part.rows.codes[name] for name in order}, part.rows.columns)
    estimate = size_estimate(tree, config, rows)
    assert estimate.documents == layout.documents
    assert estimate.counts.nodes == sum(each.nodes for each in layout.parts)
    real = sum(file.size_bytes for file in published.part.files if file.name != trees.sources_file)
    assert estimate.size_bytes == pytest.approx(real, rel=0.2)


def test_a_tree_in_a_segment_takes_bits_by_its_dictionaries_and_28_bytes_a_node(
    sales_sample: TableSample,
) -> None:
    tree = SimulatedTree(sales_sample.parts[0].cuboids, TreeLayout(("browser",), 1))
    config = StarTreeConfig.from_document(
        {"dimensionsSplitOrder": ["browser"], "functionColumnPairs": ["SUM__price"], "maxLeafRecords": 1}
    )
    estimate = pinot_size_estimate(tree, config.measures)
    # Three browsers and the star; the root, its star child and three more nodes.
    assert (estimate.documents, estimate.counts.nodes) == (4, 5)
    assert estimate.size_bytes == 4 * (2 / 8 + 8) + 5 * 28
