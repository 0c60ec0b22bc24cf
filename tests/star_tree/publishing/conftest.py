"""A folder of files whose times the tests set, and the store of the trees that are published of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import datasketches
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.star_tree.build.publish_trees import PublishedTrees, publish_trees
from starskip.star_tree.build.source_table import SourceTable
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.tree_set import open_trees
from starskip.storage.artefact_store import ArtefactStore

NOW = datetime(2026, 11, 21, 20, 0, tzinfo=UTC)
HOURS_AGO = NOW.timestamp() - 36_000


def rows(seed: int, count: int = 40, shift: int = 0) -> pa.Table:
    """Return random rows; ``shift`` moves the values, so that codes of another table's are others here."""
    chance = np.random.default_rng(seed)

    def some(values: Any) -> pa.Array:
        return pa.array(values, mask=chance.random(count) < 0.1)

    return pa.table(
        {
            "a": some(chance.integers(shift, 5 + shift, count)),
            "b": some(np.array(list("zyxwvutsr"))[chance.integers(0, 4, count) + shift % 5]),
            "c": pa.array(chance.integers(0, 3, count)),
            "m": some(chance.integers(-(2**62), 2**62, count)),
            "s": some(np.array(["é", "b", ""])[chance.integers(0, 3, count)]),
        }
    )


def counted(value: Any) -> Any:
    """Return the count of a sketch: its bytes depend on the order of merging."""
    return datasketches.hll_sketch.deserialize(value).get_estimate() if isinstance(value, bytes) else value


@dataclass
class Table:
    """A folder of files whose times the tests set, and the store of its trees."""

    trees: Any
    folder: Path
    store: ArtefactStore
    configs: tuple[Any, ...]
    read: list[str] = field(default_factory=list)
    """Names of the files whose rows were read."""
    rows: ClassVar[Callable[..., pa.Table]] = staticmethod(rows)
    now: ClassVar[datetime] = NOW
    """The time at which trees are published; files are hours older by default."""

    def write(self, name: str, content: pa.Table, *, at: float = HOURS_AGO) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(content, path)
        os.utime(path, (at, at))
        return path

    def order(self, **changes: Any) -> TreeOrder:
        return replace(TreeOrder("t", str(self.folder), self.configs, {}), **changes)

    def publish(self, order: TreeOrder | None = None, **options: Any) -> PublishedTrees:
        self.read.clear()
        options = {"now": NOW, "created_by": "test", **options}
        return publish_trees(self.trees.run_tasks, self.store, order or self.order(), **options)

    def documents(self) -> list[Any]:
        """Return documents and nodes of all published trees."""
        return [
            (
                [tuple(map(counted, document)) for document in self.trees.documents_of(tree)],
                self.trees.nodes_of(tree),
                tree.rows,
                tree.columns_with_nulls,
            )
            for tree in open_trees(self.store).trees
        ]

    def in_full(self) -> list[Any]:
        """Return what a build of all files gives, somewhere else."""
        other = replace(self, store=ArtefactStore(self.trees.MemoryStorage()), read=[])
        other.publish()
        return other.documents()

    @property
    def objects(self) -> dict[str, bytes]:
        storage: Any = self.store.storage
        found: dict[str, bytes] = storage.objects
        return found

    def manifests(self) -> int:
        return sum("/manifests/" in name for name in self.objects)


@pytest.fixture
def table(trees: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Table:
    configs = (
        trees.config("a b c", "SUM__m COUNT__* MIN__s MAX__m DISTINCTCOUNTHLL__s", 2, "b"),
        trees.config("c a", "AVG__m COUNT__s", 1),
    )
    made = Table(trees, tmp_path / "table", ArtefactStore(trees.MemoryStorage()), configs)
    batches = SourceTable.batches

    def noted(self: SourceTable, chunk: Any, columns: list[str]) -> Iterator[pa.Table]:
        made.read.append(Path(chunk.file.identity.path).name)
        return batches(self, chunk, columns)

    monkeypatch.setattr(SourceTable, "batches", noted)
    made.write("1.parquet", made.rows(1))
    made.write("2.parquet", made.rows(2))
    return made


@pytest.fixture(scope="session")
def tables() -> type[Table]:
    """Give the tests the class: with importlib import mode they cannot import it."""
    return Table
