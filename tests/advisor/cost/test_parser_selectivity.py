"""Parser scoring by the table of selectivities, worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from index_choice import in_force
from starskip.advisor.cost.parser_selectivity import SORTED_ORDER, best_keys, parser_keys, surviving_ratio
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.tables.table_overview import ColumnOverview, TableOverview

COLUMNS = [
    ColumnOverview("n10", cardinality=10.0),
    ColumnOverview("n100", cardinality=100.0),
    ColumnOverview("n4", cardinality=4.0),
    ColumnOverview("one", cardinality=1.0),
    ColumnOverview("half", cardinality=10.0, sorted_ratio=0.5),
    ColumnOverview("ordered", cardinality=10.0, sorted_ratio=1.0),
    ColumnOverview("indexed", cardinality=10.0),
    ColumnOverview("raw", cardinality=None, dictionary_ratio=0.0),
    ColumnOverview("many", cardinality=8.0, entries_per_row=4.0, is_single_value=False),
]
TABLE = TableOverview("t", 2, 1000, {c.name: c for c in COLUMNS}, in_force({"indexed"}))


def keys_of(where: str, **options: int) -> list[tuple[str, float]]:
    cut = normalize_sql(f"select count(*) from t where {where}")
    found = parser_keys(query_shape(cut.skeleton).filter, cut.literals, TABLE, **options)
    return [("+".join(sorted(key.columns)), pytest.approx(key.surviving_ratio)) for key in found]


@pytest.mark.parametrize(
    ("where", "keys"),
    [
        # c = v and c IN (k): min(1, k / n), k distinct
        ("n10 = 'x'", [("n10", 0.1)]),
        ("n10 in ('x', 'y', 'x')", [("n10", 0.2)]),
        ("n10 = 'x' or n10 = 'y'", [("n10", 0.2)]),
        ("n4 in (1, 2, 3, 4, 5)", []),
        # c <> v and NOT IN: 1 - the above
        ("n10 <> 'x'", [("n10", 0.9)]),
        ("n10 not in (1, 2, 3)", [("n10", 0.7)]),
        # no key: ranges, LIKE, functions, IS NULL, NOT around a scan
        ("n10 > 1", []),
        ("n10 between 1 and 2", []),
        ("n10 like 'x%'", []),
        ("upper(n10) = 'X'", []),
        ("n10 is null", []),
        ("not (n10 = 1 and n4 = 2)", []),
        # no score: one value, sorted everywhere, indexed, unknown
        ("one = 1", []),
        ("ordered = 1", []),
        ("indexed = 1", []),
        ("raw = 1", []),
        ("missing = 1", []),
        # n counts in the share of segments where the column is not sorted
        ("half = 1", [("half", 1 / 5)]),
        # multi-value: 1 - (8-4-0)/(8-0) = 1/2; two: 1 - (4/8)(3/7)
        ("many = 1", [("many", 0.5)]),
        ("many in (1, 2)", [("many", 1 - (4 / 8) * (3 / 7))]),
        ("many in (1, 2, 3, 4, 5)", []),
        # one value that the text does not show
        ("n10 = lower('X')", [("n10", 0.1)]),
        # AND: the best 2 children, each with its own s
        ("n4 = 1 and n10 = 2 and n100 = 3", [("n100", 0.01), ("n10", 0.1)]),
        ("n10 > 1 and n4 = 1", [("n4", 0.25)]),
        # OR: the union of the children's first keys, 1 - prod(1 - s)
        ("n4 = 1 or n10 = 2", [("n10+n4", 1 - 0.75 * 0.9)]),
        ("(n4 = 1 and n100 = 2) or n10 = 3", [("n10+n100", 1 - 0.99 * 0.9)]),
        # only if every disjunct has one
        ("n4 = 1 or n10 > 2", []),
        ("n4 = 1 or indexed = 2", []),
        ("n4 = 1 and (n10 = 2 or n100 > 3)", [("n4", 0.25)]),
        ("n4 = 1 and (n10 = 2 or n100 = 3)", [("n10+n100", 1 - 0.9 * 0.99), ("n4", 0.25)]),
    ],
)
def test_keys_by_hand(where: str, keys: list[tuple[str, float]]) -> None:
    assert keys_of(where) == keys


def test_sorted_keeps_three_children() -> None:
    assert keys_of("n4 = 1 and n10 = 2 and n100 = 3", order=SORTED_ORDER) == [
        ("n100", 0.01),
        ("n10", 0.1),
        ("n4", 0.25),
    ]


def test_a_column_votes_once_a_query_with_its_best_key() -> None:
    cut = normalize_sql("select count(*) from t where n10 = 1 and (n10 = 2 or n100 = 3)")
    keys = parser_keys(query_shape(cut.skeleton).filter, cut.literals, TABLE)
    found = {name: key.surviving_ratio for name, key in best_keys(keys).items()}
    assert found == pytest.approx({"n10": 0.1, "n100": 1 - 0.9 * 0.99})


@given(
    cardinality=st.floats(1, 1e6),
    entries=st.floats(1, 50),
    is_single=st.booleans(),
    literals=st.integers(0, 60),
    negated=st.booleans(),
)
def test_a_share_is_a_share_and_more_literals_keep_more(
    cardinality: float, entries: float, is_single: bool, literals: int, negated: bool
) -> None:
    column = ColumnOverview("c", cardinality=cardinality, entries_per_row=entries, is_single_value=is_single)
    some = surviving_ratio(column, literals, negated=negated)
    more = surviving_ratio(column, literals + 1, negated=negated)
    assert 0 <= some <= 1
    if cardinality > 1:
        assert (more <= some + 1e-9) if negated else (more >= some - 1e-9)
