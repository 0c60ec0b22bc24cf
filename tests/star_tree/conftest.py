"""Star-trees in memory: built in this process from small tables, and read whole as plain Python values."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from memory_storage import MemoryStorage
from seed_example import ROWS
from starskip.star_tree.build.build_trees import build_trees
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.serving.star_tree import StarTree
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.tree_artefact import ARTEFACT
from starskip.storage.artefact_store import CURRENT, ArtefactStore

CREATED = {"created_at": datetime(2026, 11, 19, 1, 30, tzinfo=UTC), "created_by": "test"}


@pytest.fixture
def row_groups_read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The column of each row group of documents that is read from now on."""
    found: list[str] = []
    read = pq.ParquetFile.read_row_group

    def noted(self: pq.ParquetFile, group: int, columns: Sequence[str], **options: Any) -> pa.Table:
        found.extend(columns)
        return read(self, group, columns=columns, **options)

    monkeypatch.setattr(pq.ParquetFile, "read_row_group", noted)
    return found


class _Star:
    def __repr__(self) -> str:
        return "*"


STAR = _Star()


def run_tasks(label: str, items: Sequence[Any], function: Callable[[Any], Any]) -> list[Any]:
    return [function(item) for item in items]


def config(order: str, pairs: str, leaf: int = 1, skip: str = "") -> StarTreeConfig:
    """Return a configuration; names are separated by spaces."""
    return StarTreeConfig.from_document(
        {
            "dimensionsSplitOrder": order.split(),
            "functionColumnPairs": pairs.split(),
            "maxLeafRecords": leaf,
            "skipStarNodeCreationForDimensions": skip.split(),
        }
    )


def build(
    path: Path | str, *configs: StarTreeConfig, store: ArtefactStore | None = None, **options: Any
) -> TreeSet:
    """Build the trees of a file or folder, publish them and open them."""
    store = store or ArtefactStore(MemoryStorage())
    aside = store.staged_write(ARTEFACT, CURRENT)
    source = source_table(str(path), options.pop("casts", None))
    options = {"run_tasks": run_tasks, "observed_at_ns": time.time_ns(), **options}
    part = build_trees(staged=aside, table="t", source=source, configs=configs, **options)
    store.publish(ARTEFACT, CURRENT, {"t": part}, replace="all", **CREATED)
    return open_trees(store)


def build_of(rows: pa.Table | str | Mapping[str, Any], *configs: StarTreeConfig, **options: Any) -> TreeSet:
    """Build the trees of a table, or of the text of a CSV file, which lies in a folder of its own."""
    folder = SCRATCH[0] / uuid4().hex
    folder.mkdir()
    files, row_groups = options.pop("files", 1), options.pop("row_group_size", None)
    if isinstance(rows, str):
        (folder / "rows.csv").write_text(rows)
    else:
        rows = rows if isinstance(rows, pa.Table) else pa.table(rows)
        step = max(-(-rows.num_rows // files), 1)
        for number in range(files):
            piece = rows.slice(number * step, step)
            pq.write_table(piece, folder / f"{number}.parquet", row_group_size=row_groups)
    try:
        return build(folder, *configs, **options)
    finally:
        shutil.rmtree(folder)


SCRATCH: list[Path] = []


def values_of(tree: StarTree, dimension: str) -> list[Any]:
    """Return what the codes of a dimension stand for."""
    return [*tree.dictionary(dimension).to_pylist(), None, STAR]


def documents_of(tree: StarTree) -> list[tuple[Any, ...]]:
    """Return all documents in their order: values of the dimensions, then results of the measures."""
    numbers = np.arange(tree.documents_total)
    columns: list[list[Any]] = []
    for dimension in tree.config.dimensions_split_order:
        values = values_of(tree, dimension)
        columns.append([values[code] for code in tree.documents.codes(numbers, dimension).tolist()])
    for measure in tree.config.measures:
        array = tree.documents.measure(numbers, measure)
        columns.append([] if array is None else array.results().to_pylist())
    return list(zip(*columns, strict=True))


@dataclass(frozen=True)
class Node:
    """``documents``: the range of a node without children, None for others."""

    documents: tuple[int, int] | None
    aggregated: int
    children: int


def nodes_of(tree: StarTree) -> dict[tuple[Any, ...], Node]:
    """Return all nodes by the values on the way to them."""
    nodes, order = tree.nodes, tree.config.dimensions_split_order
    values = [values_of(tree, dimension) for dimension in order]
    found: dict[tuple[Any, ...], Node] = {}
    waiting: list[tuple[int, tuple[Any, ...]]] = [(0, ())] if len(nodes) else []
    while waiting:
        number, prefix = waiting.pop()
        assert int(nodes.depth[number]) == len(prefix)
        first, end = int(nodes.first_child[number]), int(nodes.end_child[number])
        own = None if end > first else (int(nodes.start[number]), int(nodes.end[number]))
        found[prefix] = Node(own, int(nodes.aggregated[number]), end - first)
        codes = nodes.code[first:end].tolist()
        assert codes == sorted(set(codes)), "children are sorted by value"
        waiting += [(first + n, (*prefix, values[len(prefix)][code])) for n, code in enumerate(codes)]
    assert len(found) == len(nodes)
    return found


@pytest.fixture(scope="session", autouse=True)
def scratch(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Give the small files of tests a place."""
    SCRATCH[:] = [tmp_path_factory.mktemp("star_tree")]


@pytest.fixture(scope="session")
def trees() -> SimpleNamespace:
    """Give the tests what this file defines: with importlib import mode they cannot import it."""
    return SimpleNamespace(
        CREATED=CREATED,
        SEED_ROWS=ROWS,
        STAR=STAR,
        MemoryStorage=MemoryStorage,
        Node=Node,
        build=build,
        build_of=build_of,
        config=config,
        documents_of=documents_of,
        nodes_of=nodes_of,
        run_tasks=run_tasks,
        values_of=values_of,
    )
