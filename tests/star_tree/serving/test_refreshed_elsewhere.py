"""Trees that are held open while another process refreshes them: the next look sees it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import starskip
from starskip.errors import StaleTree, StarskipError, UnsupportedQuery
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.answer_sql import answer_from_tree, answer_sql
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.slow

QUERY = "SELECT COUNT(*) FROM sales"
SCANNED = "SELECT COUNT(*) FROM sales WHERE m >= 0"


@dataclass
class Shop:
    """A table of a file of ten rows, its trees, and a clock that the tests set."""

    trees: Any
    folder: Path
    now: float = 100.0

    @property
    def store(self) -> ArtefactStore:
        return ArtefactStore(storage_for(str(self.folder / "trees")))

    def write(self, name: str, rows: int) -> None:
        (self.folder / "sales").mkdir(exist_ok=True)
        table = pa.table({"a": [n % 3 for n in range(rows)], "m": list(range(rows))})
        pq.write_table(table, self.folder / "sales" / name)

    def publish(self, *configs: Any, table: str = "sales", **options: Any) -> None:
        order = TreeOrder(table, str(self.folder / "sales"), configs, {}, is_named="is_named" in options)
        options.pop("is_named", None)
        options = {"now": self.trees.CREATED["created_at"], "created_by": "test", **options}
        publish_trees(self.trees.run_tasks, self.store, order, **options)

    def opened(self, table: str | None = None) -> TreeSet:
        found = open_trees(self.store, table)
        found.clock = lambda: self.now
        return found

    def refresh(self) -> None:
        """Run the command in a process of its own."""
        command = [sys.executable, "-c", "from starskip.cli.main import main; main()", "star-tree", "refresh"]
        package = {"PYTHONPATH": str(Path(starskip.__file__).parents[1])}
        subprocess.run([*command, self.folder / "trees"], check=True, env=os.environ | package)


def count(trees: TreeSet, query: str = QUERY) -> Any:
    return answer_sql(trees, query).table.column(0)[0].as_py()


@pytest.fixture
def shop(trees: Any, tmp_path: Path) -> Iterator[Shop]:
    made = Shop(trees, tmp_path)
    made.write("1.parquet", 10)
    made.publish(trees.config("a", "COUNT__*"))
    yield made


@pytest.mark.parametrize("query", [QUERY, SCANNED])
def test_a_refresh_by_another_process_is_seen(shop: Shop, query: str) -> None:
    held = shop.opened()
    assert count(held, query) == 10
    shop.write("2.parquet", 5)
    shop.now += 2
    with pytest.raises(StaleTree):
        count(held, query)
    shop.refresh()
    assert count(held, query) == 15, "at once: what is stale is looked after again"
    shop.write("1.parquet", 3)
    shop.refresh()
    shop.now += 2
    assert count(held, query) == 8
    found = answer_from_tree(held, QUERY)
    assert not isinstance(found, str) and found.documents_total == 4


def test_another_configuration_over_the_same_files_is_seen_within_a_second(shop: Shop) -> None:
    held = shop.opened()
    query = "SELECT SUM(m) FROM t"
    assert not answer_sql(held, query).star_tree
    shop.publish(shop.trees.config("a", "SUM__m"))
    shop.now += 0.9
    assert not answer_sql(held, query).star_tree
    shop.now += 0.2
    assert answer_sql(held, query).star_tree


def test_what_is_as_before_stays_in_memory(shop: Shop, row_groups_read: list[str]) -> None:
    shop.publish(shop.trees.config("a", "COUNT__*"), table="other")
    held = shop.opened("sales")
    count(held)
    read = len(row_groups_read)
    assert read
    shop.publish(shop.trees.config("a", "MAX__m"), table="other")
    shop.now += 2
    assert count(held) == 10
    assert held.current() is held
    assert len(row_groups_read) == read


def test_a_name_that_the_trees_were_given_meanwhile_counts(shop: Shop) -> None:
    held = shop.opened()
    assert count(held) == 10
    other = QUERY.replace("sales", "t")
    assert count(held, other) == 10
    shop.publish(shop.trees.config("a", "COUNT__*"), is_named=True)
    shop.now += 2
    with pytest.raises(UnsupportedQuery, match="the query asks t, and these star-trees are of sales"):
        count(held, other)
    assert count(held) == 10


def test_trees_that_are_gone_say_so_and_come_back(shop: Shop) -> None:
    held = shop.opened("sales")
    count(held)
    shop.publish(shop.trees.config("a", "COUNT__*"), table="other", in_place_of=["sales"])
    shop.now += 2
    with pytest.raises(StarskipError, match="has no star-tree of sales, but of other"):
        count(held)
    shop.publish(shop.trees.config("a", "COUNT__*"))
    assert count(held) == 10


def test_files_that_a_vacuum_took_away_are_not_missed(shop: Shop) -> None:
    held = shop.opened()
    count(held)
    old = set((shop.folder / "trees").rglob("*.parquet"))
    shop.write("2.parquet", 5)
    shop.refresh()
    for path in old:
        path.unlink()
    held.forget()
    assert count(held) == 15


def test_many_threads_see_one_refresh(shop: Shop) -> None:
    held = shop.opened()
    shop.write("2.parquet", 5)
    shop.refresh()
    shop.now += 2
    counts = {
        QUERY: 15,
        SCANNED: 15,
        **{f"{QUERY} WHERE a = {a}": rows for a, rows in enumerate((6, 5, 4))},
        f"{QUERY} GROUP BY a ORDER BY 1 LIMIT 1": 4,
    }
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(partial(count, held), [*counts] * 10)) == [*counts.values()] * 10
        assert len({id(held.current()) for _ in range(8)}) == 1


def test_trees_of_a_part_alone_stay_what_they_are(shop: Shop) -> None:
    held = shop.opened()
    held._origin = None
    assert held.current() is held
