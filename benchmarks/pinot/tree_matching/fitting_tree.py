"""Find the tree of a configuration that Pinot takes: the check isFitForStarTree, tree by tree."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from starskip.errors import printable
from starskip.pinot.star_tree_filter import NotServed
from starskip.pinot.star_tree_matching import Pair, TreePart, stored_pair
from starskip.pinot.star_tree_rules import StarTreeRules

_SHOWN_TREES = 3


def fitting_tree(
    parts: Sequence[TreePart],
    trees: Sequence[tuple[Collection[str], Collection[Pair]]],
    rules: StarTreeRules,
) -> tuple[int, ...] | NotServed:
    """Return for each part the position of the tree that Pinot takes, the first that fits.

    ``trees``: dimensions and pairs of each, in the order of the configuration.
    """
    taken = []
    for part in parts:
        lacks = [_tree_lack(part, dimensions, pairs, rules) for dimensions, pairs in trees]
        fits = [position for position, lack in enumerate(lacks) if lack is None]
        if not fits:
            shown = [lack.detail for lack in lacks if lack is not None]
            return NotServed("no_tree_fits", "; ".join(list(dict.fromkeys(shown))[:_SHOWN_TREES]))
        taken.append(fits[0])
    return tuple(taken)


def _tree_lack(
    part: TreePart, dimensions: Collection[str], pairs: Collection[Pair], rules: StarTreeRules
) -> NotServed | None:
    """Return the check of isFitForStarTree that a tree fails."""
    kept = {stored_pair(function, column, rules) for function, column in pairs}
    for pair in part.pairs:
        if pair not in kept:
            return NotServed("pair", f"{pair[0]}({printable(pair[1], 60)}) is not pre-aggregated")
    for clause, names in (("GROUP BY", part.group_by_columns), ("WHERE", part.predicate_columns)):
        for name in names:
            if name not in dimensions:
                return NotServed("dimension", f"{printable(name, 60)} of {clause} is none of its dimensions")
    return None
