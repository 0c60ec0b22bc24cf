"""Columns that queries filter on without a vote, each with the reason; and indexes that nobody needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from starskip.pinot.index_rules import serves
from starskip.scoring.structure import Structure
from starskip.selection.recommend import Refusal, Refused
from starskip.sql.predicate import Operator, leaves
from starskip.sql.query_shape import QueryShape
from starskip.tables.table_overview import TableOverview


@dataclass(slots=True)
class _Use:
    """How queries filter on a column: how many, and how many by a predicate that an inverted index serves."""

    queries: int = 0
    served_queries: int = 0
    operators: set[Operator] = field(default_factory=set)


def columns_without_votes(
    shapes: Iterable[tuple[QueryShape, int]],
    overview: TableOverview,
    voted: Collection[Structure],
    index_kind: str = "inverted",
) -> tuple[Refused, ...]:
    """Return a refusal for each filtered column that has no vote, by number of queries.

    ``shapes``: each shape with its number of queries.
    """
    voted_columns = {structure.column for structure in voted}
    uses = _uses(shapes, index_kind)
    return tuple(
        _refused(name, use, index_kind, *_why(name, use, overview, index_kind))
        for name, use in _most_asked_first(uses)
        if name not in voted_columns
    )


def without_segments(shapes: Iterable[tuple[QueryShape, int]]) -> tuple[Refused, ...]:
    """Return a refusal for each filtered column of a table that has no segments."""
    detail = "the table has no segments to read facts from"
    return tuple(
        _refused(name, use, "inverted", Refusal.NO_SEGMENTS, detail)
        for name, use in _most_asked_first(_uses(shapes, "inverted"))
    )


def unused_indexes(shapes: Iterable[tuple[QueryShape, int]], overview: TableOverview) -> tuple[str, ...]:
    """Return the columns whose inverted index exists and served no query, sorted."""
    uses = _uses(shapes, "inverted")
    return tuple(
        name
        for name in sorted(overview.inverted_index_columns)
        if name not in uses or not uses[name].served_queries
    )


def _most_asked_first(uses: Mapping[str, _Use]) -> list[tuple[str, _Use]]:
    return sorted(uses.items(), key=lambda item: (-item[1].queries, item[0]))


def _uses(shapes: Iterable[tuple[QueryShape, int]], index_kind: str) -> Mapping[str, _Use]:
    uses: dict[str, _Use] = {}
    for shape, queries in shapes:
        counted: set[tuple[str, bool]] = set()
        for leaf in leaves(shape.filter):
            for name in (leaf.column,) if leaf.column else leaf.columns:
                use = uses.setdefault(name, _Use())
                use.operators.add(leaf.operator)
                use.queries += queries if not {(name, True), (name, False)} & counted else 0
                is_served = serves(index_kind, leaf)
                use.served_queries += queries if is_served and (name, True) not in counted else 0
                counted.add((name, is_served))
    return uses


def _refused(name: str, use: _Use, index_kind: str, reason: Refusal, detail: str) -> Refused:
    return Refused(Structure(index_kind, name), reason, f"{detail}; {use.queries} queries filter on it")


def _why(name: str, use: _Use, overview: TableOverview, index_kind: str) -> tuple[Refusal, str]:
    column = overview.columns.get(name)
    if column is None:
        return Refusal.UNKNOWN_COLUMN, "no segment of the table has this column"
    if index_kind == "inverted" and name in overview.inverted_index_columns:
        return Refusal.ALREADY_INDEXED, "an inverted index on it is in force"
    if column.sorted_ratio == 1:
        return Refusal.ALREADY_SORTED, "it is sorted in every segment, which answers these predicates already"
    if column.dictionary_ratio == 0:
        return Refusal.NO_DICTIONARY, "it is stored without a dictionary, which the index needs"
    if index_kind == "sorted" and not column.is_single_value:
        return Refusal.MULTI_VALUE, "a table cannot be sorted by a multi-value column"
    if not use.served_queries:
        asked = ", ".join(sorted(operator.value for operator in use.operators))
        return Refusal.PREDICATE_NOT_SERVED, f"asked only by {asked}, which the index does not answer"
    return Refusal.SAVES_NOTHING, "its queries scanned no entries that an index would save"
