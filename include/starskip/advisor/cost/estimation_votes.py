"""Strategy estimation: votes from cardinalities alone, without a look at rows.

Source: Automated Inverted Index Recommendation, II.3.

Each disjunct of a top-level OR votes by itself. The saving of a set of indexes is estimated by filter_work
and scaled to the entries that the log observed: ``vote = observed_entries * (1 - L_with / L_without)``. The
sets of a disjunct exclude one another: only the best built set counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.advisor.cost.alternatives import SORTED_BY_ANOTHER, Candidates
from starskip.advisor.cost.filter_work import filter_work
from starskip.advisor.cost.leaf_estimates import LeafEstimate, leaf_estimates
from starskip.advisor.cost.proposed_sets import NO_INDEXES, IndexSet, VoteRules, proposed_sets
from starskip.advisor.cost.segment_estimates import SegmentState
from starskip.advisor.cost.vote_rows import Saved, vote_rows, votes_table
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.sql.predicate import Leaf, Or, Predicate, leaves
from starskip.sql.query_shape import parsed_shape
from starskip.tables.table_overview import TableOverview

Ratios = npt.NDArray[np.float64]


def estimation_votes(
    shapes: Iterable[ShapeWorkload],
    table: TableOverview,
    candidates: Candidates,
    in_force: Collection[Index],
    rules: AccessRules,
    vote_rules: VoteRules | None = None,
) -> pa.Table:
    """Return VOTES of ``shapes``, all of one table.

    Disjuncts are numbered in text order. Unlike in strategy leapfrog, they vote by themselves also where a
    LIMIT ends the query early. The disjuncts of the sort orders follow.
    """
    segment_rows = max(table.rows / max(table.segments, 1), 1.0)
    values = {name: (column.cardinality or 0.0) / segment_rows for name, column in table.columns.items()}
    state = SegmentState(rules, in_force=frozenset(in_force), values_a_row=values)
    orders = {rules.reorders(index.family) for of_column in candidates.values() for index in of_column}
    rows: list[tuple[object, ...]] = []
    for workload in shapes:
        if not workload.instances:
            continue
        shape = parsed_shape(workload.skeleton)
        estimates = leaf_estimates(shape, workload.instances, table, rules)
        disjuncts = shape.filter.children if isinstance(shape.filter, Or) else (shape.filter,)
        entries = [
            _DisjunctEntries(disjunct, estimates, state, len(workload.instances)) for disjunct in disjuncts
        ]
        without = np.sum([disjunct.entries(NO_INDEXES) for disjunct in entries], axis=0)
        voted = []
        if orders != {True}:
            voted += [
                _index_sets(disjunct, candidates, rules, vote_rules or VoteRules()) for disjunct in entries
            ]
        if True in orders:
            voted += [_orders(disjunct.disjunct, candidates, rules) for disjunct in entries]
        for number, sets in enumerate(voted):
            saved = _saved(entries[number % len(entries)], sets, without, table.rows)
            rows.extend(vote_rows(workload, number, sets, saved, is_complete=False))
    return votes_table(rows)


class _DisjunctEntries:
    """L of one disjunct under sets of indexes, in entries a row, [instances]; each set is computed once."""

    def __init__(
        self, disjunct: Predicate, estimates: Mapping[Leaf, LeafEstimate], state: SegmentState, instances: int
    ) -> None:
        self.disjunct = disjunct

        @cache
        def entries(indexes: IndexSet) -> Ratios:
            is_reordered = any(state.rules.reorders(index.family) for index in indexes)
            work = filter_work(disjunct, estimates, state.answers(indexes), is_reordered=is_reordered)
            return np.broadcast_to(work.entries, instances)

        self.entries = entries


def _index_sets(
    disjunct: _DisjunctEntries, candidates: Candidates, rules: AccessRules, vote_rules: VoteRules
) -> list[IndexSet]:
    """Return the sets of indexes that a disjunct votes for, and the drops that it votes against."""
    proposed = proposed_sets(disjunct.disjunct, candidates, rules, disjunct.entries, vote_rules)
    droppable = {
        frozenset({index}): None
        for leaf in leaves(disjunct.disjunct)
        for index in candidates.get(leaf.column, ())
        if index.dropped is not None and rules.serves(index.dropped.family, leaf)
    }
    return [*proposed, *droppable]


def _orders(disjunct: Predicate, candidates: Candidates, rules: AccessRules) -> list[IndexSet]:
    """Return each sort order that answers a predicate of the disjunct, and the end of the present one."""
    asked = {
        index: None
        for leaf in leaves(disjunct)
        for index in candidates.get(leaf.column, ())
        if rules.reorders(index.family) and rules.serves(index.family, leaf)
    }
    return [frozenset({SORTED_BY_ANOTHER}), *(frozenset({index}) for index in asked)]


def _saved(disjunct: _DisjunctEntries, sets: Sequence[IndexSet], without: Ratios, table_rows: int) -> Saved:
    before = disjunct.entries(NO_INDEXES)
    after = np.array([disjunct.entries(item) for item in sets]).reshape(len(sets), len(before)).T
    reads = (without > 0)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (before[:, None] - after) / without[:, None]
    return Saved(np.where(reads, ratios, 0.0), np.where(reads, 0.0, after * table_rows))
