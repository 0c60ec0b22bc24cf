from __future__ import annotations

from starskip.pinot.index_rules import index_rules
from starskip.scoring.alternatives import (
    MAX_JOINT_STRUCTURES,
    MAX_PAIRED_STRUCTURES,
    LegAlternatives,
    leg_alternatives,
)
from starskip.scoring.structure import Structure, by_column
from starskip.sql.fingerprint import fingerprint
from starskip.sql.query_shape import query_shape

NAMES = [f"c{number}" for number in range(40)]


def legs_of(
    where: str, select: str = "count(*)", kinds: tuple[str, ...] = ("inverted",), version: str = "0.11"
) -> tuple[LegAlternatives, ...]:
    cut = fingerprint(f"select {select} from t where {where}")
    candidates = by_column({Structure(kind, name) for kind in kinds for name in NAMES})
    return leg_alternatives(query_shape(cut.skeleton), candidates, index_rules(version))


def columns_of(leg: LegAlternatives) -> list[str]:
    return ["+".join(sorted(item.column for item in subset)) for subset in leg.alternatives]


def test_every_subset_of_the_columns_that_an_index_serves() -> None:
    (leg,) = legs_of("c1 = 1 and c2 <> 2 and c3 > 3 and upper(c4) = 'X' and other = 5")
    assert columns_of(leg) == ["", "c1", "c2", "c1+c2"]
    assert leg.is_complete


def test_a_column_that_is_asked_twice_is_one() -> None:
    (leg,) = legs_of("c1 = 1 and (c1 = 2 or c2 = 3)")
    assert columns_of(leg) == ["", "c1", "c2", "c1+c2"]


def test_legs_of_a_top_level_or_vote_alone() -> None:
    legs = legs_of("c1 = 1 or (c2 = 2 and c3 = 3) or c4 > 4")
    assert [columns_of(leg) for leg in legs] == [["", "c1"], ["", "c2", "c3", "c2+c3"], [""]]


def test_legs_stay_together_where_a_limit_ends_the_query() -> None:
    (leg,) = legs_of("c1 = 1 or c2 = 2", select="c3")
    assert columns_of(leg) == ["", "c1", "c2", "c1+c2"]


def test_alternatives_do_not_grow_without_bound() -> None:
    numbers = {
        n: len(legs_of(" and ".join(f"{name} = 1" for name in NAMES[:n]))[0].alternatives)
        for n in (
            MAX_JOINT_STRUCTURES,
            MAX_JOINT_STRUCTURES + 1,
            MAX_PAIRED_STRUCTURES,
            MAX_PAIRED_STRUCTURES + 1,
            40,
        )
    }
    assert numbers == {5: 32, 6: 1 + 6 + 15 + 1, 12: 1 + 12 + 66 + 1, 13: 1 + 13 + 1, 40: 1 + 40 + 1}
    assert not legs_of(" and ".join(f"{name} = 1" for name in NAMES[:6]))[0].is_complete


def test_a_table_has_one_order() -> None:
    (leg,) = legs_of("c1 = 1 and c2 > 2 and c3 like 'x'", kinds=("sorted",))
    assert columns_of(leg) == ["", "", "c1", "c2"], "as it is, sorted by another column, sorted by each"
    assert all(item.kind == "sorted" for subset in leg.alternatives for item in subset)


def names_of(leg: LegAlternatives) -> list[str]:
    return ["+".join(sorted(map(str, subset))) for subset in leg.alternatives]


def test_each_kind_of_index_where_it_answers() -> None:
    (leg,) = legs_of("c1 = 1 and c2 > 2", kinds=("inverted", "range"))
    assert names_of(leg) == ["", "inverted:c1", "range:c2", "inverted:c1+range:c2"]
    (leg,) = legs_of("c1 = 1", kinds=("inverted", "range"), version="1.0.0")
    assert names_of(leg) == ["", "inverted:c1", "range:c1", "inverted:c1+range:c1"]
    (leg,) = legs_of("c1 > 1", kinds=("inverted", "range"), version="0.3.0")
    assert names_of(leg) == [""]


def test_dropping_an_index_counts_where_the_index_answers() -> None:
    (leg,) = legs_of("c1 = 1 and c2 = 2 and c3 > 3", kinds=("inverted", "without_inverted", "without_range"))
    assert {item for item in names_of(leg) if "+" not in item} == {
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
