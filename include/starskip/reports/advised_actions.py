"""The advice of a night line by line, each with the query shapes that it helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.advisor.families.index import Index
from starskip.advisor.families.star_tree.settings import STAR_TREE_NAME
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.selection.vote_list import IndexSet, VoteList, total_saving
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.star_trees_key import StarTreesKey
from starskip.reports.advice_values import AdvisedAction


def advised_actions(
    indexes: Sequence[AdvisedIndex],
    workload: Sequence[ShapeWorkload],
    votes: Mapping[str, Sequence[VoteList]],
    chosen: IndexSet,
) -> tuple[AdvisedAction, ...]:
    """Return an action for each of the advised ``indexes``; ``votes``: by shape, for indexes on columns.

    A shape that an index serves whole counts for that index alone.
    """
    answered = frozenset().union(*(each.shapes for each in indexes))
    queries = sum(shape.queries for shape in workload) or 1
    found = []
    for each in indexes:
        added = _added(each, votes, chosen, answered)
        helped = {*each.shapes, *(shape for shape, saved in added.items() if saved > 0)}
        dimensions, functions = _columns(each)
        found.append(
            AdvisedAction(
                each.name,
                each.family,
                dimensions,
                functions,
                each.is_drop,
                each.saving_ratio,
                each.saving_ms,
                each.size_bytes,
                len(helped),
                sum(shape.queries for shape in workload if shape.shape_id in helped) / queries,
                sum(saved < 0 for saved in added.values()),
            )
        )
    return tuple(found)


def _columns(index: AdvisedIndex) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of an index, and the functions of a star-tree, which stand among no columns."""
    if index.family != STAR_TREE_NAME or not index.config:
        return index.columns, ()
    entry = StarTreesKey().entry_of(index.config)
    return (
        tuple(map(str, entry.get("dimensionsSplitOrder") or index.columns)),
        tuple(map(str, entry.get("functionColumnPairs") or ())),
    )


def _added(
    index: AdvisedIndex,
    votes: Mapping[str, Sequence[VoteList]],
    chosen: IndexSet,
    answered: frozenset[str],
) -> Mapping[str, float]:
    """Return the entries that an index on a column saves by shape, beside the other chosen ones."""
    if index.is_drop or len(index.columns) != 1:
        return {}
    own = Index(index.family, index.columns[0])
    if own not in chosen:
        return {}
    return {
        shape: total_saving(lists, chosen) - total_saving(lists, chosen - {own})
        for shape, lists in votes.items()
        if shape not in answered and any(own in each.indexes for each in lists)
    }
