"""Settings of star-trees: how many, how large, and the weights of their choice."""

from __future__ import annotations

from dataclasses import dataclass

from starskip.settings import SettingsGroup, setting

STAR_TREE_NAME = "star_tree"
"""Name of the family, and of the group of its settings."""


@dataclass(frozen=True, slots=True)
class StarTreeSettings(SettingsGroup):
    """Settings of star-trees, beside the settings of all advice."""

    group = STAR_TREE_NAME
    heading = "Which star-trees are advised"

    max_star_trees: int = setting(
        2,
        "Largest number of star-trees within max_indexes. For none, leave star_tree out of index_kinds.",
        title="Largest number of star-trees",
        unit="star-trees a table",
        at_least=1,
        # Every set of this many candidate trees is weighed.
        at_most=6,
    )
    max_tree_size_ratio: float = setting(
        0.5,
        "A tree of more than this share of the table's rows, or of its bytes, is refused.",
        title="Most that a star-tree may take",
        unit="share",
        at_least=0,
        at_most=1,
    )
    tree_gain_size_ratio: float = setting(
        0.05,
        "A tree must save min_gain_ratio once per this share of the table's bytes, and at least once.",
        title="Size for which a star-tree must save the least gain",
        unit="share",
        at_least=0,
        at_most=1,
    )
    post_filter_entry_weight: float = setting(
        1.0,
        "Weight of an entry scanned post filter against one scanned in filter, when trees are weighed.",
        unit="entries",
        at_least=0,
    )
