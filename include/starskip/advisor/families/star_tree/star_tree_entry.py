"""Write a star-tree as an entry of Pinot's ``starTreeIndexConfigs``, and describe an entry in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.advisor.families.star_tree.report.star_tree_evidence import ChosenStarTree
from starskip.number_text import count

STAR_TREES_KEY = "starTreeIndexConfigs"
"""The key of tableIndexConfig that lists star-trees."""


def star_tree_entry(tree: ChosenStarTree) -> dict[str, Any]:
    """Return the entry that lets Pinot build ``tree``."""
    return {
        "dimensionsSplitOrder": list(tree.dimensions),
        "skipStarNodeCreationForDimensions": list(tree.skipped_star_nodes),
        "functionColumnPairs": list(tree.pairs),
        "maxLeafRecords": tree.max_leaf_records,
    }


def star_tree_words(entry: Mapping[str, Any]) -> str:
    """Return the dimensions and pairs of an entry in one line."""
    dimensions = ", ".join(map(str, entry.get("dimensionsSplitOrder") or ()))
    pairs = [str(pair) for pair in entry.get("functionColumnPairs") or ()]
    pairs += [
        f"{each.get('aggregationFunction')}__{each.get('columnName', '*')}"
        for each in entry.get("aggregationConfigs") or ()
    ]
    most = entry.get("maxLeafRecords")
    leaf = f", at most {count(most)} records a leaf" if isinstance(most, int) and most > 0 else ""
    return f"by {dimensions}: {', '.join(pairs)}{leaf}"
