"""A file overwritten with as many bytes, its modification time put back: found out by all commands."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from seed_example import CONFIG, ROWS

QUERIES = ("SELECT SUM(Impressions) FROM t", "SELECT SUM(Impressions) FROM t WHERE Impressions > 1")


@pytest.fixture
def source(star_tree: Any) -> Path:
    path: Path = star_tree.write("seed/1.csv", ROWS)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    star_tree.built(path.parent, CONFIG)
    return path


def overwrite(path: Path) -> None:
    before = path.stat()
    path.write_text(ROWS.replace("400", "999"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def answers(star_tree: Any) -> list[Any]:
    found = []
    for query in QUERIES:
        result = star_tree.call("sql", "--star-tree", star_tree.tree, query, "--format", "json")
        found.append(
            json.loads(result.stdout)["rows"][0][0]
            if result.exit_code == 0
            else (result.exit_code, result.stderr)
        )
    return found


@pytest.mark.parametrize("is_grown", [False, True])
def test_no_answer_until_a_refresh_which_builds_anew(star_tree: Any, source: Path, is_grown: bool) -> None:
    overwrite(source)
    for exit_code, told in answers(star_tree):
        assert exit_code == 3
        assert "is not what the star-tree was built from (changed: " in told and "1.csv" in told
    if is_grown:
        star_tree.write("seed/2.csv", ROWS)
    assert "built (1.csv changed, which cannot be subtracted)" in star_tree.refresh().stdout
    new = 2200 + 2 * 599
    assert answers(star_tree) == [new + (2200 if is_grown else 0)] * 2


@pytest.mark.parametrize("touch", ["chmod", "cp -a"])
def test_a_touch_is_no_change(star_tree: Any, source: Path, touch: str) -> None:
    if touch == "chmod":
        source.chmod(0o640)
    else:
        copy = star_tree.folder / "copy"
        subprocess.run(["cp", "-a", source.parent, copy], check=True)
        source.unlink()
        source.parent.rmdir()
        copy.rename(source.parent)
    assert answers(star_tree) == [2200, 2200]
    assert "unchanged" in star_tree.refresh().stdout
    assert answers(star_tree) == [2200, 2200]
    overwrite(source)
    assert [exit_code for exit_code, _ in answers(star_tree)] == [3, 3]
