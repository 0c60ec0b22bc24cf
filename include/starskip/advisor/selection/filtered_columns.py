"""Columns that queries filter on without a vote, each with the reason; and indexes that answer queries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.family import Family
from starskip.advisor.families.index import Index
from starskip.advisor.families.verdict import Reason, Verdict, reason_of, refused
from starskip.sql.predicate import Operator, leaves
from starskip.sql.query_shape import QueryShape
from starskip.tables.table_overview import TableOverview

Uses = Iterable[tuple[QueryShape, int]]
"""Each shape with its number of queries."""


@dataclass(slots=True)
class _Use:
    """Filters on a column: number of queries, operators, and the families that would serve some.

    ``pruning``: families that would leave segments out by some. ``skips``: whether some query does without an
    index on it.
    """

    queries: int = 0
    operators: set[Operator] = field(default_factory=set)
    serving: set[str] = field(default_factory=set)
    pruning: set[str] = field(default_factory=set)
    skips: bool = False


def columns_without_votes(
    shapes: Uses,
    overview: TableOverview,
    voted: Collection[Index],
    families: Sequence[Family],
    rules: AccessRules,
) -> tuple[Verdict, ...]:
    """Return a refusal for each filtered column that has no vote, by number of queries.

    ``families``: the considered families; a refusal names the first of them.
    """
    voted_columns = {index.column for index in voted}
    uses = _uses(shapes, families, rules)
    return tuple(
        _refused(name, use, families[0], *_why(name, use, overview, families))
        for name, use in _most_asked_first(uses)
        if name not in voted_columns
    )


def breaking_config_rules(
    shapes: Uses, overview: TableOverview, families: Sequence[Family], rules: AccessRules
) -> tuple[Verdict, ...]:
    """Return a refusal for each index that would answer queries, and that the table config must not have."""
    uses = _uses(shapes, families, rules)
    return tuple(
        _refused(name, use, family, Reason.BREAKS_CONFIG_RULE, why)
        for name, use in _most_asked_first(uses)
        for family in families
        if family.name in use.serving
        and family.path is not None
        and (why := overview.barred.get(family.name, {}).get(name))
        and overview.columns[name].sorted_ratio < 1
        and family.path.obstacle(overview.columns[name]) is None
    )


def without_segments(shapes: Uses, family: Family, rules: AccessRules) -> tuple[Verdict, ...]:
    """Return a refusal for each filtered column of a table that has no segments."""
    detail = "the table has no segments to read facts from"
    return tuple(
        _refused(name, use, family, Reason.NO_SEGMENTS, detail)
        for name, use in _most_asked_first(_uses(shapes, [family], rules))
    )


def without_enough_queries(
    shapes: Uses, family: Family, rules: AccessRules, queries: float, least: int
) -> tuple[Verdict, ...]:
    """Return a refusal for each filtered column of a table with too few queries for any advice."""
    detail = (
        f"not enough data for this table: {queries:,.0f} queries may vote, at least {least:,} are asked for"
    )
    return tuple(
        _refused(name, use, family, Reason.NOT_ENOUGH_QUERIES, detail)
        for name, use in _most_asked_first(_uses(shapes, [family], rules))
    )


def answering_indexes(shapes: Uses, indexes: Collection[Index], rules: AccessRules) -> frozenset[Index]:
    """Return the ``indexes`` that answer a predicate of some query."""
    asked = {leaf for shape, _ in shapes for leaf in leaves(shape.filter)}
    return frozenset(
        item
        for item in indexes
        if any(leaf.column == item.column and rules.helps(item.family, leaf) for leaf in asked)
    )


def _most_asked_first(uses: Mapping[str, _Use]) -> list[tuple[str, _Use]]:
    return sorted(uses.items(), key=lambda item: (-item[1].queries, item[0]))


def _uses(shapes: Uses, families: Sequence[Family], rules: AccessRules) -> Mapping[str, _Use]:
    uses: dict[str, _Use] = {}
    for shape, queries in shapes:
        counted: set[str] = set()
        for leaf in leaves(shape.filter):
            for name in (leaf.column,) if leaf.column else leaf.columns:
                use = uses.setdefault(name, _Use())
                use.operators.add(leaf.operator)
                use.skips |= bool(leaf.skipped_indexes)
                use.serving.update(family.name for family in families if rules.serves(family.name, leaf))
                use.pruning.update(family.name for family in families if rules.prunes(family.name, leaf))
                use.queries += queries if name not in counted else 0
                counted.add(name)
    return uses


def _refused(name: str, use: _Use, family: Family, reason: Reason | str, detail: str) -> Verdict:
    return refused(Index(family.name, name), reason, f"{detail}; {_filtering(use.queries)}")


def _why(
    name: str, use: _Use, overview: TableOverview, families: Sequence[Family]
) -> tuple[Reason | str, str]:
    column = overview.columns.get(name)
    if column is None:
        return Reason.UNKNOWN_COLUMN, "no segment of the table has this column"
    serving = [family for family in families if family.name in use.serving]
    serving = serving or [family for family in families if family.name in use.pruning]
    if not serving:
        asked = ", ".join(sorted(operator.value for operator in use.operators))
        skipping = ", or with skipIndexes" if use.skips else ""
        return (
            Reason.PREDICATE_NOT_SERVED,
            f"asked only by {asked}, which the index does not answer{skipping}",
        )
    for family in serving:
        if name in overview.indexed(family.name):
            return Reason.ALREADY_INDEXED, f"{family.singular} on it is in force"
    if column.sorted_ratio == 1:
        return Reason.ALREADY_SORTED, "it is sorted in every segment, which answers these predicates already"
    obstacles = [family.path.obstacle(column) for family in serving if family.path is not None]
    if obstacles[0] is not None and all(obstacles):
        return reason_of(obstacles[0].reason), obstacles[0].detail
    return Reason.SAVES_NOTHING, "its queries scanned no entries that an index would save"


def _filtering(queries: int) -> str:
    return "1 query filters on it" if queries == 1 else f"{queries} queries filter on it"
