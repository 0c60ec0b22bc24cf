"""Estimates of the rows in boxes and circles, over points that are spread unevenly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skipping_tables import aged
from starskip.secondary import IndexedTable, open_table
from starskip.secondary.access_paths import access_paths
from starskip.secondary.lifecycle import create_indexes
from starskip.secondary.postings import PostingReader
from starskip.secondary.where_clause import where_expression

POINTS, ASKED = 60_000, 60
Values = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Shape = Callable[[Values, Values, int, np.random.Generator], tuple[str, Mask]]


@pytest.fixture(scope="module")
def points() -> tuple[Values, Values]:
    """A quarter all over the world, a quarter within some kilometres, the others in and around towns."""
    random = np.random.default_rng(7)
    kind = random.integers(0, 4, POINTS)
    towns = random.uniform(-80, 80, (50, 2))[random.integers(0, 50, POINTS)]
    near, around = random.normal(0, 0.01, (2, POINTS)), random.normal(0, 1.5, (2, POINTS))
    x = np.select(
        [kind == 0, kind == 1], [random.uniform(-180, 180, POINTS), near[0]], towns[:, 0] + around[0]
    )
    y = np.select([kind == 0, kind == 1], [random.uniform(-80, 80, POINTS), near[1]], towns[:, 1] + around[1])
    return x, y


@pytest.fixture(scope="module")
def table(points: tuple[Values, Values], tmp_path_factory: pytest.TempPathFactory) -> IndexedTable:
    folder = tmp_path_factory.mktemp("points")
    pq.write_table(pa.table(dict(zip("xy", points, strict=True))), folder / "a.parquet")
    aged(folder)
    create_indexes(str(folder), ["rtree:x,y"])
    return open_table(str(folder))


def factor(table: IndexedTable, condition: str, rows: int) -> float:
    """Return by which factor the estimate is off, above or below."""
    state = table.opened.now()
    (path,) = access_paths(where_expression(condition, state.schema), state.indexes).paths
    estimated = max(PostingReader(state.segments).count(path), 1) / max(rows, 1)
    return max(estimated, 1 / estimated)


def box(x: Values, y: Values, at: int, random: np.random.Generator) -> tuple[str, Mask]:
    """Return a condition on a box around a point, and the points that are in it."""
    wide = 10 ** random.uniform(-3, 2)
    high = wide * random.uniform(0.3, 3)
    (west, east), (south, north) = (x[at] - wide, x[at] + wide), (y[at] - high, y[at] + high)
    inside = (x >= west) & (x <= east) & (y >= south) & (y <= north)
    return f"x BETWEEN {west} AND {east} AND y BETWEEN {south} AND {north}", inside


def circle(x: Values, y: Values, at: int, random: np.random.Generator) -> tuple[str, Mask]:
    """Return a condition on a circle around a point, and the points that are in it."""
    radius = 10 ** random.uniform(-3, 1.5)
    inside = np.hypot(x - x[at], y - y[at]) <= radius
    return f"ST_Distance(ST_Point({x[at]}, {y[at]}), x, y) <= {radius}", inside


@pytest.mark.parametrize("shape", [box, circle])
def test_rows_are_estimated(shape: Shape, table: IndexedTable, points: tuple[Values, Values]) -> None:
    random = np.random.default_rng(8)
    factors = []
    for at in random.integers(0, POINTS, ASKED).tolist():
        condition, inside = shape(*points, at, random)
        factors.append(factor(table, condition, int(inside.sum())))
    assert np.percentile(factors, 90) < 1.3
    assert max(factors) < 3
