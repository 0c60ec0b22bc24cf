"""Functions of planar geometry: no file with a matching point is skipped, and others are.

The advisor tells functions in logs by names alone, since it does not import what defines them.
"""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping_law.files_metadata import Files, collected, files_matching, files_read
from skipping_law.written import negated
from starskip.advisor.families.secondary.advice import secondary_candidates
from starskip.advisor.families.skipping.choice import column_uses
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping.registry import index_from_specification
from starskip_contrib import geospatial_functions, user_agents
from starskip_contrib.geospatial_functions import st_contains, st_distance
from starskip_contrib.metric_distances import TEXT_METRIC, VECTOR_METRICS

FUNCTIONS = {"udf:st_contains": st_contains, "udf:st_distance": st_distance}
BERMUDA = "POLYGON((-64.73 32.31, -80.19 25.76, -66.09 18.43, -64.73 32.31))"
SHAPES = [
    BERMUDA,
    "POINT(1 2)",
    "LINESTRING(0 0, 3 3)",
    "POLYGON EMPTY",
    "POLYGON((0 0",
    "POLYGON((0 0,0 3,3 3,3 0,0 0))",
]
INDEXES = [["minmax:lat", "minmax:lng"], ["geobox:lat,lng:2"]]


COORDINATE = st.integers(-4, 8).map(lambda each: each / 2) | st.sampled_from(
    [None, float("nan"), 25.0, -70.0]
)
ROWS = [[(25.0, -70.0)], [(48.0, 16.0)], [(25.0, 16.0), (48.0, -70.0)], [(None, -70.0)]]


def point(data_type: str = "double") -> tuple[Column, Column]:
    return Column(("lat",), data_type), Column(("lng",), data_type)


def contains(wkt: str | None, data_type: str = "double") -> Expression:
    return Call("udf:st_contains", (Literal(pa.scalar(wkt, pa.string())), *point(data_type)))


def nearer(wkt: str | None, distance: float, name: str = "LessThan") -> Expression:
    call = Call("udf:st_distance", (Literal(pa.scalar(wkt, pa.string())), *point()))
    return Call(name, (call, Literal(pa.scalar(distance))))


def files(rows: list[list[tuple[float | None, float | None]]], kind: pa.DataType) -> Files:
    return Files({"lat": kind, "lng": kind}, [[{"lat": a, "lng": b} for a, b in of] for of in rows])


PREDICATES = st.one_of(
    st.sampled_from([None, *SHAPES]).map(contains),
    st.builds(
        nearer,
        st.sampled_from([None, *SHAPES]),
        st.sampled_from([0.0, 0.5, 1.0, -1.0, 1e9, float("nan"), float("inf")]),
        st.sampled_from(["LessThan", "LessThanOrEqual", "EqualTo", "GreaterThan", "GreaterThanOrEqual"]),
    ),
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(COORDINATE, COORDINATE), max_size=4), min_size=1, max_size=4),
    PREDICATES,
    st.booleans(),
    st.sampled_from(INDEXES),
)
def test_no_file_with_a_matching_point_is_skipped(rows, predicate, not_, specifications):
    predicate = negated(predicate) if not_ else predicate
    indexes = [index_from_specification(each) for each in specifications]
    table = files(rows, pa.float64())
    read = files_read(predicate, indexes, collected(indexes, table))
    matching = files_matching(predicate, table, FUNCTIONS)
    assert all(r or not m for r, m in zip(read, matching, strict=True))


@pytest.mark.parametrize(("specifications", "wanted"), [(INDEXES[0], "1010"), (INDEXES[1], "1000")])
def test_the_bermuda_triangle(specifications, wanted):
    indexes = [index_from_specification(each) for each in specifications]
    metadata = collected(indexes, files(ROWS, pa.float64()))
    for predicate in (contains(BERMUDA), nearer(BERMUDA, 2.0)):
        assert "".join("01"[each] for each in files_read(predicate, indexes, metadata)) == wanted
    assert files_read(negated(contains(BERMUDA)), indexes, metadata) == [True] * 4


def test_bounds_of_floats_are_rounded_outwards():
    indexes = [index_from_specification(each) for each in INDEXES[0]]
    table = files([[(0.1, 0.1)], [(0.2, 0.1)]], pa.float32())
    metadata = collected(indexes, table)
    edge = "POLYGON((0.05 0.05, 0.05 0.1000000015, 0.2 0.1000000015, 0.2 0.05, 0.05 0.05))"
    assert files_read(contains(edge, "float"), indexes, metadata) == [True, False]


def test_a_shape_that_is_no_literal():
    indexes = [index_from_specification(each) for each in INDEXES[0]]
    metadata = collected(indexes, files(ROWS, pa.float64()))
    predicate = Call("udf:st_contains", (Column(("shape",), "string"), *point()))
    assert files_read(predicate, indexes, metadata) == [True] * 4


def test_names_that_the_advisor_knows_are_those_of_the_functions() -> None:
    assert set(column_uses._METRICS) == {*VECTOR_METRICS, TEXT_METRIC}
    assert column_uses._AGENT_NAME == user_agents.AGENT_NAME_FUNCTION
    assert geospatial_functions.__name__ == secondary_candidates._MODULE


def test_an_index_names_the_module_of_its_functions_but_for_sparks_own() -> None:
    of = {
        "formatted:c:user_agent": "starskip_contrib.user_agents",
        "formatted:c:url_host": None,
        "geometrybox:c": "starskip_contrib.geospatial_functions",
        "ipnetworks:c": "starskip_contrib.ip_networks",
        "metricdist:c:levenshtein": "starskip_contrib.metric_distances",
        "minmax:c": None,
    }
    assert {name: index_from_specification(name).module_of_functions for name in of} == of
