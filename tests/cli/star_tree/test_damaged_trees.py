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
