"""The gate behind build_star_trees: trees as chosen, of all rows of the table as it is now.

Source: Star-tree index.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starskip.advisor.families.star_tree.build_star_trees import BUILT, FAILED, NOT_BUILT
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import (
    Expectation,
    View,
    between,
    distinct,
    equal,
    in_set,
    none,
    present,
    warn_only,
)
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night
from starskip.errors import NotPlainFiles, SourceError, SourceOutage, StaleTree
from starskip.settings import Settings
from starskip.star_tree.build.source_files import known_files
from starskip.star_tree.build.source_table import source_table
from starskip.star_tree.measure import COUNT_ROWS
from starskip.star_tree.serving.star_tree import ScanRequest, StarTree
from starskip.star_tree.serving.tree_set import TreeSet, open_trees

_LEAST_SIZE_RATIO, _MOST_SIZE_RATIO = 0.8, 1.25
"""Built size over estimated size: the accuracy that the estimate promises."""


def _views(night: Night, table: str) -> Mapping[str, View]:
    builds = published(night, "star_tree_builds").read_table([table]).to_pylist()
    trees = open_trees(night.store, table) if any(row["outcome"] in BUILT for row in builds) else None
    configs = [json.dumps(tree.config.to_document()) for tree in trees.trees] if trees else []
    lake_rows = _lake_rows(night, table, trees) if trees else None
    for row in builds:
        row["name"] = f"tree {row['tree']}"
        row["is_of_table"] = row["table"] == table
        row["size_ratio"] = _ratio(row["size_bytes"], row["estimated_bytes"])
        if row["outcome"] in BUILT:
            row["is_published"] = row["config"] in configs
            row["lake_rows"] = row["rows"] if lake_rows is None else lake_rows
            # For a missing tree, one check that says so is enough.
            row |= {"root_rows": row["rows"], "documents_now": row["documents"]}
            if trees is not None and row["is_published"]:
                row |= _root(trees.trees[configs.index(row["config"])])
    built = [row for row in builds if row["outcome"] in BUILT]
    view = {
        "published": len(configs),
        "built": len(built),
        "stale": 0 if trees is None else _stale(trees),
    }
    return {
        "trees": View(builds, "name"),
        "built": View(built, "name"),
        "table": View([view]),
    }


def _root(tree: StarTree) -> dict[str, Any]:
    """Return the rows that all documents together stand for, as the root has them."""
    if COUNT_ROWS not in tree.config.measures:
        return {"documents_now": tree.documents_total}
    counts = tree.scan(ScanRequest({}, (), (COUNT_ROWS,))).measures[COUNT_ROWS]
    return {"root_rows": counts.results()[0].as_py(), "documents_now": tree.documents_total}


def _lake_rows(night: Night, table: str, trees: TreeSet) -> int | None:
    """Return the rows that the footers of the lake table's files state, None if they state none.

    Files that are unchanged since the trees recorded them are not opened again.
    """
    lake = night.lake_tables.get(table)
    try:
        files = (
            source_table(
                lake.path, lake.casts, known_files(trees.recorded), file_format=lake.table_format
            ).files
            if lake
            else ()
        )
    except SourceOutage:
        raise
    except SourceError:
        files = ()
    if not files:
        return None
    counted = [file.row_group_rows for file in files]
    return None if None in counted else sum(sum(rows) for rows in counted if rows is not None)


def _stale(trees: TreeSet) -> int:
    try:
        trees.require_unchanged(at_most_seconds_ago=0.0)
    except (StaleTree, NotPlainFiles):
        return 1
    return 0


def _ratio(size_bytes: int | None, estimated_bytes: int | None) -> float | None:
    return size_bytes / estimated_bytes if size_bytes is not None and estimated_bytes else None


def _expectations(_: Settings) -> Sequence[Expectation]:
    trees = "star-trees of {table}"
    return (
        in_set("trees", "is_of_table", f"{trees}: rows of this table", [True]),
        distinct("trees", ["tree"], f"{trees}: listed twice"),
        present("trees", "outcome", f"{trees}: missing outcome"),
        in_set(
            "trees",
            "outcome",
            f"{trees}: outcomes",
            sorted({*BUILT, NOT_BUILT}),
            expected=f"anything but {FAILED}",
        ),
        in_set("built", "is_published", f"{trees}: published as they were chosen", [True]),
        equal("built", "rows", "lake_rows", f"{trees}: rows, and rows of the lake table", "equal"),
        equal("built", "root_rows", "rows", f"{trees}: rows of the root, and of the tree", "equal"),
        equal("built", "documents_now", "documents", f"{trees}: documents, and documents recorded", "equal"),
        equal("table", "published", "built", f"{trees}: published, and recorded", "equal"),
        none("table", "stale", f"{trees}: of files that have changed since"),
        warn_only(
            between(
                "built",
                "size_ratio",
                f"{trees}: size, as a multiple of the estimate",
                _LEAST_SIZE_RATIO,
                _MOST_SIZE_RATIO,
            )
        ),
    )


STAR_TREES_GATE = Gate(_views, _expectations)
