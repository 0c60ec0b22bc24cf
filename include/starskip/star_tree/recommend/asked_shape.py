"""Query shapes of a workload as star-trees see them: what they ask of a tree, what one would save them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import pyarrow as pa

from starskip.errors import ConfigError, UnsupportedQuery, printable
from starskip.star_tree.aggregation_query import AggregationQuery, aggregation_query
from starskip.star_tree.function_column_pair import AggregationFunction, FunctionColumnPair
from starskip.star_tree.query.tree_demand import tree_demand
from starskip.star_tree.recommend.cuboids import Dimensions
from starskip.star_tree.star_tree_config import StarTreeConfig
from starskip.star_tree.validate_config import validate_config

_COUNT = FunctionColumnPair(AggregationFunction.COUNT, "*")


@dataclass(frozen=True, slots=True)
class AskedShape:
    """All queries of one shape: how many, the entries that they scan together, and some of their texts.

    ``examples``: a text with how many queries it stands for; at least one.
    """

    shape_id: str
    queries: float
    entries_scanned: float
    examples: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class AnswerableShape:
    """A shape that a tree of ``dimensions`` and ``pairs`` answers.

    ``examples``: parsed, each with its share of the shape's queries. ``columns_read``: what a document costs
    in entries, one for each column that the query touches of it.
    """

    shape_id: str
    queries: float
    entries_scanned: float
    dimensions: Dimensions
    pairs: tuple[FunctionColumnPair, ...]
    examples: tuple[tuple[AggregationQuery, float], ...]
    columns_read: int

    @property
    def needs_sketch(self) -> bool:
        """Whether some aggregation is approximate."""
        return any(measure.kind.is_sketch for pair in self.pairs for measure in pair.measures)

    def saving_entries(self, documents_read: float) -> float:
        """Return the entries saved if each query reads so many documents; negative if that is more."""
        return self.entries_scanned - self.queries * documents_read * self.columns_read


@dataclass(frozen=True, slots=True)
class UnanswerableShape:
    """A shape that no tree answers: ``reason`` is a code, ``detail`` says why."""

    shape_id: str
    queries: float
    reason: str
    detail: str


def answerable_shape(
    asked: AskedShape, types: Mapping[str, pa.DataType], multi_value: Collection[str], table: str
) -> AnswerableShape | UnanswerableShape:
    """Return what ``asked`` needs of a tree, or why there is none; ``types`` has the table's columns."""
    try:
        parsed = [(aggregation_query(sql, "pinot", types), weight) for sql, weight in asked.examples]
    except UnsupportedQuery as error:
        return UnanswerableShape(asked.shape_id, asked.queries, error.reason, str(error))
    query = parsed[0][0]
    demand = tree_demand(query)
    found = dict.fromkeys(FunctionColumnPair(call.function, call.column) for call in query.aggregates)
    pairs = tuple(found) or (_COUNT,)
    columns = {*demand.predicate_columns, *demand.group_by_columns, *(pair.column for pair in pairs)}
    several = sorted(columns & set(multi_value))
    if several:
        detail = f"column {printable(several[0], 60)} is multi-value, which nothing of a star-tree can be"
        return UnanswerableShape(asked.shape_id, asked.queries, "multi_value", detail)
    dimensions = (*dict.fromkeys((*demand.predicate_columns, *demand.group_by_columns)),)
    try:
        # A tree needs some dimension; which one does not matter to what is checked here.
        validate_config(StarTreeConfig(dimensions or (next(iter(types)),), pairs), types, table=table)
    except ConfigError as error:
        return UnanswerableShape(asked.shape_id, asked.queries, "config", str(error))
    total = sum(weight for _, weight in parsed)
    return AnswerableShape(
        shape_id=asked.shape_id,
        queries=asked.queries,
        entries_scanned=asked.entries_scanned,
        dimensions=frozenset(dimensions),
        pairs=pairs,
        examples=tuple((query, weight / total) for query, weight in parsed),
        columns_read=len(dimensions) + len(demand.measures),
    )
