"""R-trees that logged predicates ask for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from starskip.advisor.families.secondary.advice.secondary_candidates import MAX_RTREES, secondary_candidates
from starskip.advisor.workload.filter_text import filter_expression
from starskip.advisor.workload.lake_queries import LakeQuery
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping import user_functions

TYPES = {
    ("lng",): pa.float64(),
    ("lat",): pa.float64(),
    ("height",): pa.float32(),
    ("many",): pa.int64(),
    ("name",): pa.string(),
}
OF_SPARK = {
    ("lng",): "double",
    ("lat",): "double",
    ("height",): "float",
    ("many",): "bigint",
    ("name",): "string",
}
BOX = "(lng#1 >= -7.5), (lng#1 <= 2.25), (lat#2 >= 40.0), (lat#2 < 41.5)"


def candidates(*filters: str | Expression) -> tuple[list[str], list[str]]:
    predicates = [filter_expression((each,), OF_SPARK) if isinstance(each, str) else each for each in filters]
    found = secondary_candidates([LakeQuery("s", each, 1.0, "") for each in predicates], TYPES)
    return [each.specification for each in found.indexes], list(found.faults)


def test_a_box_asks_for_an_r_tree_beside_two_b_trees() -> None:
    assert candidates(BOX) == (["btree:lat", "btree:lng", "rtree:lat,lng"], [])
    nested = f"(isnotnull(name#3)), {BOX}, (name#3 = x)"
    assert "rtree:lat,lng" in candidates(nested)[0]


@pytest.mark.parametrize(
    "filters",
    [
        "(lng#1 >= -7.5), (lat#2 >= 40.0), (lat#2 < 41.5)",
        "(lng#1 = 2.0), (many#3L >= 40), (many#3L < 41)",
        "((lng#1 >= 1.0) OR (lng#1 <= 2.0)), (lat#2 >= 40.0), (lat#2 < 41.5)",
    ],
)
def test_bounds_on_one_side_and_columns_that_are_no_coordinates_ask_for_none(filters: str) -> None:
    assert not [each for each in candidates(filters)[0] if each.startswith("rtree")]


def test_the_r_trees_of_many_columns_leave_room_for_others() -> None:
    types = {(f"c{number}",): pa.float64() for number in range(6)}
    bounds = [
        Call(name, (Column(path, "double"), Literal(pa.scalar(value))))
        for path in types
        for name, value in (("GreaterThan", 1.0), ("LessThan", 2.0))
    ]
    found = secondary_candidates([LakeQuery("s", Call("And", tuple(bounds)), 1.0, "")], types).indexes
    kinds = [each.kind_of_index.value for each in found]
    assert (kinds.count("btree"), kinds.count("rtree")) == (6, MAX_RTREES)


def within(polygon: str) -> Expression:
    point = (Column(("lat",), "double"), Column(("lng",), "double"))
    return Call("udf:st_contains", (Literal(pa.scalar(polygon)), *point))


POLYGON = "POLYGON ((0 0, 2 0, 2 1, 0 1, 0 0))"


def test_a_function_with_a_shape_asks_for_one_where_it_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_functions, "_by_name", {})
    assert candidates(within(POLYGON)) == ([], ["rtree:lat,lng"])
    # A box asks for the same index, and is served by it.
    assert candidates(within(POLYGON), BOX)[1] == []
    from starskip_contrib import geospatial_functions as ours

    user_functions.map_function("ST_Contains", ours._implied)
    user_functions.map_function("ST_Distance", ours._implied)
    assert candidates(within(POLYGON)) == (["btree:lat", "btree:lng", "rtree:lat,lng"], [])
    near = Call("udf:st_distance", within("POINT (1 1)").arguments)
    assert "rtree:lat,lng" in candidates(Call("LessThan", (near, Literal(pa.scalar(0.5)))))[0]
    # Farther than so much, and not within, say nothing of a box.
    assert candidates(Call("GreaterThan", (near, Literal(pa.scalar(0.5)))))[0] == []
    assert candidates(Call("Not", (within(POLYGON),)))[0] == []
