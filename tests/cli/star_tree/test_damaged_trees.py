"""Trees whose files were cut, overwritten or removed: none of their documents is printed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from seed_example import CONFIG, ROWS


def hurt(path: Path, damage: str) -> None:
    content = path.read_bytes()
    match damage:
        case "gone":
            path.unlink()
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "zeros":
            path.write_bytes(bytes(len(content)))


@pytest.mark.parametrize("damage", ["cut", "zeros", "gone"])
def test_a_damaged_file_is_named_and_a_build_mends_it(star_tree: Any, damage: str) -> None:
    source = star_tree.write("seed.csv", ROWS)
    star_tree.built(source, CONFIG)
    documents, sound = star_tree.documents(), star_tree.folder / "sound"
    shutil.copytree(star_tree.tree, sound)
    files = [path.relative_to(sound) for path in sound.rglob("*") if path.is_file()]
    refused = []
    for file in files:
        shutil.rmtree(star_tree.tree)
        shutil.copytree(sound, star_tree.tree)
        hurt(star_tree.tree / file, damage)
        result = star_tree.call("star-tree", "documents", star_tree.tree)
        if "-nodes" in file.name and result.exit_code == 0:
            assert result.stdout == documents  # which need no nodes
            continue
        assert (result.exit_code, result.stderr.count("\n")) == (3, 1), file
        assert result.stdout in ("", documents.splitlines(keepends=True)[0])
        is_manifest = file.suffix == ".json"
        told = "there is no star-tree; build one" if is_manifest and damage == "gone" else file.name
        assert told in result.stderr
        refused.append(file)
        if not is_manifest:
            star_tree.built(source, CONFIG)
            assert star_tree.documents() == documents
    assert len(refused) >= 6


@pytest.mark.parametrize("damage", ["cut", "zeros"])
@pytest.mark.parametrize("name", ["base", "star", "nodes", "dictionary", "sources"])
def test_a_refresh_builds_anew_what_is_damaged_and_asks_for_nobody(
    star_tree: Any, name: str, damage: str
) -> None:
    star_tree.built(star_tree.write("seed.csv", ROWS), CONFIG, options=("--table", "views"))
    documents = star_tree.documents()
    hurt(next(star_tree.tree.rglob(f"*-{name}.parquet")), damage)
    result = star_tree.refresh()
    assert (result.exit_code, result.stderr) == (0, "")
    assert "gone or damaged): " in result.stdout and "built (" in result.stdout
    assert star_tree.documents() == documents
    assert "unchanged" in star_tree.refresh().stdout


@pytest.mark.parametrize("damage", ["cut", "zeros"])
@pytest.mark.parametrize("step", ["refresh", "build"])
def test_a_damaged_manifest_is_mended_by_the_next_step(star_tree: Any, damage: str, step: str) -> None:
    source = star_tree.write("seed.csv", ROWS)
    star_tree.built(source, CONFIG, options=("--table", "views"))
    documents = star_tree.documents()
    query = ("sql", "--star-tree", star_tree.tree, "SELECT SUM(Impressions) FROM views")
    for _ in range(2):
        for path in star_tree.tree.rglob("*.json"):
            hurt(path, damage)
        result = star_tree.call(*query)
        assert (result.exit_code, result.stderr.count("\n")) == (3, 1)
        assert "is damaged; refresh them (starskip star-tree refresh), which builds" in result.stderr
        mended = star_tree.refresh() if step == "refresh" else star_tree.build(source, CONFIG)
        assert (mended.exit_code, mended.stderr) == (0, "")
        assert star_tree.documents() == documents
        assert star_tree.call(*query).exit_code == 0
    star_tree.built(source, CONFIG)
    hurt(max(star_tree.tree.rglob("*.json")), damage)
    assert star_tree.documents() == documents, "the version before stands in for it"
    vacuum = star_tree.call("star-tree", "vacuum", star_tree.tree)
    assert vacuum.exit_code == 0
