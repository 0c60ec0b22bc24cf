from __future__ import annotations

from starskip.scoring.alternatives import (
    MAX_JOINT_COLUMNS,
    MAX_PAIRED_COLUMNS,
    LegAlternatives,
    leg_alternatives,
)
from starskip.sql.fingerprint import fingerprint
from starskip.sql.query_shape import query_shape

NAMES = [f"c{number}" for number in range(40)]


def legs_of(where: str, select: str = "count(*)", kind: str = "inverted") -> tuple[LegAlternatives, ...]:
    cut = fingerprint(f"select {select} from t where {where}")
    return leg_alternatives(query_shape(cut.skeleton), NAMES, kind)


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
        for n in (MAX_JOINT_COLUMNS, MAX_JOINT_COLUMNS + 1, MAX_PAIRED_COLUMNS, MAX_PAIRED_COLUMNS + 1, 40)
    }
    assert numbers == {5: 32, 6: 1 + 6 + 15 + 1, 12: 1 + 12 + 66 + 1, 13: 1 + 13 + 1, 40: 1 + 40 + 1}
    assert not legs_of(" and ".join(f"{name} = 1" for name in NAMES[:6]))[0].is_complete


def test_a_table_has_one_order() -> None:
    (leg,) = legs_of("c1 = 1 and c2 > 2 and c3 like 'x'", kind="sorted")
    assert columns_of(leg) == ["", "", "c1", "c2"], "as it is, sorted by another column, sorted by each"
    assert all(item.kind == "sorted" for subset in leg.alternatives for item in subset)
