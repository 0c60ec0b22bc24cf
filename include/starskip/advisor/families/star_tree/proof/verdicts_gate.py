"""The gates of star-trees: the advised ones within bounds, the built ones answering as the table does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.advisor.families.star_tree.settings import StarTreeSettings
from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import (
    Expectation,
    View,
    at_most,
    between,
    distinct,
    in_set,
    present,
    warn_only,
)
from starskip.advisor.run.gate import Gate, mapping_of, number_of
from starskip.advisor.run.night import Night
from starskip.advisor.verification.agreement import ACCEPTED, AGREED
from starskip.settings import Settings

_COSTS = ("tree_rows_read", "scan_rows_read", "tree_ms", "scan_ms")


def _views(night: Night, table: str) -> Mapping[str, View]:
    rows = published(night, "verdicts").read_table([table]).to_pylist()
    for row in rows:
        row["is_of_table"] = row["table"] == table
        row["name"] = f"{row['shape_id']} query {row['instance']}"
    answered = [row for row in rows if row["verdict"] in AGREED]
    return {"queries": View(rows, "name"), "answered": View(answered, "name")}


def _expectations(_: Settings) -> Sequence[Expectation]:
    queries = "queries of {table} from a star-tree and by a scan"
    return (
        in_set("queries", "is_of_table", f"{queries}: rows of this table", [True]),
        distinct("queries", ["shape_id", "instance"], f"{queries}: listed twice"),
        present("queries", "verdict", f"{queries}: missing verdict"),
        in_set("queries", "verdict", f"{queries}: answers", ACCEPTED),
        present("answered", "tree", f"{queries}: missing tree"),
        *(
            item
            for name in _COSTS
            for item in (
                present("answered", name, f"{queries}: missing {name}"),
                between("answered", name, f"{queries}: {name}", 0),
            )
        ),
        warn_only(
            at_most(
                "answered",
                "tree_rows_read",
                "scan_rows_read",
                f"{queries}: rows read",
                "no more than by the scan",
            )
        ),
    )


STAR_TREE_VERDICTS_GATE = Gate(_views, _expectations)


_TOLERANCE = 1e-6


def _views_of_trees(night: Night, table: str) -> Mapping[str, View]:
    properties = published(night, "recommendations").parts()[table].properties
    trees = [mapping_of(tree) for tree in properties.get("star_trees") or ()]
    view = {
        "star_trees": len(trees),
        "tree_saving": sum(number_of(tree.get("saving_ratio")) or 0.0 for tree in trees),
        "tree_bytes": sum(number_of(tree.get("size_bytes")) or 0.0 for tree in trees),
    }
    return {"advice": View([view])}


def _expectations_of_trees(settings: Settings) -> Sequence[Expectation]:
    most_trees = settings.of(StarTreeSettings).max_star_trees
    return (
        between(
            "advice",
            "star_trees",
            "chosen star-trees of {table}: number",
            0,
            most_trees,
        ),
        between(
            "advice",
            "tree_saving",
            "predicted saving of the star-trees of {table}: share of all entries",
            0,
            1 + _TOLERANCE,
        ),
        between(
            "advice",
            "tree_bytes",
            "chosen star-trees of {table}: estimated bytes",
            0,
            settings.advice.index_budget_bytes,
        ),
    )


CHOSEN_TREES_GATE = Gate(_views_of_trees, _expectations_of_trees)
