"""Indexes of one family in the order of a baseline strategy, frequency or parser.

Automated inverted index recommendation, II.2, and ``-strategy freq`` of its tool. A baseline ranks indexes
and makes no joint choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from starskip.advisor.cost.filter_work import Ratios, entries_by_column
from starskip.advisor.cost.leaf_estimates import leaf_estimates
from starskip.advisor.cost.parser_selectivity import (
    INVERTED_ORDER,
    SORTED_ORDER,
    best_keys,
    parser_keys,
    surviving_ratio,
)
from starskip.advisor.cost.planned_votes import candidate_columns
from starskip.advisor.cost.voting_shapes import voting_shapes
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.family import Family
from starskip.advisor.families.index import Index
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.pinot.column_indexes.inverted import INVERTED_NAME
from starskip.settings import Settings
from starskip.sql.predicate import EQUALITIES, Leaf, leaves
from starskip.sql.query_shape import parsed_shape
from starskip.tables.table_overview import TableOverview

_LEAST_ENTRIES = 1e-12


def baseline_ranking(
    settings: Settings,
    shapes: Sequence[ShapeWorkload],
    overview: TableOverview | None,
    families: Sequence[Family],
) -> list[Index] | None:
    """Return the indexes of the first family, best first; None for strategies that are no baseline."""
    if settings.scoring.strategy not in ("frequency", "parser") or overview is None or not families:
        return None
    family = families[0]
    voting = voting_shapes(shapes, settings.workload.entries_scanned_threshold, idle_vote=False)
    threshold = settings.scoring.selectivity_threshold
    if settings.scoring.strategy == "frequency":
        found = frequency_scores(voting, overview, selectivity_threshold=threshold)
    else:
        is_order = family.path is not None and family.path.reorders
        order = SORTED_ORDER if is_order else INVERTED_ORDER
        found = parser_scores(voting, overview, order=order, selectivity_threshold=threshold)
    scores = {name: value for name, value in found.items() if value > 0}
    allowed = scores.keys() & candidate_columns(overview, family)
    return [Index(family.name, name) for name in sorted(allowed, key=lambda name: (-scores[name], name))]


def frequency_scores(
    shapes: Iterable[ShapeWorkload], table: TableOverview, *, selectivity_threshold: float = 1.0
) -> dict[str, float]:
    """Return the number of queries that filter by =, <>, IN or NOT IN, for each column worth an index.

    A column is worth an index if its selectivity 1/s passes the threshold, which is at least 1.
    """
    most = 1.0 / max(selectivity_threshold, 1.0)
    scores: dict[str, float] = {}
    for workload in shapes:
        columns = {
            f.column
            for f in leaves(parsed_shape(workload.skeleton).filter)
            if f.operator in EQUALITIES and INVERTED_NAME not in f.skipped_indexes
        }
        for name in columns - table.indexed(INVERTED_NAME):
            column = table.columns.get(name)
            if column is not None and surviving_ratio(column, 1, negated=False) < most:
                voting = workload.weight * (workload.estimated_queries - workload.failed)
                scores[name] = scores.get(name, 0.0) + voting
    return scores


def parser_scores(
    shapes: Iterable[ShapeWorkload],
    table: TableOverview,
    *,
    order: int = INVERTED_ORDER,
    selectivity_threshold: float = 1.0,
) -> dict[str, float]:
    """Return ``(entries - own) * (1 - 1/S) + own`` summed over queries, for each column of their keys.

    ``own``: the entries that are read of the key's multi-value columns; an index saves all of them (III.2
    there). Entries of single-value columns never count as own: without one scan the next scan reads as much
    in its place (measured; counting them predicts savings worse). A key has no vote unless its S passes the
    threshold. Where a shape's literals are a sample, the sample's score is scaled to all entries of the
    shape.
    """
    most = 1.0 / max(selectivity_threshold, 1.0)
    scores: dict[str, float] = {}
    for workload in shapes:
        shape = parsed_shape(workload.skeleton)
        sampled = sum(instance.estimated_entries for instance in workload.instances.values())
        if not sampled:
            continue
        succeeded = workload.estimated_entries - workload.failed_entries_scanned_in_filter
        scale = workload.weight * succeeded / sampled
        own_ratios = _own_ratios(workload, table)
        skipping = {leaf.column for leaf in leaves(shape.filter) if INVERTED_NAME in leaf.skipped_indexes}
        for position, (literals, instance) in enumerate(workload.instances.items()):
            keys = parser_keys(shape.filter, literals, table, order=order)
            kept = [key for key in keys if key.surviving_ratio < most and not key.columns & skipping]
            for name, key in best_keys(kept).items():
                own = sum(float(own_ratios[column][position]) for column in key.columns & own_ratios.keys())
                saved = (1.0 - own) * (1.0 - key.surviving_ratio) + own
                scores[name] = scores.get(name, 0.0) + instance.estimated_entries * scale * saved
    return scores


def _own_ratios(workload: ShapeWorkload, table: TableOverview) -> dict[str, Ratios]:
    """Return the share of a query's entries that is read of each multi-value column, [instances]."""
    shape = parsed_shape(workload.skeleton)
    if all(column.is_single_value for column in map(table.columns.get, shape.filter_columns) if column):
        return {}
    rules = AccessRules()
    estimates = leaf_estimates(shape, workload.instances, table, rules)

    def answers(leaf: Leaf) -> float | None:
        is_indexed = leaf.column in table.indexed(INVERTED_NAME) and rules.serves(INVERTED_NAME, leaf)
        return 0.0 if is_indexed else None

    entries = entries_by_column(shape.filter, estimates, answers)
    total = np.maximum(sum(entries.values(), start=np.zeros(len(workload.instances))), _LEAST_ENTRIES)
    return {
        name: of_column / total
        for name, of_column in entries.items()
        if name in table.columns and not table.columns[name].is_single_value
    }
