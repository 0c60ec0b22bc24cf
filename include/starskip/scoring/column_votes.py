"""Votes without a log: from cardinalities alone, each column queried as often as its weight says.

Seed 000, comments ("suggest inverted indices purely based on the cardinality of each column"). A query of
column c is taken to ask ``c = v AND`` one more scan of a row each, so that selectivity counts: it reads
``L + 1`` entries a row, and an index on c saves what III.2 gives, ``(1 - 1/S) + L``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from starskip.pinot.index_rules import IndexRules
from starskip.scoring.alternatives import SORTED_BY_ANOTHER, Candidates
from starskip.scoring.parser_selectivity import equality_ratio
from starskip.scoring.structure import Structure
from starskip.scoring.vote_rows import votes_table
from starskip.sql.predicate import Leaf, Operator
from starskip.tables.table_overview import ColumnOverview, TableOverview

_UNITS = 1_000_000
"""Entries of all queries together: shares matter alone, and whole numbers must not round them away."""


@dataclass(frozen=True, slots=True)
class ColumnVotes:
    """VOTES of one table, and by column the entries that its queries read."""

    votes: pa.Table
    entries: Mapping[str, float]


def column_votes(
    table: TableOverview, candidates: Candidates, rules: IndexRules, weights: Mapping[str, float]
) -> ColumnVotes:
    """Return the votes of one query a column; ``weights``: how often each is asked, by column.

    Columns without a weight are not asked. The shape of a column's query is called ``column:`` and its name.
    """
    asked = [table.columns[name] for name in sorted(weights) if name in table.columns and weights[name] > 0]
    read = {c.name: weights[c.name] * _read_now(c, table, rules) for c in asked}
    unit = _UNITS / max(sum(read.values()), 1e-12)
    rows: list[tuple[object, ...]] = []
    for column in asked:
        saved = weights[column.name] * unit * _saved_by_index(column)
        leaf = Leaf(Operator.EQUAL, column.name)
        voted: list[tuple[Structure, float]] = [
            (structure, saved)
            for structure in candidates.get(column.name, ())
            if structure.removed is None and rules.serves(structure.kind, leaf) and column.cardinality
        ]
        if column.sorted_ratio == 1 and (column.cardinality or 1.0) > 1:
            voted = [(SORTED_BY_ANOTHER, -saved)]
        entries = read[column.name] * unit
        rows.extend(
            (table.table, f"column:{column.name}", 0, [str(item)], vote, vote**2, vote * entries, False)
            for item, vote in voted
        )
    return ColumnVotes(votes_table(rows), {name: value * unit for name, value in read.items()})


def _saved_by_index(column: ColumnOverview) -> float:
    return 1.0 - equality_ratio(column, 1, negated=False) + column.entries_per_row


def _read_now(column: ColumnOverview, table: TableOverview, rules: IndexRules) -> float:
    leaf = Leaf(Operator.EQUAL, column.name)
    in_force = {"inverted": table.inverted_index_columns, "range": table.range_index_columns}
    is_indexed = any(column.name in names and rules.serves(kind, leaf) for kind, names in in_force.items())
    answered = 1.0 if is_indexed else column.sorted_ratio
    return 1.0 + column.entries_per_row - answered * _saved_by_index(column)
