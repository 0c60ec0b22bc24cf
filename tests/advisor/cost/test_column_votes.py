"""Without a log: one query a column, from cardinalities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.cost.column_votes import column_votes
from starskip.advisor.families.access_rules import AccessRules, access_rules
from starskip.advisor.families.index import Index, by_column, drop_of
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
    {"inverted": frozenset({"indexed"})},
)
ALL = dict.fromkeys(TABLE.columns, 1.0)
INVERTED = by_column([Index("inverted", name) for name in ("low", "high", "many", "unknown")])


def test_selectivity_and_values_a_row_decide() -> None:
    found = column_votes(TABLE, INVERTED, AccessRules(), ALL)
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
    found = column_votes(TABLE, INVERTED, AccessRules(), {"low": 3.0, "high": 1.0, "many": 0.0})
    assert found.entries == pytest.approx({"high": 250_000.0, "low": 750_000.0})
    saved = {row["structures"][0]: row["saving_entries"] for row in found.votes.to_pylist()}
    assert saved == pytest.approx({"inverted:high": 1.99 * 125_000, "inverted:low": 1.5 * 375_000})


def test_a_column_in_no_query_and_a_table_without_columns() -> None:
    assert column_votes(TABLE, INVERTED, AccessRules(), {}).entries == {}
    empty = TableOverview("t", 0, 0, {})
    assert len(column_votes(empty, {}, AccessRules(), {"a": 1.0}).votes) == 0


COLUMNS = st.builds(
    ColumnOverview,
    st.just("a"),
    cardinality=st.none() | st.floats(1, 1e4) | st.floats(1, 1e19),
    entries_per_row=st.floats(1, 50),
    is_single_value=st.booleans(),
    sorted_ratio=st.sampled_from([0.0, 0.1, 0.5, 0.99, 1.0]),
)
OTHER = ColumnOverview("b", cardinality=7.0)


def guessed(column: ColumnOverview, *in_force: str, version: str = "0.11", weight: float = 1.0) -> Any:
    of_kind = {kind: frozenset("a" if kind in in_force else ()) for kind in ("inverted", "range")}
    table = TableOverview("t", 1, 1000, {"a": column, "b": OTHER}, of_kind)
    indexes = [Index(kind, name) for kind in ("inverted", "range", "sorted") for name in "ab"]
    candidates = by_column([*indexes, drop_of(Index("inverted", "a"))])
    return column_votes(table, candidates, access_rules(version), {"a": weight, "b": 1.0})


def saved(votes: Any) -> dict[str, float]:
    return {row["structures"][0]: row["saving_entries"] for row in votes.votes.to_pylist()}


@given(
    COLUMNS,
    st.sets(st.sampled_from(["inverted", "range"])),
    st.sampled_from(["0.3", "0.11", "1.2"]),
    st.floats(1e-9, 1e9),
)
def test_no_vote_is_more_than_the_entries(
    column: ColumnOverview, in_force: set[str], version: str, weight: float
) -> None:
    found = guessed(column, *in_force, version=version, weight=weight)
    rows = found.votes.to_pylist()
    assert all(
        row["saving_entries"] <= found.entries[row["shape_id"].removeprefix("column:")] for row in rows
    )
    assert all((row["leg"] == 1) == row["structures"][0].startswith("sorted:") for row in rows)


@given(COLUMNS)
def test_a_vote_is_what_is_read_now_less_what_is_read_with_the_index(column: ColumnOverview) -> None:
    before, after = guessed(column), guessed(column, "inverted")
    read_now, read_then = (found.entries["a"] / found.entries["b"] for found in (before, after))
    vote = saved(before).get("inverted:a", 0.0) / before.entries["b"]
    if column.cardinality is not None:
        assert vote == pytest.approx(read_now - read_then, abs=1e-9)
    assert "inverted:a" not in saved(after)


@pytest.mark.parametrize("sorted_ratio", [0.0, 0.5, 0.9])
def test_what_the_order_answers_an_index_does_not_save_again(sorted_ratio: float) -> None:
    found = saved(guessed(ColumnOverview("a", cardinality=10.0, sorted_ratio=sorted_ratio)))
    assert found["sorted:a"] == found["inverted:a"]
    # Of 1.9 entries a row that an index would save, the order saves its share and loses it with another one.
    assert -found.get("sorted:", 0.0) == pytest.approx(
        found["inverted:a"] * sorted_ratio / (1 - sorted_ratio)
    )


def test_an_index_takes_the_order_its_worth() -> None:
    ordered = ColumnOverview("a", cardinality=10.0, sorted_ratio=1.0)
    assert "sorted:" in saved(guessed(ordered))
    assert "sorted:" not in saved(guessed(ordered, "inverted"))


def test_from_1_0_on_a_range_index_answers_an_equality_and_an_inverted_one_is_taken() -> None:
    column = ColumnOverview("a", cardinality=1000.0)
    for version in ("0.11", "1.2"):
        assert {name for name in saved(guessed(column, version=version)) if name.endswith(":a")} == {
            "inverted:a",
            "sorted:a",
        }
    found = guessed(column, "range", version="1.2")
    assert [name for name in saved(found) if name.endswith(":a")] == []
    raw = replace(column, dictionary_ratio=0.0)
    table = TableOverview("t", 1, 1000, {"a": raw})
    by_range = column_votes(table, by_column([Index("range", "a")]), access_rules("1.2"), {"a": 1.0})
    assert list(saved(by_range)) == ["range:a"]
