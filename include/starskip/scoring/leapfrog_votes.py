"""Strategy leapfrog: what each shape would have saved under each set of structures.

``vote = observed_entries * (1 - L_with / L_without)`` (design.md), L from scoring.filter_cost summed
over the sampled segments and scaled to the table's rows, 0 where L_without is 0. Scaling by what the
log observed cancels what the model does not know, such as segments that the broker pruned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from starskip.pinot.index_rules import IndexRules
from starskip.scoring.alternatives import Candidates, LegAlternatives, leg_alternatives
from starskip.scoring.vote_rows import Ratios, Saved, vote_rows, votes_table
from starskip.sql.query_shape import parsed_shape
from starskip.workload.shape_workload import Instance, ShapeWorkload

_Estimate = tuple[int, int, list[float], list[float], int, float]
"""A row of ESTIMATES without its table and shape."""


def leapfrog_votes(
    shapes: Sequence[ShapeWorkload],
    estimates: pa.Table,
    candidates: Candidates,
    rules: IndexRules,
) -> pa.Table:
    """Return VOTES of ``shapes``, all of one table, from its ESTIMATES summed over segments."""
    found: dict[tuple[str, str], list[_Estimate]] = {}
    for row in zip(*(column.to_pylist() for column in estimates.columns), strict=True):
        found.setdefault((row[0], row[1]), []).append(row[2:])
    rows: list[tuple[object, ...]] = []
    for workload in shapes:
        legs = leg_alternatives(parsed_shape(workload.skeleton), candidates, rules)
        saved = _saved(
            list(workload.instances.values()), legs, found.get((workload.table, workload.shape_id), [])
        )
        for number, leg in enumerate(legs):
            rows.extend(
                vote_rows(workload, number, leg.alternatives, saved[number], is_complete=leg.is_complete)
            )
    return votes_table(rows)


def _saved(
    instances: list[Instance], legs: Sequence[LegAlternatives], estimates: list[_Estimate]
) -> list[Saved]:
    read = [np.zeros((len(instances), len(leg.alternatives))) for leg in legs]
    eager = [np.full((len(instances), len(leg.alternatives)), np.nan) for leg in legs]
    live = np.zeros(len(instances))
    for number, instance, of_leg, eager_of_leg, segments, simulated_ratio in estimates:
        # Each instance is simulated on segments of its own; what the log tells is of the whole table.
        scale = 1.0 / simulated_ratio
        read[number][instance] = np.multiply(of_leg, scale)
        live[instance] = max(live[instance], segments * scale)
        if eager_of_leg:
            eager[number][instance] = np.multiply(eager_of_leg, scale)
    # The legs of the sort orders are those of the indexes once more, so either makes up the query.
    present = {
        reorders: sum(
            (read[i][:, 0] for i, leg in enumerate(legs) if leg.reorders is reorders), start=0.0 * live
        )
        for reorders in (False, True)
    }
    legs_saved = []
    for leg, with_indexes, whole_segments in zip(legs, read, eager, strict=True):
        without = present[leg.reorders]
        reads = without[:, None] > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            saved = (with_indexes[:, :1] - with_indexes) / without[:, None]
            early = _early_stop_ratios(instances, without, live, whole_segments)
        ratios = np.where(reads, np.where(np.isnan(early), saved, early), 0.0)
        legs_saved.append(Saved(ratios, np.where(reads, 0.0, with_indexes)))
    return legs_saved


def _early_stop_ratios(instances: list[Instance], without: Ratios, live: Ratios, eager: Ratios) -> Ratios:
    """Saved shares of queries that a LIMIT ended early, negative where an index makes them read more.

    The query read the share f of what it would have read in full, so about f of the segments, and
    at least those with an answer; with an index, an AND evaluates each of these segments whole.
    """
    queries = np.array([max(instance.queries, 1) for instance in instances])
    observed = np.array([instance.entries_scanned_in_filter for instance in instances]) / queries
    matched = np.array([instance.segments_matched for instance in instances]) / queries
    share = np.minimum(observed / without, 1.0)
    touched = np.clip(np.maximum(share, np.maximum(matched, 1.0) / np.maximum(live, 1.0)), 0.0, 1.0)
    ratios: Ratios = 1.0 - eager * touched[:, None] / observed[:, None]
    ratios[observed <= 0] = 0.0
    return ratios
