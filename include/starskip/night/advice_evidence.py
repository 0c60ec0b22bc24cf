"""The rows and properties of ``recommendations`` as parts of a report's evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starskip.indexes.index import Structure as Candidate
from starskip.indexes.index import parse_structure
from starskip.indexes.star_tree.report.star_tree_evidence import StarTrees
from starskip.indexes.star_tree.star_tree_entry import STAR_TREES_KEY, star_tree_entry, star_tree_words
from starskip.pinot.given_config import GivenConfig
from starskip.pinot.proposed_config import COLUMN_KEYS, IndexChanges
from starskip.reports.evidence import (
    ChosenIndex,
    ConfigChange,
    Interval,
    KCurve,
    KeyChange,
    KPoint,
    ReasonedStructure,
    SortOrder,
    Structure,
)


def config_change(
    chosen: Sequence[Mapping[str, Any]],
    rows: Sequence[Mapping[str, Any]],
    configured: Mapping[str, Sequence[str]] | None,
    properties: Mapping[str, Any],
    trees: StarTrees | None = None,
    given: GivenConfig | None = None,
) -> ConfigChange:
    """Return the edit of the table config; ``configured`` and ``given`` are None where there is none to read.

    ``trees``: what the night did about star-trees; those that the config lacks are part of the change.
    """
    drops = [row for row in rows if row["verdict"] == "drop"]
    in_force = [parse_structure(text) for text in properties.get("in_force", ())]
    keys: dict[str, KeyChange] = {}
    for kind, key in COLUMN_KEYS.items():
        # Without a config the indexes that segments were built with are what is known.
        known = configured.get(kind, ()) if configured is not None else _columns(in_force, kind)
        dropped = {row["column"] for row in drops if row["kind"] == kind}
        added = [row["column"] for row in chosen if row["kind"] == kind]
        proposed = tuple(dict.fromkeys([*(column for column in known if column not in dropped), *added]))
        if kind == "inverted" or known or proposed:
            current = tuple(known) if configured is not None or known else None
            keys[key] = KeyChange(current, proposed)
    new_trees = trees.proposed if trees else ()
    held = given.star_trees if given else ()
    if held or new_trees:
        keys[STAR_TREES_KEY] = KeyChange(
            tuple(map(star_tree_words, held)) if given else None,
            tuple(map(star_tree_words, (*held, *map(star_tree_entry, new_trees)))),
        )
    changes = IndexChanges(
        add_inverted=[row["column"] for row in chosen if row["kind"] == "inverted"],
        drop_inverted=[row["column"] for row in drops if row["kind"] == "inverted"],
        add_range=[row["column"] for row in chosen if row["kind"] == "range"],
        drop_range=[row["column"] for row in drops if row["kind"] == "range"],
        add_star_trees=[star_tree_entry(tree) for tree in new_trees],
    )
    config, hidden = given.proposed(changes) if given else (None, ())
    return ConfigChange(
        keys=keys,
        add=(
            *(Structure(row["kind"], (row["column"],)) for row in chosen),
            *(Structure("star_tree", tree.dimensions) for tree in new_trees),
        ),
        drop=tuple(Structure(row["kind"], (row["column"],)) for row in drops),
        star_trees=held,
        config=config,
        hidden_keys=hidden,
    )


def _columns(structures: Sequence[Candidate], kind: str) -> tuple[str, ...]:
    return tuple(item.column for item in structures if item.kind == kind)


def column_label(structure: Candidate) -> str:
    """Return the column; the kind stands behind it where it is not the usual one."""
    return structure.column if structure.kind == "inverted" else f"{structure.column} ({structure.kind})"


def sort_order(properties: Mapping[str, Any]) -> SortOrder | None:
    """Return the sort order that was judged, None if none was."""
    order = properties.get("sort_order")
    if order is None:
        return None
    saving = order["saving"]
    return SortOrder(
        column=order["column"],
        current=tuple(properties.get("sorted_columns", ())),
        saving_ratio=saving["ratio"],
        interval=Interval(saving["low"], saving["high"]),
    )


def chosen_index(row: Mapping[str, Any]) -> ChosenIndex:
    """Return a chosen row."""
    return ChosenIndex(
        kind=row["kind"],
        columns=(row["column"],),
        individual_saving_ratio=row["individual_saving_ratio"],
        progressive_saving_ratio=row["progressive_saving_ratio"],
        size_bytes=row["size_bytes"],
        shapes_helped=row["shapes_helped"],
    )


def reasoned_structure(row: Mapping[str, Any]) -> ReasonedStructure:
    """Return a row that was refused or is to be dropped."""
    return ReasonedStructure(row["kind"], (row["column"],), row["reason"], row["detail"], row["size_bytes"])


def k_curve(properties: Mapping[str, Any], chosen_k: int) -> KCurve:
    """Return the curve over K."""
    points = tuple(
        KPoint(
            point["k"],
            tuple(map(column_label, map(parse_structure, point["structures"]))),
            point["saving"]["ratio"],
            Interval(point["saving"]["low"], point["saving"]["high"]),
        )
        for point in properties["curve"]
    )
    return KCurve(points, chosen_k, properties["stop"])
