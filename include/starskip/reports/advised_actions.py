"""The advice of a night line by line, each with the query shapes that it helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starskip.advisor.families.index import Index
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.selection.vote_list import IndexSet, VoteList, total_saving
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.reports.advice_evidence import tree_functions
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
        found.append(
            AdvisedAction(
                each.name,
                each.family,
                each.columns,
                tree_functions(each),
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
