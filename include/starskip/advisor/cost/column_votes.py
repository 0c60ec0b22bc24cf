"""Votes without a log: from cardinalities alone, each column queried as often as its weight says.

The comments of Automated Inverted Index Recommendation ask for it ("suggest inverted indices purely based on
the cardinality of each column"). A query of column c is assumed to ask ``c = v AND`` one more scan of an
entry a row, so that selectivity counts. It reads ``L + 1`` entries a row, and an index on c saves ``(1 - 1/S)
+ L`` (III.2), except for the share of the rows where an index or the sort order answers c already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from starskip.advisor.cost.alternatives import SORTED_BY_ANOTHER, Candidates
from starskip.advisor.cost.parser_selectivity import equality_ratio
from starskip.advisor.cost.vote_rows import votes_table
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.families.index import Index
from starskip.sql.predicate import Leaf, Operator
from starskip.tables.table_overview import ColumnOverview, TableOverview

_UNITS = 1_000_000
"""Entries of all queries together: only shares matter, and rounding to whole numbers must not lose them."""


@dataclass(frozen=True, slots=True)
class ColumnVotes:
    """VOTES of one table, and by column the entries that its queries read."""

    votes: pa.Table
    entries: Mapping[str, float]


def column_votes(
    table: TableOverview, candidates: Candidates, rules: AccessRules, weights: Mapping[str, float]
) -> ColumnVotes:
    """Return the votes of one query for each column; ``weights``: how often each column is queried.

    Columns without a weight are not queried. The shape of a column's query is called ``column:`` and its
    name. Indexes vote on its disjunct 0, sort orders on disjunct 1. No vote is more than the entries of its
    column.
    """
    asked = [table.columns[name] for name in sorted(weights) if name in table.columns and weights[name] > 0]
    queries = {column.name: _entries_of_query(column, table, rules) for column in asked}
    unit = _UNITS / max(sum(weights[name] * query.read for name, query in queries.items()), 1e-12)
    entries = {name: weights[name] * unit * query.read for name, query in queries.items()}
    rows: list[tuple[object, ...]] = []
    for column in asked:
        for disjunct, index, saved in _votes(column, candidates, rules, queries[column.name]):
            vote = min(weights[column.name] * unit * saved, entries[column.name])
            squares = (vote**2, vote * entries[column.name])
            name = f"column:{column.name}"
            rows.append((table.table, name, disjunct, [str(index)], vote, *squares, vote, False))
    return ColumnVotes(votes_table(rows), entries)


@dataclass(frozen=True, slots=True)
class _QueryEntries:
    """Entries a row of a column's query: read now, saved by one more index, lost with the sort order."""

    read: float
    saved: float
    lost: float


def _entries_of_query(column: ColumnOverview, table: TableOverview, rules: AccessRules) -> _QueryEntries:
    leaf = Leaf(Operator.EQUAL, column.name)
    is_indexed = any(
        column.name in names and rules.serves(kind, leaf) for kind, names in table.in_force.items()
    )
    saved_by_index = 1.0 - equality_ratio(column, 1, negated=False) + column.entries_per_row
    answered = 1.0 if is_indexed else column.sorted_ratio
    is_lost = not is_indexed and (column.cardinality or 1.0) > 1
    return _QueryEntries(
        read=1.0 + column.entries_per_row - answered * saved_by_index,
        saved=(1.0 - answered) * saved_by_index if column.cardinality else 0.0,
        lost=column.sorted_ratio * saved_by_index if is_lost else 0.0,
    )


def _votes(
    column: ColumnOverview, candidates: Candidates, rules: AccessRules, entries: _QueryEntries
) -> Iterator[tuple[int, Index, float]]:
    """Yield disjunct, index and saved entries a row for each vote of a column's query."""
    leaf = Leaf(Operator.EQUAL, column.name)
    order = [family.name for family in rules.families]
    built = sorted(
        (item for item in candidates.get(column.name, ()) if item.dropped is None),
        key=lambda item: order.index(item.family),
    )
    serving = [item for item in built if rules.serves(item.family, leaf)] if entries.saved > 0 else []
    # Where a range index answers = as well, an inverted index reads no more: the first is enough.
    yield from ((0, item, entries.saved) for item in [s for s in serving if not rules.reorders(s.family)][:1])
    yield from ((1, item, entries.saved) for item in serving if rules.reorders(item.family))
    if entries.lost > 0:
        yield 1, SORTED_BY_ANOTHER, -entries.lost
