"""A table that changed: its trees never answer, nor are they published half of one and half of another."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starskip.errors import SourceError, StaleTree
from starskip.star_tree.build.build_trees import FormerTrees, build_trees
from starskip.star_tree.build.publish_trees import Outcome, publish_trees
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.serving.tree_set import open_trees, trees_of_part
from starskip.star_tree.tree_artefact import ARTEFACT, TableTrees
from starskip.storage.artefact_store import CURRENT


def rewrite_in_place(path: Path) -> None:
    """Change a file and leave its size and time as they are."""
    found = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(bytes(content))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_mtime_ns == found.st_mtime_ns


CHANGES: dict[str, tuple[Callable[[Any], Any], str, str]] = {
    "rewritten": (lambda table: table.write("1.parquet", table.rows(8, 60)), "1.parquet", "changed"),
    "touched": (lambda table: os.utime(table.folder / "2.parquet"), "2.parquet", "changed"),
    "gone": (lambda table: (table.folder / "2.parquet").unlink(), "2.parquet", "gone"),
    "new": (lambda table: table.write("x/3.parquet", table.rows(3)), "3.parquet", "new"),
    "same size and second": (
        lambda table: rewrite_in_place(table.folder / "young.parquet"),
        "young.parquet",
        "changed",
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_tree_whose_table_changed_does_not_answer(table: Any, change: str) -> None:
    # Written in the second of the build, so that its time tells nothing.
    table.write("young.parquet", table.rows(7), at=table.now.timestamp())
    table.publish()
    opened = open_trees(table.store)
    opened.wall_clock_ns = lambda: int(table.now.timestamp() * 1e9)
    opened.require_unchanged()
    assert opened.sources().files
    do, name, kind = CHANGES[change]
    do(table)
    with pytest.raises(StaleTree, match=rf"{kind}: [^;]*{name}.*refresh") as stale:
        opened.require_unchanged(at_most_seconds_ago=0.0)
    assert stale.value.source.endswith(name)
    with pytest.raises(StaleTree):
        opened.sources()
    with pytest.raises(StaleTree):
        open_trees(table.store).require_unchanged()
    table.folder.joinpath("young.parquet").unlink()  # for the change of one bit it may be damaged
    assert table.publish().outcome is Outcome.BUILT
    open_trees(table.store).require_unchanged()
    assert table.documents() == table.in_full()


def test_a_table_that_is_gone_is_stale_too(table: Any) -> None:
    table.publish()
    for path in table.folder.iterdir():
        path.unlink()
    with pytest.raises(StaleTree, match=r"gone: .*1\.parquet"):
        open_trees(table.store).require_unchanged()


def test_a_file_of_the_other_kind_is_told_as_what_it_is(table: Any) -> None:
    table.publish()
    (table.folder / "notes.csv").write_text("a\n")
    with pytest.raises(SourceError, match=r"has \.csv and \.parquet files; name a folder of one kind"):
        open_trees(table.store).require_unchanged()


def test_answers_that_follow_one_another_share_one_look(table: Any) -> None:
    table.publish()
    opened = open_trees(table.store)
    now = [100.0]
    opened.clock = lambda: now[0]
    opened.require_unchanged()
    table.write("1.parquet", table.rows(8, 60))
    now[0] += 0.9
    opened.require_unchanged()
    now[0] += 0.2
    with pytest.raises(StaleTree):
        opened.require_unchanged()


@pytest.mark.parametrize("moment", ["reading dimensions", "aggregating rows of tree 1", "building subtrees"])
@pytest.mark.parametrize("change", ["rewritten", "gone", "new", "same size and second"])
def test_a_file_that_changes_during_the_build_is_found_out(table: Any, moment: str, change: str) -> None:
    table.write("young.parquet", table.rows(7), at=table.now.timestamp())
    table.publish()
    before = table.documents()
    do, name, _ = CHANGES[change]
    done: list[str] = []

    def run(label: str, items: Any, function: Any) -> list[Any]:
        results: list[Any] = table.trees.run_tasks(label, items, function)
        if label == moment and not done:
            done.append(label)
            do(table)
        return results

    with pytest.raises(SourceError, match=rf"{name}: (was changed while it was read|cannot be read)"):
        publish_trees(run, table.store, table.order(), now=table.now, created_by="test", rebuild=True)
    assert done == [moment]
    assert table.documents() == before


def test_former_trees_of_files_that_are_others_now_are_refused(table: Any) -> None:
    part = table.publish().part
    recorded = open_trees(table.store).recorded
    files = {file.name: file for file in part.files}
    former = FormerTrees(TableTrees.from_properties(part.properties), recorded, files)

    def grow(configs: Any = table.configs) -> Any:
        return build_trees(
            table.trees.run_tasks,
            table.store.staged_write(ARTEFACT, CURRENT),
            "t",
            source_table(str(table.folder)),
            configs,
            observed_at_ns=int(table.now.timestamp() * 1e9),
            former=former,
        )

    table.write("3.parquet", table.rows(4))
    assert trees_of_part(table.store, "t", grow()).trees[0].rows == 120
    with pytest.raises(ValueError, match="the same configurations"):
        grow(table.configs[:1])
    table.write("2.parquet", table.rows(5))
    with pytest.raises(SourceError, match=r"2\.parquet: was changed or removed, which cannot be subtracted"):
        grow()
    (table.folder / "2.parquet").unlink()
    with pytest.raises(SourceError, match=r"2\.parquet: was changed or removed"):
        grow()
