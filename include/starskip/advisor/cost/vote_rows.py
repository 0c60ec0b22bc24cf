"""Saved shares of a disjunct's alternatives as VOTES: scaled to what the log observed, summed over queries.

``vote = observed_entries * (1 - L_with / L_without)``, whichever strategy computes L.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from starskip.advisor.families.index import Index
from starskip.advisor.workload.shape_workload import ShapeWorkload
from starskip.storage.schemas import VOTES

Ratios = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Saved:
    """Savings of one disjunct, [instances, alternatives].

    ``ratios``: share of the query's entries that is saved. ``lost``: entries that a query would read if it
    reads nothing today, such as a query that the present sorted column answers, after another sorting; there
    are no observed entries to scale. ``is_known``: by instance, whether its ratio is known; False for a query
    of which the simulated rows hold nothing, such as the hour that lies between two of them. It is taken to
    save what the others of its shape do. None: all are. ``priced``: the saved share of the time that the
    query takes to read all entries, in filter and post filter; None where only their number is known.
    """

    ratios: Ratios
    lost: Ratios
    is_known: npt.NDArray[np.bool_] | None = None
    priced: Ratios | None = None


def vote_rows(
    workload: ShapeWorkload,
    number: int,
    alternatives: Sequence[frozenset[Index]],
    saved: Saved,
    *,
    is_complete: bool,
) -> list[tuple[object, ...]]:
    """Return the rows of disjunct ``number`` of a shape, one for each alternative that is not empty.

    A query of weight w votes as w copies of it; squared sums take w twice (ShapeWorkload).
    """
    entries = np.array([i.estimated_entries for i in workload.instances.values()], dtype=float)
    squared = np.array([i.estimated_entries_squared for i in workload.instances.values()], dtype=float)
    queries = np.array([i.estimated_queries for i in workload.instances.values()], dtype=float)
    post_filter = np.array([i.estimated_post_filter for i in workload.instances.values()], dtype=float)
    if saved.is_known is not None:
        entries, squared = entries * saved.is_known, squared * saved.is_known
        post_filter = post_filter * saved.is_known
    sampled = entries.sum()
    weight = workload.weight
    if not weight or (sampled <= 0 and not saved.lost.any()):
        return []
    succeeded = workload.estimated_entries - workload.failed_entries_scanned_in_filter
    scale = succeeded / sampled if sampled > 0 else 0.0
    # Where literals are a sample, both sums are scaled to all queries of the shape.
    query_scale = (workload.estimated_queries - workload.failed) / max(queries.sum(), 1.0)
    rows: list[tuple[object, ...]] = []
    for position, alternative in enumerate(alternatives):
        if not alternative:
            continue
        ratios, lost = saved.ratios[:, position], saved.lost[:, position]
        fewer = float(ratios @ entries) * scale
        more = float(lost @ queries) * query_scale
        priced = fewer
        if saved.priced is not None:
            priced = float(saved.priced[:, position] @ (entries + post_filter)) * scale
        rows.append(
            (
                workload.table,
                workload.shape_id,
                number,
                sorted(map(str, alternative)),
                weight * (fewer - more),
                weight**2 * (float(ratios**2 @ squared) * scale + float(lost**2 @ queries) * query_scale),
                weight**2 * float(ratios @ squared) * scale,
                weight * (priced - more),
                is_complete,
            )
        )
    return rows


def votes_table(rows: Iterable[tuple[object, ...]]) -> pa.Table:
    """Return the rows as a table of schema VOTES."""
    columns = list(zip(*rows, strict=True)) or [()] * len(VOTES)
    arrays = [pa.array(list(column), item.type) for column, item in zip(columns, VOTES, strict=True)]
    return pa.table(arrays, schema=VOTES)
