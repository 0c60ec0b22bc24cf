"""Weights of queries: how often a query of a table or of one shape counts in advice.

``{"table or query": weight}``: a name of a table, the id of a shape, or any query text of the shape. "If
there are weights associated with queries, we can re-scale the delta for each vote": a query of weight w votes
as w copies of it would, and its scanned entries are scaled alike, so that ratios are of the weighted entries.
The counts and sums of the log do not change, and neither does who may vote: thresholds judge the query's own
entries.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache

import pyarrow as pa

from starskip.advisor.workload.known_names import NO_NAMES, KnownNames
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes, workload_table
from starskip.errors import ConfigError, UnsupportedQuery, printable
from starskip.pinot.hybrid_tables import without_type
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import parsed_shape
from starskip.sql.resolved_skeleton import QueryNames, resolved_skeleton
from starskip.sql.spelled_names import meant_table

_SETTING = "workload.query_weights"
_LARGEST = 1e9


@dataclass(frozen=True, slots=True)
class QueryWeights:
    """Weights by name of table or id of shape, and by query text; what has no weight counts 1."""

    by_name: Mapping[str, float]
    by_skeleton: Mapping[str, float] = field(default_factory=dict)

    def of_table(self, table: str, names: QueryNames) -> tuple[float, Mapping[str, float]]:
        """Return the weight of a table, or of both its halves, and those of its shapes by id."""
        either = {table, without_type(table)[0]}
        named = sorted(
            (name for name in self.by_name if meant_table(name, either)), key=lambda name: name != table
        )
        of_shapes = dict(self.by_name)
        for skeleton, weight in self.by_skeleton.items():
            with suppress(UnsupportedQuery):
                of_shapes[parsed_shape(resolved_skeleton(skeleton, names)[0]).shape_id] = weight
        return self.by_name[named[0]] if named else 1.0, of_shapes


def query_weights(text: str) -> QueryWeights:
    """Return the weights in JSON ``text``; empty text has none. Raises ConfigError naming the fault."""
    if not text.strip():
        return QueryWeights({})
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"is no JSON: {printable(str(error), 100)}") from error
    if not isinstance(document, dict):
        raise _wrong('must be an object such as {"table": 2, "SELECT …": 10}')
    weights: dict[str, float] = {}
    of_queries: dict[str, float] = {}
    for name, weight in document.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= _LARGEST:
            raise _wrong(f"{printable(name, 80)} needs a weight from 0 to {_LARGEST:g}")
        skeleton = _query(name)
        if skeleton is None:
            weights[name] = float(weight)
        else:
            of_queries[skeleton] = float(weight)
    return QueryWeights(weights, of_queries)


def weighted_shapes(
    batches: Iterable[pa.RecordBatch], weights: QueryWeights, names: KnownNames = NO_NAMES
) -> Iterator[pa.RecordBatch]:
    """Return WORKLOAD rows with the weights of their shapes; the batches as they are without any weights.

    ``names``: as in count_shapes.
    """

    @cache
    def of_table(table: str) -> tuple[float, Mapping[str, float]]:
        return weights.of_table(table, names.of(table))

    def weighted(shape: ShapeWorkload) -> ShapeWorkload:
        whole, of_shapes = of_table(shape.table)
        return replace(shape, weight=whole * of_shapes.get(shape.shape_id, 1.0))

    for batch in batches:
        if weights.by_name or weights.by_skeleton:
            yield from workload_table(map(weighted, workload_shapes(batch))).to_batches()
        else:
            yield batch


def _query(name: str) -> str | None:
    """Return the skeleton of a query text; None if ``name`` is none."""
    cut = normalize_sql(name)
    try:
        parsed_shape(cut.skeleton)
    except UnsupportedQuery as error:
        if error.reason == "not_a_select":
            return None
        raise _wrong(f"{printable(name, 80)}: {error}") from error
    return cut.skeleton


def _wrong(problem: str) -> ConfigError:
    return ConfigError(f"{_SETTING} {problem}", setting=_SETTING)
