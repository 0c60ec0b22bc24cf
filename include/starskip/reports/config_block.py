"""The part of a Pinot table config that the advice changes, as JSON to copy."""

from __future__ import annotations

from typing import Any

from starskip.reports.evidence import ConfigValue, Evidence
from starskip.reports.evidence_json import harmless_json
from starskip.reports.star_tree_evidence import ChosenStarTree

MAX_BLOCK = 20_000


def config_block(evidence: Evidence) -> str | None:
    """Return the proposed keys under ``tableIndexConfig``; None when too long to be shown, never cut."""
    keys = evidence.change.keys
    trees = evidence.star_trees.chosen if evidence.star_trees else ()
    lists: list[ConfigValue] = [each.proposed for each in keys.values()]
    lists += [names for tree in trees for names in (tree.dimensions, tree.skipped_star_nodes, tree.pairs)]
    if sum(map(_length, lists)) > MAX_BLOCK:
        return None
    proposed: dict[str, Any] = {key: each.proposed for key, each in sorted(keys.items())}
    if trees:
        proposed["starTreeIndexConfigs"] = [_entry(tree) for tree in trees]
    block = harmless_json({"tableIndexConfig": proposed})
    return block if len(block) <= MAX_BLOCK else None


def _entry(tree: ChosenStarTree) -> dict[str, Any]:
    return {
        "dimensionsSplitOrder": tree.dimensions,
        "skipStarNodeCreationForDimensions": tree.skipped_star_nodes,
        "functionColumnPairs": tree.pairs,
        "maxLeafRecords": tree.max_leaf_records,
    }


def _length(value: ConfigValue) -> int:
    return len(value or "") if not isinstance(value, tuple) else sum(map(len, value))
