"""Merge the logged Spark queries of a lake table over the nights of the look-back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pyarrow as pa

from starskip.advisor.run.night import Night
from starskip.advisor.workload.lake_queries import (
    LakeQuery,
    merged_lake_queries,
    predicate_hash,
    weighted_queries,
)
from starskip.errors import StorageError, StorageOutage, printable
from starskip.predicates.expression_json import expression_json

MAX_PREDICATES = 2_000
"""Distinct predicates of a table; others count in the denominator of savings only."""


@dataclass(frozen=True, slots=True)
class LakeShape:
    """A shape of predicates; ``queries`` weighted by age, ``bytes_read`` as logged."""

    shape_id: str
    skeleton: str
    queries: float = 0.0
    bytes_read: int = 0


@dataclass(frozen=True, slots=True)
class LakeWorkload:
    """Distinct predicates in descending order of weight; ``unweighed``: the weight of dropped ones."""

    queries: tuple[LakeQuery, ...] = ()
    unweighed: float = 0.0
    shapes: Mapping[str, LakeShape] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def fitted_and_judged(self) -> tuple[LakeWorkload, LakeWorkload]:
        """Split the workload: indexes are fitted to one part and judged by the other.

        Predicates that occurred more than once are in both parts, since they will recur. The other predicates
        of each shape, in the order of a hash, go to the two parts in turn; the judging part gets the weight
        of all.
        """
        fitted: list[LakeQuery] = []
        judged: list[LakeQuery] = []
        once: dict[str, list[LakeQuery]] = {}
        for query in self.queries:
            if query.times > 1:
                fitted.append(query)
                judged.append(query)
            else:
                once.setdefault(query.shape_id, []).append(query)
        for of_shape in once.values():
            of_shape.sort(key=lambda query: predicate_hash(expression_json(query.predicate)))
            judging = of_shape[::2]
            share = sum(query.weight for query in of_shape) / sum(query.weight for query in judging)
            fitted += of_shape[1::2]
            judged += (replace(query, weight=query.weight * share) for query in judging)
        return self._of(fitted), self._of(judged)

    def _of(self, queries: list[LakeQuery]) -> LakeWorkload:
        return replace(self, queries=tuple(sorted(queries, key=lambda query: -query.weight)))


def lake_workload(night: Night, table: str) -> LakeWorkload:
    """Return the workload of ``table``; each night counts ``look_back_decay_ratio`` of the next one.

    A night that cannot be read is left out with a warning.
    """
    found: dict[tuple[str, str], LakeQuery] = {}
    shapes: dict[str, LakeShape] = {}
    warnings: list[str] = []
    for age in range(night.settings.workload.look_back_nights):
        weight = night.settings.workload.look_back_decay_ratio**age
        if weight <= 0:
            break
        day = (night.run_date - timedelta(days=age)).isoformat()
        try:
            rows = _rows(night, table, day)
        except StorageOutage:
            raise
        except (StorageError, pa.ArrowInvalid, KeyError, TypeError) as error:
            warnings.append(printable(f"table {table}: Spark's queries of {day} cannot be read: {error}"))
            continue
        for row in rows:
            _add_shape(shapes, row, weight)
            _add_queries(found, row, weight, night.settings.workload.instances_per_shape)
    ordered = sorted(found.values(), key=lambda query: -query.weight)
    unweighed = sum(shape.queries for shape in shapes.values()) - sum(
        query.weight for query in ordered[:MAX_PREDICATES]
    )
    return LakeWorkload(tuple(ordered[:MAX_PREDICATES]), max(unweighed, 0.0), shapes, tuple(warnings))


def _rows(night: Night, table: str, day: str) -> Sequence[Mapping[str, Any]]:
    snapshot = night.store.snapshot("lake_queries", day)
    if snapshot is None or table not in snapshot.tables:
        return []
    rows: list[dict[str, Any]] = merged_lake_queries([snapshot.read_table([table])]).to_pylist()
    return [row for row in rows if row["table"] == table]


def _add_shape(shapes: dict[str, LakeShape], row: Mapping[str, Any], weight: float) -> None:
    shape = shapes.get(row["shape_id"], LakeShape(row["shape_id"], row["skeleton"]))
    shapes[row["shape_id"]] = replace(
        shape,
        queries=shape.queries + weight * row["queries"],
        bytes_read=shape.bytes_read + row["bytes_read"],
    )


def _add_queries(
    found: dict[tuple[str, str], LakeQuery], row: Mapping[str, Any], weight: float, instances: int
) -> None:
    for query in weighted_queries(row, instances):
        key = query.shape_id, expression_json(query.predicate)
        former = found.get(key, replace(query, weight=0.0, times=0))
        found[key] = replace(
            former, weight=former.weight + weight * query.weight, times=former.times + query.times
        )
