"""Files whose size and modification time are as before: which were rewritten, and which only touched."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starskip.errors import SourceError, StaleTree
from starskip.star_tree.build import file_digests
from starskip.star_tree.build.publish_trees import Outcome, publish_trees
from starskip.star_tree.serving.tree_set import open_trees


def rewrite_in_place(path: Path) -> None:
    """Change a value of a Parquet file without page checksums, and leave its size and time as they are."""
    found = path.stat()
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(bytes(content))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (found.st_size, found.st_mtime_ns)


def swap(path: Path) -> None:
    """Put another file with the same size and time in its place, as ``rsync --times`` does."""
    other = path.with_name("other.tmp")
    shutil.copy2(path, other)
    rewrite_in_place(other)
    other.replace(path)


def copy_back(path: Path) -> None:
    subprocess.run(["cp", "-a", path, path.with_suffix(".bak")], check=True)
    path.with_suffix(".bak").replace(path)


REWRITES: dict[str, Callable[[Path], Any]] = {"rewritten": rewrite_in_place, "swapped": swap}
TOUCHES: dict[str, Callable[[Path], Any]] = {
    "chmod": lambda path: path.chmod(0o640),
    "cp -a": copy_back,
    "rename": lambda path: path.rename(path.with_suffix(".x")).rename(path),
    "link": lambda path: (path.parent.parent / "link").hardlink_to(path),
}


@pytest.fixture
def digests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were read for their digest."""
    taken: list[str] = []
    digest = file_digests._digest

    def noted(path: str) -> str:
        taken.append(Path(path).name)
        return digest(path)

    monkeypatch.setattr(file_digests, "_digest", noted)
    return taken


@pytest.mark.parametrize("change", REWRITES)
def test_a_file_rewritten_in_place_is_never_answered_from(table: Any, change: str) -> None:
    table.publish()
    opened = open_trees(table.store)
    opened.require_unchanged()
    REWRITES[change](table.folder / "2.parquet")
    for trees in (opened, open_trees(table.store)):
        with pytest.raises(StaleTree, match=r"changed: [^;]*2\.parquet"):
            trees.require_unchanged(at_most_seconds_ago=0.0)
        with pytest.raises(StaleTree):
            trees.sources()
    shutil.copy(table.write("3.parquet", table.rows(5)), table.folder / "2.parquet")
    built = table.publish()
    assert (built.outcome, built.reason) == (
        Outcome.BUILT,
        "2.parquet changed, which cannot be subtracted",
    )
    assert table.documents() == table.in_full()


@pytest.mark.parametrize("touch", TOUCHES)
def test_what_moves_the_change_time_alone_is_no_change(table: Any, touch: str, digests: list[str]) -> None:
    table.publish()
    opened = open_trees(table.store)
    opened.require_unchanged()
    digests.clear()
    TOUCHES[touch](table.folder / "2.parquet")
    for _ in range(3):
        opened.require_unchanged(at_most_seconds_ago=0.0)
    assert digests == ["2.parquet"], "what was found the same is not read again"
    assert opened.sources().files
    before = table.documents()
    again = table.publish()
    assert (again.outcome, table.read) == (Outcome.UNCHANGED, [])
    assert table.documents() == before
    digests.clear()
    open_trees(table.store).require_unchanged()
    assert table.publish().outcome is Outcome.UNCHANGED
    assert digests == [], "the refresh has noted the new change time"
    table.write("3.parquet", table.rows(4))
    grown = table.publish()
    assert (grown.outcome, set(table.read), digests) == (
        Outcome.REFRESHED,
        {"3.parquet"},
        ["3.parquet"],
    )
    assert table.documents() == table.in_full()


@pytest.mark.parametrize("moment", ["reading dimensions", "aggregating rows of tree 1", "building subtrees"])
@pytest.mark.parametrize("change", [*REWRITES, *TOUCHES])
def test_during_a_build(table: Any, moment: str, change: str) -> None:
    done: list[str] = []

    def run(label: str, items: Any, function: Any) -> list[Any]:
        results: list[Any] = table.trees.run_tasks(label, items, function)
        if label == moment and not done:
            done.append(label)
            (REWRITES | TOUCHES)[change](table.folder / "2.parquet")
        return results

    def publish() -> Any:
        return publish_trees(run, table.store, table.order(), now=table.now, created_by="test")

    if change in TOUCHES:
        assert publish().outcome is Outcome.BUILT
        assert table.publish().outcome is Outcome.UNCHANGED
    else:
        with pytest.raises(SourceError, match=r"2\.parquet: (was changed while it was read|cannot be read)"):
            publish()
    assert done == [moment]
