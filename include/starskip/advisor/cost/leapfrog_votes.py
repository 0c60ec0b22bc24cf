"""Strategy leapfrog: the entries that each shape would have saved under each set of indexes.

``vote = observed_entries * (1 - L_with / L_without)``, L from filter_cost summed over the sampled segments
and scaled to the table's rows; 0 where L_without is 0. Scaling by the observed entries cancels what the model
does not know, such as segments that the broker pruned.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from starskip.advisor.cost.alternatives import Candidates, DisjunctAlternatives, disjunct_alternatives
from starskip.advisor.cost.entry_prices import POST_FILTER_NS, PROJECTED_ROW_NS
from starskip.advisor.cost.vote_rows import Ratios, Saved, vote_rows, votes_table
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.query_shape import parsed_shape

_Estimate = tuple[int, int, list[float], list[float], float]
"""A row of ESTIMATES without its table and shape."""


def leapfrog_votes(
    shapes: Sequence[ShapeWorkload],
    estimates: pa.Table,
    candidates: Candidates,
    rules: AccessRules,
) -> pa.Table:
    """Return VOTES of ``shapes``, all of one table, from its ESTIMATES summed over segments."""
    found: dict[tuple[str, str], list[_Estimate]] = {}
    for row in zip(*(column.to_pylist() for column in estimates.columns), strict=True):
        found.setdefault((row[0], row[1]), []).append(row[2:])
    rows: list[tuple[object, ...]] = []
    for workload in shapes:
        disjuncts = disjunct_alternatives(parsed_shape(workload.skeleton), candidates, rules)
        saved = _saved(
            list(workload.instances.values()), disjuncts, found.get((workload.table, workload.shape_id), [])
        )
        for number, disjunct in enumerate(disjuncts):
            rows.extend(
                vote_rows(
                    workload, number, disjunct.alternatives, saved[number], is_complete=disjunct.is_complete
                )
            )
    return votes_table(rows)


def _saved(
    instances: list[Instance], disjuncts: Sequence[DisjunctAlternatives], estimates: list[_Estimate]
) -> list[Saved]:
    read = [np.zeros((len(instances), len(disjunct.alternatives))) for disjunct in disjuncts]
    ns = [np.zeros_like(of_disjunct) for of_disjunct in read]
    for number, instance, entries, costs, simulated_ratio in estimates:
        # Each instance is simulated on segments of its own; the log's counters are of the whole table.
        read[number][instance] = np.multiply(entries, 1.0 / simulated_ratio)
        ns[number][instance] = np.multiply(costs, 1.0 / simulated_ratio)
    behind = np.array([_post_filter_ns(instance) for instance in instances])
    saved_by_disjunct = []
    for disjunct, with_indexes, with_ns in zip(disjuncts, read, ns, strict=True):
        without = _present(disjuncts, read, disjunct.reorders)
        reads = without[:, None] > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            saved = (with_indexes[:, :1] - with_indexes) / without[:, None]
            whole_ns = _present(disjuncts, ns, disjunct.reorders) + behind
            priced = (with_ns[:, :1] - with_ns) / whole_ns[:, None]
        lost = np.where(reads, 0.0, with_indexes)
        ratios = np.where(reads, saved, 0.0)
        saved_by_disjunct.append(Saved(ratios, lost, without > 0, np.where(reads, priced, 0.0)))
    return saved_by_disjunct


def _present(disjuncts: Sequence[DisjunctAlternatives], read: Sequence[Ratios], reorders: bool) -> Ratios:
    """Return what all disjuncts read today; those of the sort orders repeat those of the indexes."""
    today = np.zeros(len(read[0]) if read else 0)
    for each, of_disjunct in zip(disjuncts, read, strict=True):
        if each.reorders is reorders:
            today = today + of_disjunct[:, 0]
    return today


def _post_filter_ns(instance: Instance) -> float:
    """Return the nanoseconds that a query takes behind its filter."""
    entries = instance.entries_scanned_post_filter
    rows = instance.rows_scanned if entries else 0
    return (POST_FILTER_NS * entries + PROJECTED_ROW_NS * rows) / max(instance.queries, 1)
