"""Boxes of points: the law, and what is skipped that two ranges alone would not."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from skipping_law.files_metadata import Files, collected, files_matching, files_read
from skipping_law.predicates import comparisons, trees
from starskip.errors import ConfigError
from starskip.predicates.expression import Call, Column, Expression, Literal
from starskip.skipping.index_types.geo_box import GeoBox

LAT, LNG = Column(("lat",), "double"), Column(("lng",), "double")
TYPES = {"lat": pa.float64(), "lng": pa.float64()}
COORDINATE = st.sampled_from([0.0, -0.0, 0.1, 1.0, 5.0, -1.5, float("nan"), float("inf"), 1e308, None])


def within(column: Column, least: float, greatest: float) -> Expression:
    bounds = [Literal(pa.scalar(each, pa.float64())) for each in (least, greatest)]
    low, high = Call("GreaterThanOrEqual", (column, bounds[0])), Call("LessThanOrEqual", (column, bounds[1]))
    return Call("And", (low, high))


def files(*rows: list[tuple[float | None, float | None]]) -> Files:
    return Files(TYPES, [[{"lat": lat, "lng": lng} for lat, lng in each] for each in rows])


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.tuples(COORDINATE, COORDINATE), max_size=5), min_size=1, max_size=4),
    st.lists(trees(comparisons("double", "lat") | comparisons("double", "lng")), min_size=1, max_size=6),
    st.integers(1, 4),
)
def test_no_file_with_a_matching_point_is_skipped(rows, predicates, boxes):
    index = GeoBox(["lat", "lng"], [str(boxes)])
    table = files(*rows)
    metadata = collected([index], table)
    for predicate in predicates:
        read = files_read(predicate, [index], metadata)
        matching = files_matching(predicate, table, {})
        assert all(r or not m for r, m in zip(read, matching, strict=True)), (predicate, rows)


CORNERS = [(0.0, 0.0), (1.0, 1.0), (50.0, 50.0), (51.0, 51.0)]


@pytest.mark.parametrize(("boxes", "read"), [("1", [True]), ("2", [False])])
def test_a_window_between_two_clusters_needs_two_boxes(boxes, read):
    index = GeoBox(["lat", "lng"], [boxes])
    window = Call("And", (within(LAT, 10, 20), within(LNG, 10, 20)))
    assert files_read(window, [index], collected([index], files(CORNERS))) == read


def test_boxes_tell_what_two_lists_of_gaps_could_not():
    index = GeoBox(["lat", "lng"], ["2"])
    corner = Call("And", (within(LAT, 0, 1), within(LNG, 50, 51)))
    assert files_read(corner, [index], collected([index], files(CORNERS))) == [False]


def test_one_coordinate_alone():
    index = GeoBox(["lat", "lng"])
    metadata = collected(
        [index], files(CORNERS, [(10.0, 0.0)], [(None, 10.0)], [], [(15.0, 0.0), (None, None)])
    )
    assert files_read(within(LAT, 10, 20), [index], metadata) == [False, True, False, False, True]
    assert files_read(within(LNG, 10, 20), [index], metadata) == [False, False, True, False, False]


def test_points_on_one_line_have_gaps():
    index = GeoBox(["lat", "lng"], ["2"])
    metadata = collected([index], files([(0.0, 5.0), (1.0, 5.0), (9.0, 5.0)]))
    assert files_read(within(LAT, 2, 8), [index], metadata) == [False]


def test_decimals_are_compared_as_doubles():
    index = GeoBox(["lat", "lng"])
    decimal = Column(("lat",), "decimal(9,6)")
    table = Files({"lat": pa.decimal128(9, 6), "lng": pa.float64()}, [[{"lat": Decimal("1.5"), "lng": 0.0}]])
    metadata = collected([index], table)
    bounds = [pa.scalar(Decimal(each), pa.decimal128(9, 6)) for each in ("1.5", "1.6")]
    read = [
        files_read(Call("GreaterThanOrEqual", (decimal, Literal(each))), [index], metadata) for each in bounds
    ]
    assert read == [[True], [False]]


@pytest.mark.parametrize(
    ("columns", "arguments"),
    [(["a"], []), (["a", "b"], ["0"]), (["a", "b"], ["x"]), (["a", "b"], ["1", "2"])],
)
def test_specifications_that_make_no_sense(columns, arguments):
    with pytest.raises(ConfigError, match="geobox:LAT,LNG"):
        GeoBox(columns, arguments)


def test_columns_that_are_no_numbers():
    with pytest.raises(ConfigError, match="lng is string"):
        GeoBox(["lat", "lng"]).check({"lat": "double", "lng": "string"})
