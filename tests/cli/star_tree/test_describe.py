"""``starskip star-tree describe``, trees of several tables in one folder, and the help texts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from seed_example import CONFIG, ROWS
from starskip.star_tree.build.publish_trees import publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

LEAVES = {
    "dimensionsSplitOrder": ["Country", "Locale"],
    "skipStarNodeCreationForDimensions": ["Locale"],
    "functionColumnPairs": ["COUNT__*", "AVG__Impressions"],
}


def describe(star_tree: Any, *options: str) -> str:
    result = star_tree.call("star-tree", "describe", star_tree.tree, *options)
    assert (result.exit_code, result.stderr) == (0, "")
    text: str = result.stdout
    return text


def test_text(star_tree: Any) -> None:
    source = star_tree.write("seed.csv", ROWS)
    star_tree.built(source, CONFIG, LEAVES)
    *told, size = describe(star_tree).splitlines()
    assert told == [
        f"seed: 1 source file at {source}",
        "tree 1: Country > Browser > Locale",
        "  SUM__Impressions",
        "  7 rows -> 27 documents (7 without a star), 39 nodes; at most 1 document a leaf",
        "tree 2: Country > Locale",
        "  COUNT__*, AVG__Impressions",
        "  7 rows -> 7 documents (6 without a star), 1 node; at most 10,000 documents a leaf",
    ]
    on_disk = sum(path.stat().st_size for path in star_tree.tree.rglob("*.parquet"))
    assert size == f"{on_disk:,} bytes in all"


def test_json(star_tree: Any) -> None:
    star_tree.write("seed/1.csv", ROWS)
    source = star_tree.write("seed/2.csv", ROWS).parent
    star_tree.built(source, CONFIG, LEAVES)
    on_disk = sum(path.stat().st_size for path in star_tree.tree.rglob("*.parquet"))
    own = {"skipStarNodeCreationForDimensions": [], **CONFIG}
    assert json.loads(describe(star_tree, "--format", "json")) == {
        "table": "seed",
        "answers_to": None,
        "source": str(source),
        "source_files": 2,
        "size_bytes": on_disk,
        "trees": [
            {"config": own, "rows": 14, "documents": 27, "base_documents": 7, "nodes": 39},
            {
                "config": {**LEAVES, "maxLeafRecords": 10_000},
                "rows": 14,
                "documents": 7,
                "base_documents": 6,
                "nodes": 1,
            },
        ],
    }


def test_a_described_configuration_builds_the_same_tree(star_tree: Any) -> None:
    source = star_tree.write("seed.csv", ROWS)
    star_tree.built(source, CONFIG)
    documents = star_tree.documents()
    (tree,) = json.loads(describe(star_tree, "--format", "json"))["trees"]
    star_tree.built(source, tree["config"])
    assert star_tree.documents() == documents


def test_names_with_control_characters_stay_on_their_line(star_tree: Any) -> None:
    name = "a\x1b[31m\nb"
    source = star_tree.write("t.csv", f'"{name}"\nx\n')
    star_tree.built(source, {"dimensionsSplitOrder": [name], "functionColumnPairs": [f"MAX__{name}"]})
    told = describe(star_tree)
    assert "\x1b" not in told and len(told.splitlines()) == 5
    assert "tree 1: a\\x1b[31m\\nb\n  MAX__a\\x1b[31m\\nb\n" in told


def test_of_several_tables_one_is_named(star_tree: Any, tree_config: Any) -> None:
    store = ArtefactStore(storage_for(str(star_tree.tree)))
    config = StarTreeConfig.from_document(tree_config("a", "COUNT__*"))
    for table, rows in (("orders", 2), ("lines", 3)):
        source = star_tree.write(f"{table}.csv", "a\n" + "x\n" * rows)
        publish_trees(
            lambda _, items, function: [function(item) for item in items],
            store,
            TreeOrder(table, str(source), (config,), {}),
            now=datetime.now(UTC),
            created_by="test",
        )
    for command in ("describe", "documents", "refresh"):
        result = star_tree.call("star-tree", command, star_tree.tree)
        assert (result.exit_code, result.stdout) == (3, "")
        assert "has star-trees of lines, orders; name the table" in result.stderr
        result = star_tree.call("star-tree", command, star_tree.tree, "--table", "other")
        assert result.exit_code == 3 and "no star-tree of other" in result.stderr
    assert star_tree.documents("--table", "orders") == "a,COUNT__*\nx,2\n"
    assert describe(star_tree, "--table", "lines").startswith("lines: 1 source file at ")
    star_tree.write("lines.csv", "a\ny\n")
    assert "built (lines.csv changed" in star_tree.refresh("--table", "lines").stdout
    assert star_tree.documents("--table", "lines") == "a,COUNT__*\ny,1\n"
    assert star_tree.documents("--table", "orders") == "a,COUNT__*\nx,2\n"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ([], ["build", "refresh", "describe", "documents"]),
        (["build"], ["--input", "--config", "--output", "--cast"]),
        (["refresh"], ["--table"]),
        (["describe"], ["--format", "--table"]),
        (["documents"], [r"`*` is the star, `\*` a value that is a star, `\N` null", "sum|count", "--tree"]),
    ],
)
def test_help_has_examples_on_lines_of_their_own(star_tree: Any, command: list[str], told: list[str]) -> None:
    result = star_tree.call("star-tree", *command, "--help")
    assert result.exit_code == 0
    assert all(each in result.stdout for each in told)
    lines = result.stdout.splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip() in ("Example:", "Examples:"))
    assert lines[first + 1].startswith(" ".join(["    starskip star-tree", *command]))
    assert "\b" not in result.stdout and "\\b" not in result.stdout
