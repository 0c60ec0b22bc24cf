"""Predict the reads of a star-tree by a version of Pinot for one query text."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlglot import exp

from starskip.advisor.families.star_tree.recommend.pinot_aggregation import PinotQuery, pinot_query
from starskip.advisor.families.star_tree.recommend.tree_read import TreeRead
from starskip.errors import UnsupportedQuery, printable
from starskip.pinot.star_tree_filter import NotServed
from starskip.pinot.star_tree_matching import Pair, SegmentColumns, TreePart, tree_parts
from starskip.pinot.star_tree_rules import StarTreeRules
from starskip.star_tree.function_column_pair import AggregationFunction, FunctionColumnPair
from starskip.star_tree.query.conjuncts import conjuncts


@dataclass(frozen=True, slots=True)
class PinotReads:
    """``pairs`` and ``dimensions`` that a tree must have, and a read for each FILTER of the query.

    ``columns_projected``: the columns whose entries Pinot counts post filter, for each document scanned.
    """

    pairs: tuple[FunctionColumnPair, ...]
    dimensions: tuple[str, ...]
    reads: tuple[TreeRead, ...]
    columns_projected: int


def pinot_reads(
    sql: str, columns: Collection[str], facts: SegmentColumns, rules: StarTreeRules
) -> PinotReads | NotServed:
    """Return the reads of a tree by ``sql`` in a Pinot of ``rules``, or why Pinot uses no tree.

    ``columns``: the columns of the table. Raises UnsupportedQuery unless ``sql`` is one SELECT of one table.
    """
    query = pinot_query(sql, columns)
    parts = tree_parts(query.aggregation, rules, facts)
    if isinstance(parts, NotServed):
        return parts
    pairs: dict[FunctionColumnPair, None] = {}
    for pair in (pair for part in parts for pair in part.pairs):
        kept = _kept(pair)
        if kept is None:
            return NotServed("function", f"no star-tree of Starskip's keeps {printable(pair[0], 60)}")
        pairs[kept] = None
    dimensions = dict.fromkeys(
        name for part in parts for name in (*part.predicate_columns, *part.group_by_columns)
    )
    try:
        reads = tuple(_read(query, part) for part in parts)
    except UnsupportedQuery as error:
        return NotServed(error.reason, str(error))
    projected = len(query.aggregation.group_by_columns) + len(parts[0].pairs)
    return PinotReads(tuple(pairs), tuple(dimensions), reads, projected)


def _kept(pair: Pair) -> FunctionColumnPair | None:
    function, column = pair
    if function not in AggregationFunction.__members__:
        return None
    return FunctionColumnPair(AggregationFunction(function), column)


def _read(query: PinotQuery, part: TreePart) -> TreeRead:
    filters = [query.where] if query.where is not None else []
    if part.condition is not None:
        filters.append(query.conditions[part.condition])
    joined: list[exp.Expr] = [exp.paren(each) for each in filters]
    found = conjuncts(exp.and_(*joined)) if joined else ()
    return TreeRead(found, part.group_by_columns)
