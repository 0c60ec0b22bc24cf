"""Without a log: one query a column, from cardinalities."""

from __future__ import annotations

import pytest
from starskip.pinot.index_rules import IndexRules
from starskip.scoring.column_votes import column_votes
from starskip.scoring.structure import Structure, by_column
from starskip.tables.table_overview import ColumnOverview, TableOverview

TABLE = TableOverview(
    "t",
    1,
    1000,
    {
        "low": ColumnOverview("low", cardinality=2.0),
        "high": ColumnOverview("high", cardinality=100.0),
        "many": ColumnOverview("many", cardinality=20.0, entries_per_row=5.0, is_single_value=False),
        "order": ColumnOverview("order", cardinality=5.0, sorted_ratio=1.0),
        "indexed": ColumnOverview("indexed", cardinality=4.0),
        "unknown": ColumnOverview("unknown"),
    },
    frozenset({"indexed"}),
)
ALL = dict.fromkeys(TABLE.columns, 1.0)
INVERTED = by_column([Structure("inverted", name) for name in ("low", "high", "many", "unknown")])


def test_selectivity_and_values_a_row_decide() -> None:
    found = column_votes(TABLE, INVERTED, IndexRules(), ALL)
    # Entries read now: L + 1; behind the sort order and the index the share s of the other scan is left.
    read = {"low": 2.0, "high": 2.0, "many": 6.0, "order": 1 / 5, "indexed": 1 / 4, "unknown": 2.0}
    unit = 1e6 / sum(read.values())
    assert found.entries == pytest.approx({name: value * unit for name, value in read.items()})
    saved = {row["structures"][0]: row["saving_entries"] for row in found.votes.to_pylist()}
    # (1 - 1/S) of the other scan, and the column's own: 1, 1 and 5. No cardinality, no vote.
    expected = {"inverted:low": 1.5, "inverted:high": 1.99, "inverted:many": 5 + 0.75}
    by_order = {"sorted:": -(1 + 4 / 5)}
    assert saved == pytest.approx({name: value * unit for name, value in (expected | by_order).items()})


def test_weights_say_who_is_asked() -> None:
    found = column_votes(TABLE, INVERTED, IndexRules(), {"low": 3.0, "high": 1.0, "many": 0.0})
    assert found.entries == pytest.approx({"high": 250_000.0, "low": 750_000.0})
    saved = {row["structures"][0]: row["saving_entries"] for row in found.votes.to_pylist()}
    assert saved == pytest.approx({"inverted:high": 1.99 * 125_000, "inverted:low": 1.5 * 375_000})


def test_a_column_in_no_query_and_a_table_without_columns() -> None:
    assert column_votes(TABLE, INVERTED, IndexRules(), {}).entries == {}
    empty = TableOverview("t", 0, 0, {}, frozenset())
    assert len(column_votes(empty, {}, IndexRules(), {"a": 1.0}).votes) == 0
