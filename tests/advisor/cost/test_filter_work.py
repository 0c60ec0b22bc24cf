"""L of filters, worked by hand after Automated Inverted Index Recommendation, II.3."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.cost.filter_work import entries_by_column, filter_work
from starskip.advisor.cost.leaf_estimates import leaf_estimates
from starskip.advisor.families.access_rules import AccessRules
from starskip.advisor.workload.shape_workload import Instance, Literals
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.predicate import Leaf
from starskip.sql.query_shape import QueryShape, query_shape
from starskip.tables.table_overview import ColumnOverview, TableOverview

RULES = AccessRules()
TABLE = TableOverview(
    "t",
    1,
    1000,
    {
        "a": ColumnOverview("a", cardinality=2.0),
        "b": ColumnOverview("b", cardinality=4.0),
        "c": ColumnOverview("c", cardinality=10.0),
        "m": ColumnOverview("m", cardinality=8.0, entries_per_row=4.0, is_single_value=False),
        "s": ColumnOverview("s", cardinality=5.0, sorted_ratio=1.0),
        "half": ColumnOverview("half", cardinality=5.0, sorted_ratio=0.5),
        "one": ColumnOverview("one", cardinality=1.0, sorted_ratio=1.0),
    },
)


def bound(where: str, *, rows_scanned: int = 100) -> tuple[QueryShape, dict[Literals, Instance]]:
    cut = normalize_sql(f"select count(*) from t where {where}")
    return query_shape(cut.skeleton), {cut.literals: Instance(1, 1000, 1e6, rows_scanned)}


def work(where: str, *indexed: str, **options: Any) -> tuple[float, float]:
    """Return (entries, surviving) a row with indexes on some columns."""
    shape, instances = bound(where, rows_scanned=options.pop("rows_scanned", 100))
    estimates = leaf_estimates(shape, instances, TABLE, RULES)

    def answers(leaf: Leaf) -> float | None:
        return 0.0 if leaf.column in indexed and RULES.serves("inverted", leaf) else None

    found = filter_work(shape.filter, estimates, answers, **options)
    return float(np.max(found.entries)), float(np.max(found.surviving))


@pytest.mark.parametrize(
    ("where", "indexed", "entries", "surviving"),
    [
        ("a = 1", "", 1.0, 1 / 2),
        ("a = 1", "a", 0.0, 1 / 2),
        ("a <> 1", "", 1.0, 1 / 2),
        ("b in (1, 2, 2)", "", 1.0, 2 / 4),
        ("m = 1", "", 4.0, 1 / 2),
        ("s = 1", "", 0.0, 1 / 5),
        ("half = 1", "", 0.5, 1 / 5),
        # L1 + s1 L2 + s1 s2 L3, the most selective first wherever it stands
        ("a = 1 and b = 1 and c = 1", "", 1 + 1 / 10 + 1 / 40, 1 / 80),
        ("a = 1 and b = 1 and c = 1", "a", 1 / 2 + 1 / 20, 1 / 80),
        ("a = 1 and b = 1 and c = 1", "c", 1 / 10 + 1 / 40, 1 / 80),
        ("a = 1 and b = 1 and c = 1", "ac", 1 / 20, 1 / 80),
        ("a = 1 and b = 1 and c = 1", "abc", 0.0, 1 / 80),
        # a multi-value scan is read last, unless it is far more selective
        ("m = 1 and a = 1", "", 1 + 4 / 2, 1 / 4),
        ("s = 1 and a = 1", "", 1 / 5, 1 / 10),
        # disjuncts of an OR add up
        ("a = 1 or b = 1", "", 2.0, 1 - (1 / 2) * (3 / 4)),
        ("a = 1 or b = 1", "a", 1.0, 1 - (1 / 2) * (3 / 4)),
        ("c = 1 and (a = 1 or b = 1)", "", 1 + 2 / 10, 5 / 80),
        ("c = 1 and (a = 1 or b = 1)", "ab", 5 / 8, 5 / 80),
        ("not (a = 1 and b = 1)", "", 1 + 1 / 4, 1 - 1 / 8),
        ("a is null", "", 0.0, 0.5),
        ("a is not null", "", 0.0, 1.0),
        ("text_match(a, 'x')", "", 0.0, 0.5),
    ],
)
def test_worked_by_hand(where: str, indexed: str, entries: float, surviving: float) -> None:
    assert work(where, *indexed) == pytest.approx((entries, surviving))


def test_the_order_of_the_text_does_not_matter() -> None:
    parts = ("a = 1", "b = 1", "m = 2", "c > 3")
    found = {work(" and ".join(order))[0] for order in permutations(parts)}
    assert max(found) - min(found) < 1e-12


def test_an_unknown_predicate_keeps_what_the_log_saw_pass() -> None:
    # 100 of 1000 rows passed; b = 1 keeps 250 of them, so the range keeps 0.4.
    assert work("b = 1 and c > 3", "b")[1] == pytest.approx(0.1)
    # Two of them share 0.1 / 0.25 evenly.
    entries, surviving = work("b = 1 and c > 3 and a like 'x'", "b")
    assert surviving == pytest.approx(0.1)
    assert entries == pytest.approx(0.25 * (1 + 0.4**0.5))
    # Nothing tells of a disjunct of an OR, or where a LIMIT ended the query: the stated defaults.
    assert work("c > 3 or a like 'x'")[1] == pytest.approx(1 - (2 / 3) * 0.5)


def test_another_sort_order_takes_the_present_one_away_but_for_constants() -> None:
    assert work("s = 1", is_reordered=True)[0] == 1.0
    assert work("half = 1", is_reordered=True)[0] == 1.0
    assert work("one = 1", is_reordered=True)[0] == 0.0


PARTS = st.sampled_from(["a = 1", "b in (1, 2)", "c <> 1", "m = 1", "s = 1", "c > 3", "upper(a) = 'X'"])
FILTERS = st.recursive(
    PARTS,
    lambda inner: st.builds(
        lambda parts, word: "(" + f" {word} ".join(parts) + ")",
        st.lists(inner, min_size=2, max_size=3),
        st.sampled_from(["and", "or"]),
    ),
    max_leaves=6,
)
COLUMNS = st.frozensets(st.sampled_from("abcm"))


@given(where=FILTERS, some=COLUMNS, more=COLUMNS)
def test_more_indexes_never_read_more_and_change_no_selectivity(
    where: str, some: frozenset[str], more: frozenset[str]
) -> None:
    fewer, surviving = work(where, *some)
    assert work(where, *(some | more))[0] <= fewer + 1e-9
    assert work(where, *more)[1] == pytest.approx(surviving)
    assert 0 <= surviving <= 1


@given(where=FILTERS)
def test_the_columns_shares_make_up_the_whole(where: str) -> None:
    shape, instances = bound(where)
    estimates = leaf_estimates(shape, instances, TABLE, RULES)
    by_column = entries_by_column(shape.filter, estimates, lambda _: None)
    assert float(np.max(sum(by_column.values()))) == pytest.approx(work(where)[0])
