from __future__ import annotations

import pytest
from starskip.advisor.cost.alternatives import (
    MAX_JOINT_INDEXES,
    MAX_PAIRED_INDEXES,
    DisjunctAlternatives,
    disjunct_alternatives,
    without_idle_paths,
)
from starskip.advisor.families.access_rules import access_rules
from starskip.advisor.families.index import Index, by_column, parse_index
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.predicate import leaves
from starskip.sql.query_shape import query_shape

NAMES = [f"c{number}" for number in range(40)]


def legs_of(
    where: str, select: str = "count(*)", kinds: tuple[str, ...] = ("inverted",), version: str = "0.11"
) -> tuple[DisjunctAlternatives, ...]:
    cut = normalize_sql(f"select {select} from t where {where}")
    candidates = by_column({parse_index(f"{kind}:{name}") for kind in kinds for name in NAMES})
    return disjunct_alternatives(query_shape(cut.skeleton), candidates, access_rules(version))


def columns_of(disjunct: DisjunctAlternatives) -> list[str]:
    return ["+".join(sorted(item.column for item in subset)) for subset in disjunct.alternatives]


def test_every_subset_of_the_columns_that_an_index_serves() -> None:
    (disjunct,) = legs_of("c1 = 1 and c2 <> 2 and c3 > 3 and upper(c4) = 'X' and other = 5")
    assert columns_of(disjunct) == ["", "c1", "c2", "c1+c2"]
    assert disjunct.is_complete


def test_a_column_that_is_asked_twice_is_one() -> None:
    (disjunct,) = legs_of("c1 = 1 and (c1 = 2 or c2 = 3)")
    assert columns_of(disjunct) == ["", "c1", "c2", "c1+c2"]


def test_legs_of_a_top_level_or_vote_alone() -> None:
    disjuncts = legs_of("c1 = 1 or (c2 = 2 and c3 = 3) or c4 > 4")
    assert [columns_of(disjunct) for disjunct in disjuncts] == [["", "c1"], ["", "c2", "c3", "c2+c3"], [""]]


def test_legs_stay_together_where_a_limit_ends_the_query() -> None:
    (disjunct,) = legs_of("c1 = 1 or c2 = 2", select="c3")
    assert columns_of(disjunct) == ["", "c1", "c2", "c1+c2"]


def test_alternatives_do_not_grow_without_bound() -> None:
    numbers = {
        n: len(legs_of(" and ".join(f"{name} = 1" for name in NAMES[:n]))[0].alternatives)
        for n in (
            MAX_JOINT_INDEXES,
            MAX_JOINT_INDEXES + 1,
            MAX_PAIRED_INDEXES,
            MAX_PAIRED_INDEXES + 1,
            40,
        )
    }
    # Nothing, each, each pair, chains of 3 (or 2) up to 8, and all.
    chains = {6: 3, 12: 6, 13: 7, 40: 7}
    pairs = {6: 15, 12: 66, 13: 0, 40: 0}
    assert numbers == {5: 32} | {n: 1 + n + pairs[n] + chains[n] + 1 for n in chains}
    assert not legs_of(" and ".join(f"{name} = 1" for name in NAMES[:6]))[0].is_complete


def test_a_table_has_one_order() -> None:
    (disjunct,) = legs_of("c1 = 1 and c2 > 2 and c3 like 'x'", kinds=("sorted",))
    assert columns_of(disjunct) == ["", "", "c1", "c2"], "as it is, sorted by another column, sorted by each"
    assert all(item.family == "sorted" for subset in disjunct.alternatives for item in subset)


def names_of(disjunct: DisjunctAlternatives) -> list[str]:
    return ["+".join(sorted(map(str, subset))) for subset in disjunct.alternatives]


def test_each_kind_of_index_where_it_answers() -> None:
    (disjunct,) = legs_of("c1 = 1 and c2 > 2", kinds=("inverted", "range"))
    assert names_of(disjunct) == ["", "inverted:c1", "range:c2", "inverted:c1+range:c2"]
    (disjunct,) = legs_of("c1 = 1", kinds=("inverted", "range"), version="1.0.0")
    assert names_of(disjunct) == ["", "inverted:c1", "range:c1", "inverted:c1+range:c1"]
    (disjunct,) = legs_of("c1 > 1", kinds=("inverted", "range"), version="0.3.0")
    assert names_of(disjunct) == [""]


def test_dropping_an_index_counts_where_the_index_answers() -> None:
    (disjunct,) = legs_of(
        "c1 = 1 and c2 = 2 and c3 > 3", kinds=("inverted", "without_inverted", "without_range")
    )
    assert {item for item in names_of(disjunct) if "+" not in item} == {
        "",
        "inverted:c1",
        "inverted:c2",
        "without_inverted:c1",
        "without_inverted:c2",
        "without_range:c3",
    }


def test_orders_come_as_legs_of_their_own() -> None:
    indexes, orders = legs_of("c1 = 1 and c2 > 2", kinds=("inverted", "sorted"))
    assert not indexes.reorders
    assert names_of(indexes) == ["", "inverted:c1"]
    assert orders.reorders
    assert names_of(orders) == ["", "sorted:", "sorted:c1", "sorted:c2"]


def test_a_chain_takes_the_columns_in_the_order_of_the_candidates_and_equalities_first() -> None:
    cut = normalize_sql(
        "select count(*) from t where c1 <> 1 and c2 > 2 and c3 = 3 and c4 = 4 and c5 = 5 and c6 = 6"
    )
    ranges = by_column({Index("range", "c2")})
    inverted = {name: (Index("inverted", name),) for name in ("c1", "c6", "c4", "c3", "c5")}
    (disjunct,) = disjunct_alternatives(
        query_shape(cut.skeleton), {**inverted, **ranges}, access_rules("0.11")
    )
    chains = [subset for subset in disjunct.alternatives if 2 < len(subset) < 6]
    assert [sorted(item.column for item in subset) for subset in chains] == [
        ["c3", "c4", "c6"],
        ["c3", "c4", "c5", "c6"],
        ["c2", "c3", "c4", "c5", "c6"],
    ]


def test_chains_hold_one_index_a_predicate_and_none_that_goes() -> None:
    (disjunct,) = legs_of(
        "c1 = 1 and c2 = 2 and c3 = 3",
        kinds=("inverted", "range", "without_inverted"),
        version="1.2.0",
    )
    assert not disjunct.is_complete
    larger = [names for names in names_of(disjunct) if names.count("+") > 1]
    assert larger == [
        "inverted:c1+inverted:c2+inverted:c3",
        "range:c1+range:c2+range:c3",
        "inverted:c1+inverted:c2+inverted:c3+range:c1+range:c2+range:c3",
        names_of(disjunct)[-1],
    ]


@pytest.mark.parametrize(
    ("version", "where", "kept"),
    [
        ("1.2.0", "a = 1 and b = 2", {"inverted:a", "inverted:b", "range:only"}),
        # Of a column that some query asks a range of, a range index may do alone.
        ("1.2.0", "a = 1 and b > 2", {"inverted:a", "inverted:b", "range:b", "range:only"}),
        ("0.11", "a = 1 and b > 2", {"inverted:a", "inverted:b", "range:b", "range:only"}),
    ],
)
def test_a_range_index_that_only_an_inverted_one_could_replace(
    version: str, where: str, kept: set[str]
) -> None:
    candidates = by_column(
        {Index(kind, name) for kind in ("inverted", "range") for name in "ab"} | {parse_index("range:only")}
    )
    asked = leaves(query_shape(normalize_sql(f"select count(*) from t where {where}").skeleton).filter)
    found = without_idle_paths(asked, candidates, access_rules(version))
    assert {str(item) for of_column in found.values() for item in of_column} == kept


def test_no_range_index_beside_an_inverted_one_that_is_there() -> None:
    candidates = by_column({parse_index("without_inverted:a"), Index("range", "a")})
    asked = leaves(query_shape(normalize_sql("select count(*) from t where a = 1").skeleton).filter)
    found = without_idle_paths(asked, candidates, access_rules("1.2.0"))
    assert found == {"a": (parse_index("without_inverted:a"),)}
