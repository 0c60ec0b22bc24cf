"""Strategy estimation: which sets a query votes for, and what they save.

Source: Automated Inverted Index Recommendation, II.3 B.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from starskip.advisor.cost.estimation_votes import estimation_votes
from starskip.advisor.cost.proposed_sets import VoteRules
from starskip.advisor.families.access_rules import AccessRules, access_rules
from starskip.advisor.families.index import Index, by_column, drop_of
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.tables.table_overview import ColumnOverview, TableOverview

COLUMNS = {"a": 2.0, "b": 4.0, "c": 10.0, "d": 100.0, "e": 2.0}
TABLE = TableOverview(
    "t",
    1,
    1000,
    {name: ColumnOverview(name, cardinality=n) for name, n in COLUMNS.items()}
    | {
        "m": ColumnOverview("m", cardinality=20.0, entries_per_row=5.0, is_single_value=False),
        "s": ColumnOverview("s", cardinality=5.0, sorted_ratio=1.0),
    },
)
INVERTED = frozenset(Index("inverted", name) for name in (*COLUMNS, "m"))
SEED = VoteRules(incremental_scans=1e9)
"""The seed's own rules: a further index only where more than C0 is left."""


def shape(where: str, entries: int = 1000, **fields: Any) -> ShapeWorkload:
    cut = normalize_sql(f"select count(*) from t where {where}")
    instance = Instance(1, entries, float(entries) ** 2, rows_scanned=100)
    plain: dict[str, Any] = {"queries": 1, "entries_scanned_in_filter": entries}
    return ShapeWorkload(
        "t", where, where, cut.skeleton, **(plain | fields), instances={cut.literals: instance}
    )


def votes(
    workload: ShapeWorkload,
    vote_rules: VoteRules = SEED,
    *,
    candidates: Collection[Index] = INVERTED,
    in_force: Collection[Index] = (),
    rules: AccessRules | None = None,
) -> dict[tuple[int, str], float]:
    table = estimation_votes(
        [workload], TABLE, by_column(candidates), in_force, rules or AccessRules(), vote_rules
    )
    assert table["is_complete"].to_pylist() == [False] * len(table)
    return {
        (row["leg"], "+".join(text.removeprefix("inverted:") for text in row["structures"])): row[
            "saving_entries"
        ]
        for row in table.to_pylist()
    }


def test_a_leaf_saves_all_that_the_log_observed() -> None:
    # The model says 1000 entries; the broker pruned half the segments.
    assert votes(shape("a = 1", 500)) == {(0, "a"): 500.0}


def test_legs_of_an_or_vote_by_themselves_for_their_share() -> None:
    assert votes(shape("a = 1 or m = 2", 1200)) == pytest.approx({(0, "a"): 200.0, (1, "m"): 1000.0})


def test_the_best_term_and_those_near_it_exclude_one_another() -> None:
    # T = 1 + 1/100 + 1/1000. With d: 1/100 + 1/1000; with c: 1/10 + 1/1000 ; with b: 1/4 + 1/400.
    whole = 1 + 1 / 100 + 1 / 1000
    left = {"d": 1 / 100 + 1 / 1000, "c": 1 / 10 + 1 / 1000, "b": 1 / 4 + 1 / 400}
    found = votes(shape("b = 1 and c = 1 and d = 1"))
    assert found == pytest.approx({(0, name): 1000 * (1 - left[name] / whole) for name in ("d", "c")})
    # b saves 0.758 of what d does: below g0 = 0.8.
    wider = votes(shape("b = 1 and c = 1 and d = 1"), VoteRules(exclusive_ratio=0.7, incremental_scans=1e9))
    assert set(wider) == {(0, "b"), (0, "c"), (0, "d")}
    assert votes(shape("b = 1 and c = 1 and d = 1"), VoteRules(1.0, 1.0, 1e9)).keys() == {(0, "d")}


def test_more_than_c0_left_asks_for_a_further_index() -> None:
    # a and e keep half each: T = 1 + 1/2 + 5/4 with m read last; with m: 1/4 + 1/8; with a: 1/2 + 5/4.
    where = "a = 1 and e = 1 and m = 1"
    assert (0, "a+m") not in votes(shape(where))
    found = votes(shape(where), VoteRules(exclusive_ratio=0.4, sufficient_scans=1.0, incremental_scans=1e9))
    # After a (or e) 1.75 scans are left, more than C0: m joins. After m less than one is.
    assert {(0, "a+m"), (0, "e+m")} <= found.keys()
    assert (0, "a+e+m") not in found
    low = votes(shape(where), VoteRules(exclusive_ratio=0.8, sufficient_scans=0.0, incremental_scans=1e9))
    assert found[0, "a+m"] < max(low.values()) == pytest.approx(1000.0)


def test_a_further_index_that_saves_enough_votes_without_c0() -> None:
    # After a half of the rows is left to e: more than 0.05 of a scan.
    found = votes(shape("a = 1 and e = 1", 1500), VoteRules())
    assert found == pytest.approx({(0, "a"): 1000.0, (0, "e"): 1000.0, (0, "a+e"): 1500.0})
    assert (0, "a+e") not in votes(shape("a = 1 and e = 1"), VoteRules(incremental_scans=0.5))


def test_an_or_below_an_and_asks_for_all_its_columns() -> None:
    found = votes(shape("(c = 1 or d = 2) and a > 3"))
    assert found.keys() == {(0, "c+d")}


def test_what_an_index_does_not_serve_has_no_vote() -> None:
    assert votes(shape("a > 1")) == {}
    ranges = [*INVERTED, Index("range", "a")]
    assert votes(shape("a > 1"), candidates=ranges).keys() == {(0, "range:a")}
    # From 1.0 on a range index answers an equality too.
    new = votes(shape("a = 1"), candidates=ranges, rules=access_rules("1.2.0"))
    assert new.keys() == {(0, "a"), (0, "range:a")}


def test_what_is_in_force_reads_nothing_and_its_dropping_loses() -> None:
    indexed = Index("inverted", "c")
    candidates = (INVERTED - {indexed}) | {drop_of(indexed)}
    # With c: L = 1/10 of a; without it 1 + 1/10.
    found = votes(shape("a = 1 and c = 1", 100), candidates=candidates, in_force=[indexed])
    assert found == pytest.approx({(0, "a"): 100.0, (0, "without_inverted:c"): -1000.0})


def test_a_sort_order_saves_its_column_and_ends_the_present_one() -> None:
    orders = [Index("sorted", name) for name in COLUMNS]
    found = votes(shape("s = 1 and a = 1", 200), candidates=orders)
    # Now a is read at a fifth of the rows; in another order s is read too, in a's at half of them.
    assert found == pytest.approx(
        {(0, "sorted:"): 200 - 200 * 6 / 5 / (1 / 5), (0, "sorted:a"): 200 - 200 * 2.5}
    )
    # A query that reads nothing today would read every row.
    assert votes(shape("s = 1", 0), candidates=orders) == {(0, "sorted:"): -1000.0}


def test_failed_queries_have_no_vote_and_a_sample_is_scaled() -> None:
    workload = shape("a = 1", 100, entries_scanned_in_filter=700, failed_entries_scanned_in_filter=200)
    assert votes(workload) == {(0, "a"): 500.0}


def test_two_hundred_predicates_have_a_bounded_number_of_sets() -> None:
    columns = {f"x{n}": ColumnOverview(f"x{n}", cardinality=2.0 + n) for n in range(200)}
    table = TableOverview("t", 1, 1000, columns)
    candidates = by_column([Index("inverted", name) for name in columns])
    workload = shape(" and ".join(f"{name} = 1" for name in columns))
    found = estimation_votes([workload], table, candidates, (), AccessRules(), VoteRules(0.1, 0.0, 0.0))
    assert 0 < len(found) <= 32
