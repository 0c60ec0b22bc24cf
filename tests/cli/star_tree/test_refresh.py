"""``starskip star-tree refresh``: after new, rewritten and removed files, and where nothing happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from seed_example import CONFIG, ROWS
from starskip.star_tree import tree_artefact

HEADER, *LINES = ROWS.splitlines(keepends=True)


@pytest.fixture
def table(star_tree: Any) -> Path:
    """A folder of two files, of which there is a tree."""
    star_tree.write("seed/1.csv", HEADER + "".join(LINES[:3]))
    folder: Path = star_tree.write("seed/2.csv", HEADER + "".join(LINES[3:5])).parent
    star_tree.built(folder, CONFIG)
    return folder


def require_as_built_anew(star_tree: Any, table: Path, *options: str) -> None:
    """The same documents as a build of all files gives, somewhere else."""
    other = type(star_tree)(star_tree.call, star_tree.folder / "anew")
    other.built(table, CONFIG, options=options)
    assert star_tree.documents() == other.documents()


def test_nothing_changed(star_tree: Any, table: Path) -> None:
    before = sorted(star_tree.tree.rglob("*"))
    result = star_tree.refresh()
    assert (result.exit_code, result.stderr) == (0, "")
    rows, outcome = result.stdout.splitlines()
    assert rows == "tree 1: 5 rows -> 18 documents"
    assert outcome.startswith("unchanged (same configuration, same files): ")
    assert sorted(star_tree.tree.rglob("*")) == before


def test_a_new_file_is_added(star_tree: Any, table: Path) -> None:
    star_tree.write("seed/later/3.csv", HEADER + "".join(LINES[5:]))
    result = star_tree.refresh()
    assert result.exit_code == 0
    assert result.stdout.startswith("tree 1: 7 rows -> 27 documents\nrefreshed (3.csv new): ")
    require_as_built_anew(star_tree, table)
    assert "unchanged" in star_tree.refresh().stdout


def test_a_tree_of_an_older_form_is_refused_in_one_line_and_can_be_built_again(
    star_tree: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = star_tree.write("seed/1.csv", ROWS).parent
    with monkeypatch.context() as before:
        before.setattr(tree_artefact, "FORMAT_VERSION", 1)
        star_tree.built(source, CONFIG)
    for asked in (
        star_tree.refresh(),
        star_tree.call("star-tree", "documents", star_tree.tree),
        star_tree.call("sql", "--star-tree", star_tree.tree, "SELECT COUNT(*) FROM seed"),
    ):
        assert (asked.exit_code, asked.stdout) == (3, "")
        (line,) = asked.stderr.splitlines()
        assert "build it again" in line or "build them again" in line
    star_tree.built(source, CONFIG)
    assert "unchanged" in star_tree.refresh().stdout


def test_a_file_that_cannot_be_added_leaves_the_former_tree(star_tree: Any, table: Path) -> None:
    before = star_tree.documents()
    for content, told in (
        ("Country,Browser,Impressions\nCA,Chrome,4\n", "3.csv: column Locale is missing"),
        (HEADER + "CA,Chrome,en,many\n", "3.csv: column Impressions: "),
        ("", "3.csv: cannot be read"),
    ):
        star_tree.write("seed/3.csv", content)
        result = star_tree.refresh()
        assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (3, "", 1)
        assert told in result.stderr
        assert star_tree.documents() == before


def test_a_table_that_is_gone_is_refused(star_tree: Any, table: Path) -> None:
    before = star_tree.documents()
    for path in table.iterdir():
        path.unlink()
    result = star_tree.refresh()
    assert (result.exit_code, result.stdout) == (3, "")
    assert f"{table}: has no .csv and no .parquet file" in result.stderr
    assert star_tree.documents() == before


def test_the_casts_of_the_build_are_those_of_the_refresh(star_tree: Any, table: Path) -> None:
    cast = ("--cast", "Impressions=decimal(12,2)")
    star_tree.built(table, CONFIG, options=cast)
    star_tree.write("seed/3.csv", HEADER + "MX,Chrome,en,0.25\n")
    assert "refreshed (3.csv new)" in star_tree.refresh().stdout
    assert star_tree.cells()[-1] == ["*", "*", "*", "1600.25"]
    require_as_built_anew(star_tree, table, *cast)


def test_a_build_replaces_trees_of_another_configuration(
    star_tree: Any, table: Path, tree_config: Any
) -> None:
    star_tree.built(table, tree_config("Locale", "COUNT__*"), tree_config("Browser", "MAX__Impressions", 10))
    assert "unchanged" in star_tree.refresh().stdout
    described = star_tree.call("star-tree", "describe", star_tree.tree, "--format", "json")
    orders = [tree["config"]["dimensionsSplitOrder"] for tree in json.loads(described.stdout)["trees"]]
    assert orders == [["Locale"], ["Browser"]]
