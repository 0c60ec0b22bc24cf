"""Query options by which a query does without an index, where the version of Pinot has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starskip.advisor.deployment.replay import Options
from starskip.advisor.deployment.table_segments import tree_count
from starskip.advisor.families.families import named
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.pinot.star_trees_key import StarTreesKey

_SKIPPING_SINCE = (1, 2)
"""skipIndexes is of 1.2; an older Pinot takes no notice of it, and would scan as before."""
_INDEX = "_index"


def is_star_tree(index: AdvisedIndex) -> bool:
    """Return whether an index is a star-tree of Pinot."""
    family = named(index.family)
    return family is not None and isinstance(family.config, StarTreesKey)


def hiding_options(
    index: AdvisedIndex,
    release: tuple[int, ...],
    config: Mapping[str, Any],
    *,
    only_trees_of: Sequence[AdvisedIndex] = (),
) -> Options | None:
    """Return the options of queries that do without ``index``; None if it cannot be hidden by itself.

    A query does without all star-trees or none: one is hidden by itself if ``config`` has no other.
    """
    family = named(index.family)
    if family is None or index.is_drop:
        return None
    if is_star_tree(index):
        is_only = tree_count(config) == 1 == sum(map(is_star_tree, only_trees_of))
        return {"useStarTree": False} if is_only else None
    if family.path is None or not family.path.segment_index.endswith(_INDEX) or release < _SKIPPING_SINCE:
        return None
    kind = family.path.segment_index.removesuffix(_INDEX)
    return {"skipIndexes": "&".join(f"{column}={kind}" for column in index.columns)}
