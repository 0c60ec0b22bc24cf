"""Names for building a star-tree and asking it.

The names are public (docs/python-api.md); they are in one module here, whatever module they lie in.
"""

from __future__ import annotations

from starskip.star_tree.build.publish_trees import PublishedTrees, publish_trees
from starskip.star_tree.build.tree_order import TreeOrder
from starskip.star_tree.serving.answer_sql import Answer, answer_sql
from starskip.star_tree.serving.tree_set import TreeSet, open_trees
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.storage_for import storage_for

__all__ = [
    "Answer",
    "ArtefactStore",
    "PublishedTrees",
    "StarTreeConfig",
    "TreeOrder",
    "TreeSet",
    "answer_sql",
    "open_trees",
    "publish_trees",
    "storage_for",
]
