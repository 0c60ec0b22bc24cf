"""Indexes of one family in the order of a baseline strategy, frequency or parser."""

from __future__ import annotations

from collections.abc import Sequence

from starskip.cost.baseline_scores import frequency_scores, parser_scores
from starskip.cost.parser_selectivity import INVERTED_ORDER, SORTED_ORDER
from starskip.cost.planned_votes import candidate_columns
from starskip.cost.voting_shapes import voting_shapes
from starskip.indexes.family import Family
from starskip.indexes.index import Index
from starskip.settings import Settings
from starskip.tables.table_overview import TableOverview
from starskip.workload.shape_workload import ShapeWorkload


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
