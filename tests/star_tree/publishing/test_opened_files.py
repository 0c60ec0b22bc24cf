"""Files that are opened: only the new files of a table that was seen before, and by a scan each file once."""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from starskip.star_tree.build.publish_trees import Outcome
from starskip.star_tree.serving.answer_sql import answer_sql
from starskip.star_tree.serving.tree_set import open_trees
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

FILES = 20
_WATCHED: list[tuple[str, Counter[str]]] = []


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _WATCHED and isinstance(arguments[0], str | Path):
        folder, opened = _WATCHED[-1]
        if str(arguments[0]).startswith(folder):
            opened[Path(arguments[0]).name] += 1


@pytest.fixture(scope="module", autouse=True)
def audit_hook() -> None:
    sys.addaudithook(_note)


@contextmanager
def opened_below(folder: Path) -> Iterator[Counter[str]]:
    """The number of times that each file below a folder is opened, by Python's own events."""
    opened: Counter[str] = Counter()
    _WATCHED.append((str(folder), opened))
    try:
        yield opened
    finally:
        _WATCHED.pop()


@pytest.fixture(params=["parquet", "csv"])
def many(request: pytest.FixtureRequest, table: Any) -> Any:
    for path in table.folder.iterdir():
        path.unlink()
    table.suffix = request.param
    table.store = ArtefactStore(storage_for(str(table.folder.parent / "trees")))
    for number in range(FILES):
        write(table, f"{number:03}", number)
    return table


def write(table: Any, name: str, seed: int, at: float | None = None) -> None:
    content: pa.Table = table.rows(seed)
    path = table.folder / f"{name}.{table.suffix}"
    if table.suffix == "csv":
        pacsv.write_csv(content, path)
    else:
        pq.write_table(content, path, row_group_size=10)
    hours_ago = table.now.timestamp() - 36_000 if at is None else at
    os.utime(path, (hours_ago, hours_ago))


def test_a_refresh_opens_new_files_alone(many: Any) -> None:
    many.publish()
    with opened_below(many.folder) as opened:
        assert many.publish().outcome is Outcome.UNCHANGED
    assert opened == {}
    write(many, "new", 99)
    with opened_below(many.folder) as opened:
        assert many.publish().outcome is Outcome.REFRESHED
    assert set(opened) == {f"new.{many.suffix}"}
    with opened_below(many.folder) as opened:
        assert many.publish().outcome is Outcome.UNCHANGED
    assert opened == {}
    assert many.documents() == many.in_full()


def test_an_answer_opens_none_and_a_scan_each_once(many: Any) -> None:
    many.publish()
    query = "SELECT c, SUM(m) FROM t GROUP BY c"
    scanned = "SELECT c, COUNT(*) AS n FROM t WHERE m > 0 OR c = 1 GROUP BY c"
    with opened_below(many.folder) as opened:
        trees = open_trees(many.store)
        assert answer_sql(trees, query).star_tree
        assert opened == {}
        for _ in range(2):
            opened.clear()
            answer = answer_sql(trees, scanned)
            assert (answer.star_tree, answer.documents_total) == (False, 40 * FILES)
            assert set(opened.values()) == {1} and len(opened) == FILES


def test_a_file_that_was_young_is_read_once_more_and_then_no_longer(many: Any) -> None:
    write(many, "000", 0, at=many.now.timestamp())
    many.publish()
    with opened_below(many.folder) as opened:
        assert many.publish(now=many.now.replace(hour=21)).outcome is Outcome.UNCHANGED
    assert set(opened) == {f"000.{many.suffix}"}
    with opened_below(many.folder) as opened:
        assert many.publish(now=many.now.replace(hour=22)).outcome is Outcome.UNCHANGED
    assert opened == {}


def test_a_build_that_takes_longer_than_a_file_is_young_leaves_nothing_to_read(many: Any) -> None:
    write(many, "000", 0, at=many.now.timestamp())
    later = int(many.now.timestamp() * 1e9) + 5_000_000_000
    many.publish(clock_ns=lambda: later)
    with opened_below(many.folder) as opened:
        assert many.publish(now=many.now.replace(hour=21)).outcome is Outcome.UNCHANGED
    assert opened == {}
