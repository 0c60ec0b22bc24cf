"""``starskip star-tree vacuum``: what builds have replaced goes after the grace time, and nothing else."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from seed_example import CONFIG, ROWS
from starskip.errors import StorageError
from starskip.storage.local_storage import LocalStorage
from starskip.storage.storage import StoredObject

HOUR_S = 3600
ONCE = 8
"""Files of one build: a manifest, the list of sources, three dictionaries, documents twice, and nodes."""


def age(star_tree: Any, hours: float) -> None:
    """Make all files of the store as old as that."""
    then = time.time() - hours * HOUR_S
    for path in files(star_tree):
        os.utime(path, (then, then))


def files(star_tree: Any) -> list[Path]:
    return [path for path in star_tree.tree.rglob("*") if path.is_file()]


def vacuum(star_tree: Any, *options: str) -> str:
    result = star_tree.call("star-tree", "vacuum", star_tree.tree, *options)
    assert (result.exit_code, result.stderr) == (0, "")
    text: str = result.stdout
    return text


@pytest.fixture
def grown(star_tree: Any) -> Any:
    """A store of six identical builds."""
    source = star_tree.write("seed.csv", ROWS)
    star_tree.built(source, CONFIG)
    assert len(files(star_tree)) == ONCE
    for _ in range(5):
        star_tree.built(source, CONFIG)
    return star_tree


def test_what_was_replaced_goes_and_the_tree_stays(grown: Any) -> None:
    documents = grown.documents()
    before = files(grown)
    size = sum(path.stat().st_size for path in before)
    assert len(before) == 6 * ONCE
    told = vacuum(grown, "--grace-hours", "0")
    left = files(grown)
    freed = size - sum(path.stat().st_size for path in left)
    assert len(left) == ONCE
    assert told == f"vacuum: {len(before) - len(left)} files removed, {freed:,} bytes freed\n"
    assert grown.documents() == documents
    assert grown.refresh().stdout.splitlines()[1].startswith("unchanged")
    assert vacuum(grown, "--grace-hours", "0") == "vacuum: 0 files removed, 0 bytes freed\n"


@pytest.mark.parametrize(("hours", "options", "goes"), [(23, (), False), (25, (), True), (2, ("1",), True)])
def test_the_grace_time_is_a_day_unless_it_is_given(
    grown: Any, hours: float, options: tuple[str, ...], goes: bool
) -> None:
    age(grown, hours)
    vacuum(grown, *(("--grace-hours", *options) if options else ()))
    assert len(files(grown)) == (ONCE if goes else 6 * ONCE)


@pytest.mark.parametrize("step", ["build", "refresh"])
def test_builds_and_refreshes_clear_what_was_replaced_a_day_ago(grown: Any, step: str) -> None:
    age(grown, 25)
    if step == "build":
        grown.built(grown.folder / "seed.csv", CONFIG)
        # The tree that this build has replaced was the newest until now: readers may be at it.
        assert len(files(grown)) == 2 * ONCE
    else:
        grown.refresh()
        assert len(files(grown)) == ONCE


def test_by_the_clock_of_the_store(grown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """This machine's clock runs days ahead of the store's, which stamps the files."""
    listed = LocalStorage.objects_below

    def days_behind(self: LocalStorage, folder: str) -> Iterator[StoredObject]:
        for found in listed(self, folder):
            yield replace(found, modified_ns=found.modified_ns - 9 * 24 * HOUR_S * 10**9)

    monkeypatch.setattr(LocalStorage, "objects_below", days_behind)
    vacuum(grown)
    assert len(files(grown)) == 6 * ONCE


def test_a_vacuum_that_fails_costs_a_refresh_nothing(grown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    age(grown, 25)
    delete = LocalStorage.delete

    def refused(self: LocalStorage, name: str) -> None:
        if "/data/" in name:
            raise StorageError(f"{name}: Permission denied", location=name)
        delete(self, name)

    monkeypatch.setattr(LocalStorage, "delete", refused)
    result = grown.refresh()
    assert (result.exit_code, result.stdout.count("unchanged")) == (0, 1)
    assert "was not tidied: " in result.stderr and "Permission denied" in result.stderr


@pytest.mark.parametrize("grace", ["-1", "x", "nan"])
def test_a_grace_that_is_none(grown: Any, grace: str) -> None:
    result = grown.call("star-tree", "vacuum", grown.tree, "--grace-hours", grace)
    assert (result.exit_code, result.stdout) == (2, "")


def test_a_folder_without_trees(star_tree: Any) -> None:
    for folder, told in ((star_tree.folder / "no", "no such folder"), (star_tree.folder, "no star-tree")):
        result = star_tree.call("star-tree", "vacuum", folder)
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1)
        assert told in result.stderr
    assert list(star_tree.folder.iterdir()) == []
