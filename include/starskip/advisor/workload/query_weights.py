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
from dataclasses import dataclass, replace

import pyarrow as pa

from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes, workload_table
from starskip.errors import ConfigError, UnsupportedQuery, printable
from starskip.pinot.hybrid_tables import without_type
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape

_SETTING = "workload.query_weights"
_LARGEST = 1e9


@dataclass(frozen=True, slots=True)
class QueryWeights:
    """Weights by name of table and by id of shape; a table or shape without a weight counts 1."""

    by_name: Mapping[str, float]

    def weight_of(self, shape: ShapeWorkload) -> float:
        """Return the weight of a shape: its own times its table's, or that of both halves of the table."""
        of_both = self.by_name.get(without_type(shape.table)[0], 1.0)
        return self.by_name.get(shape.table, of_both) * self.by_name.get(shape.shape_id, 1.0)


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
    for name, weight in document.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight <= _LARGEST:
            raise _wrong(f"{printable(name, 80)} needs a weight from 0 to {_LARGEST:g}")
        weights[_named(name)] = float(weight)
    return QueryWeights(weights)


def weighted_shapes(batches: Iterable[pa.RecordBatch], weights: QueryWeights) -> Iterator[pa.RecordBatch]:
    """Return WORKLOAD rows with the weights of their shapes; the batches as they are without any weights."""
    for batch in batches:
        if weights.by_name:
            weighted = (replace(shape, weight=weights.weight_of(shape)) for shape in workload_shapes(batch))
            yield from workload_table(weighted).to_batches()
        else:
            yield batch


def _named(name: str) -> str:
    """Return the shape id of a query text, or the name itself."""
    cut = normalize_sql(name)
    try:
        return query_shape(cut.skeleton).shape_id
    except UnsupportedQuery as error:
        if error.reason == "not_a_select":
            return name
        raise _wrong(f"{printable(name, 80)}: {error}") from error


def _wrong(problem: str) -> ConfigError:
    return ConfigError(f"{_SETTING} {problem}", setting=_SETTING)
