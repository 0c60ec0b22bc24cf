"""Columns that queries filter on without a vote, each with the reason; and indexes that answer queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from starskip.indexes.index import Structure
from starskip.pinot.index_rules import IndexRules
from starskip.selection.recommendation import Refusal, Refused
from starskip.sql.predicate import Operator, leaves
from starskip.sql.query_shape import QueryShape
from starskip.tables.table_overview import TableOverview

Uses = Iterable[tuple[QueryShape, int]]
"""Each shape with its number of queries."""


@dataclass(slots=True)
class _Use:
    """How queries filter on a column: how many, by what, and the kinds of index that would serve some."""

    queries: int = 0
    operators: set[Operator] = field(default_factory=set)
    serving_kinds: set[str] = field(default_factory=set)


def columns_without_votes(
    shapes: Uses,
    overview: TableOverview,
    voted: Collection[Structure],
    index_kinds: Sequence[str],
    rules: IndexRules,
) -> tuple[Refused, ...]:
    """Return a refusal for each filtered column that has no vote, by number of queries.

    ``index_kinds``: those that were considered; a refusal names the first of them.
    """
    voted_columns = {structure.column for structure in voted}
    uses = _uses(shapes, index_kinds, rules)
    return tuple(
        _refused(name, use, index_kinds[0], *_why(name, use, overview, index_kinds))
        for name, use in _most_asked_first(uses)
        if name not in voted_columns
    )


def without_segments(shapes: Uses, rules: IndexRules) -> tuple[Refused, ...]:
    """Return a refusal for each filtered column of a table that has no segments."""
    detail = "the table has no segments to read facts from"
    return tuple(
        _refused(name, use, "inverted", Refusal.NO_SEGMENTS, detail)
        for name, use in _most_asked_first(_uses(shapes, ["inverted"], rules))
    )


def without_enough_queries(
    shapes: Uses, index_kind: str, rules: IndexRules, queries: float, least: int
) -> tuple[Refused, ...]:
    """Return a refusal for each filtered column of a table that too few queries ask for any advice."""
    detail = (
        f"not enough data for this table: {queries:,.0f} queries may vote, at least {least:,} are asked for"
    )
    return tuple(
        _refused(name, use, index_kind, Refusal.NOT_ENOUGH_QUERIES, detail)
        for name, use in _most_asked_first(_uses(shapes, [index_kind], rules))
    )


def answering_indexes(
    shapes: Uses, indexes: Collection[Structure], rules: IndexRules
) -> frozenset[Structure]:
    """Return those of ``indexes`` that answer a predicate of some query."""
    asked = {leaf for shape, _ in shapes for leaf in leaves(shape.filter)}
    return frozenset(
        item
        for item in indexes
        if any(leaf.column == item.column and rules.serves(item.kind, leaf) for leaf in asked)
    )


def _most_asked_first(uses: Mapping[str, _Use]) -> list[tuple[str, _Use]]:
    return sorted(uses.items(), key=lambda item: (-item[1].queries, item[0]))


def _uses(shapes: Uses, index_kinds: Sequence[str], rules: IndexRules) -> Mapping[str, _Use]:
    uses: dict[str, _Use] = {}
    for shape, queries in shapes:
        counted: set[str] = set()
        for leaf in leaves(shape.filter):
            for name in (leaf.column,) if leaf.column else leaf.columns:
                use = uses.setdefault(name, _Use())
                use.operators.add(leaf.operator)
                use.serving_kinds.update(kind for kind in index_kinds if rules.serves(kind, leaf))
                use.queries += queries if name not in counted else 0
                counted.add(name)
    return uses


def _refused(name: str, use: _Use, index_kind: str, reason: Refusal, detail: str) -> Refused:
    return Refused(Structure(index_kind, name), reason, f"{detail}; {use.queries} queries filter on it")


def _why(name: str, use: _Use, overview: TableOverview, index_kinds: Sequence[str]) -> tuple[Refusal, str]:
    column = overview.columns.get(name)
    if column is None:
        return Refusal.UNKNOWN_COLUMN, "no segment of the table has this column"
    if not use.serving_kinds:
        asked = ", ".join(sorted(operator.value for operator in use.operators))
        return Refusal.PREDICATE_NOT_SERVED, f"asked only by {asked}, which the index does not answer"
    if "inverted" in use.serving_kinds and name in overview.inverted_index_columns:
        return Refusal.ALREADY_INDEXED, "an inverted index on it is in force"
    if "range" in use.serving_kinds and name in overview.range_index_columns:
        return Refusal.ALREADY_INDEXED, "a range index on it is in force"
    if column.sorted_ratio == 1:
        return Refusal.ALREADY_SORTED, "it is sorted in every segment, which answers these predicates already"
    if column.dictionary_ratio == 0:
        return Refusal.NO_DICTIONARY, "it is stored without a dictionary, which the index needs"
    if not column.is_single_value and "inverted" not in index_kinds:
        return Refusal.MULTI_VALUE, "no such index or order is built on a multi-value column"
    return Refusal.SAVES_NOTHING, "its queries scanned no entries that an index would save"
