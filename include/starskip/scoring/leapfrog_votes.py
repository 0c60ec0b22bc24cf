"""Strategy leapfrog: what each shape would have saved under each set of structures.

``vote = observed_entries * (1 - L_with / L_without)`` (design.md), L from scoring.filter_cost summed
over the sampled segments, 0 where L_without is 0. Scaling by what the log observed cancels what
the model does not know, such as segments that the broker pruned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.artefacts.schemas import VOTES
from starskip.scoring.alternatives import LegAlternatives, leg_alternatives
from starskip.scoring.segment_estimates import parsed_shape
from starskip.workload.shape_workload import Instance, ShapeWorkload

Ratios = npt.NDArray[np.float64]


def leapfrog_votes(
    shapes: Sequence[ShapeWorkload],
    estimates: pa.Table,
    candidates: Mapping[str, frozenset[str]],
    index_kind: str = "inverted",
) -> pa.Table:
    """Return VOTES of ``shapes`` from ESTIMATES summed over segments.

    ``candidates``: per table, the columns that an inverted index could be built on.
    """
    found: dict[tuple[str, str], list[tuple[int, int, list[float], list[float], int]]] = {}
    for row in zip(*(column.to_pylist() for column in estimates.columns), strict=True):
        found.setdefault((row[0], row[1]), []).append(row[2:])
    rows: list[tuple[object, ...]] = []
    for workload in shapes:
        legs = leg_alternatives(parsed_shape(workload.skeleton), candidates[workload.table], index_kind)
        saved = _saved(
            list(workload.instances.values()), legs, found.get((workload.table, workload.shape_id), [])
        )
        for number, leg in enumerate(legs):
            rows.extend(_leg_votes(workload, number, leg, saved[number]))
    columns = list(zip(*rows, strict=True)) or [()] * len(VOTES)
    arrays = [pa.array(list(column), item.type) for column, item in zip(columns, VOTES, strict=True)]
    return pa.table(arrays, schema=VOTES)


@dataclass(frozen=True, slots=True)
class _Saved:
    """Of one leg, [instances, alternatives].

    ``ratios``: share of the query's entries that is saved. ``lost``: entries a query that reads nothing
    today would read, as those answered by the present sorted column would after another sorting; there
    is nothing observed to scale.
    """

    ratios: Ratios
    lost: Ratios


def _saved(
    instances: list[Instance],
    legs: Sequence[LegAlternatives],
    estimates: list[tuple[int, int, list[float], list[float], int]],
) -> list[_Saved]:
    read = [np.zeros((len(instances), len(leg.alternatives))) for leg in legs]
    eager = [np.full((len(instances), len(leg.alternatives)), np.nan) for leg in legs]
    live = np.zeros(len(instances))
    for leg, instance, of_leg, eager_of_leg, segments in estimates:
        read[leg][instance] = of_leg
        live[instance] = max(live[instance], segments)
        if eager_of_leg:
            eager[leg][instance] = eager_of_leg
    without = np.sum([of_leg[:, 0] for of_leg in read], axis=0)
    legs_saved = []
    reads = without[:, None] > 0
    for with_indexes, whole_segments in zip(read, eager, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            saved = (with_indexes[:, :1] - with_indexes) / without[:, None]
            early = _early_stop_ratios(instances, without, live, whole_segments)
        ratios = np.where(reads, np.where(np.isnan(early), saved, early), 0.0)
        legs_saved.append(_Saved(ratios, np.where(reads, 0.0, with_indexes)))
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


def _leg_votes(
    workload: ShapeWorkload, number: int, leg: LegAlternatives, of_leg: _Saved
) -> list[tuple[object, ...]]:
    entries = np.array([i.entries_scanned_in_filter for i in workload.instances.values()], dtype=float)
    squared = np.array(
        [i.entries_scanned_in_filter_squared for i in workload.instances.values()], dtype=float
    )
    queries = np.array([i.queries for i in workload.instances.values()], dtype=float)
    sampled = entries.sum()
    if sampled <= 0 and not of_leg.lost.any():
        return []
    succeeded = workload.entries_scanned_in_filter - workload.failed_entries_scanned_in_filter
    scale = succeeded / sampled if sampled > 0 else 0.0
    # Where literals are a sample, both sums are scaled to all queries of the shape.
    query_scale = (workload.queries - workload.failed) / max(queries.sum(), 1.0)
    rows: list[tuple[object, ...]] = []
    for position, alternative in enumerate(leg.alternatives):
        if not alternative:
            continue
        saved, lost = of_leg.ratios[:, position], of_leg.lost[:, position]
        rows.append(
            (
                workload.table,
                workload.shape_id,
                number,
                sorted(map(str, alternative)),
                float(saved @ entries) * scale - float(lost @ queries) * query_scale,
                float(saved**2 @ squared) * scale + float(lost**2 @ queries) * query_scale,
                float(saved @ squared) * scale,
                leg.is_complete,
            )
        )
    return rows
