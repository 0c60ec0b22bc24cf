"""Five years of weather, laid out as in Extensible Data Skipping, figure 9: share that ST_Contains reads.

A grid of 4 km over the contiguous United States, each month in 8,192 files by a KD-tree, 191 GB a month,
60 months. The files are made up; their bounds, the metadata and Spark's planning are real. Nothing is read:
files and bytes are those of Spark's plan.
"""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skipping.functions import register
from skipping.made_up_table import MadeUpTable, Numbers, planned
from skipping.questions import GEOSPATIAL
from starskip.spark import skipping

LEVELS = 13
MONTHS = 60
MONTH_BYTES = 191e9
WINDOWS = (1, 2, 5, 12, 60)
TIMES_FEWER = 240
"""Result of Extensible Data Skipping for a window of five months."""
_STEP_DEGREES = 0.04
_LAT, _LNG = (24.5, 49.5), (-124.7, -67.0)
_TRIANGLE = "POLYGON ((-79.06 35.91, -78.90 36.03, -78.60 35.80, -78.65 35.72, -79.06 35.91))"
"""Chapel Hill, Durham, Raleigh."""
_ROWS = 44_000
_COLUMNS = ", ".join(f"measure_{number} FLOAT" for number in range(30))
Points = npt.NDArray[np.float64]


def print_five_years(spark: Any, scratch: Path) -> list[str]:
    """Plan the query for several windows with and without skipping; return what misses the aim."""
    register(spark)
    cells = _cells()
    files = MONTHS * len(cells)
    months = [f"{2021 + number // 12}-{number % 12 + 1:02}" for number in range(MONTHS)]
    starts = [np.datetime64(f"{month}-01", "us") for month in months]
    starts.append(np.datetime64("2026-01-01", "us"))

    def bounds(column: str, numbers: Numbers) -> tuple[pa.Array, pa.Array]:
        if column == "ts":
            month = numbers // len(cells)
            least = np.array(starts)[month]
            greatest = np.array(starts)[month + 1] - np.timedelta64(3600, "s")
            return pa.array(least, pa.timestamp("us", "UTC")), pa.array(greatest, pa.timestamp("us", "UTC"))
        of = cells[numbers % len(cells)][:, :2] if column == "lat" else cells[numbers % len(cells)][:, 2:]
        return pa.array(of[:, 0]), pa.array(of[:, 1])

    root = scratch / "weather"
    root.mkdir()
    random = np.random.default_rng(2021)
    table = MadeUpTable(
        str(root),
        [f"month={month}" for month in months for _ in range(len(cells))],
        (MONTH_BYTES / len(cells) * random.normal(1, 0.1, files)).astype(np.int64),
        f"ts TIMESTAMP, lat DOUBLE, lng DOUBLE, {_COLUMNS}",
        _ROWS,
        bounds,
    )
    relation = table.relation(spark)
    table.view(spark, relation, "weather")
    metadata_root = str(scratch / "weather-metadata")
    table.refresh(relation, metadata_root, ["minmax:ts", "minmax:lat", "minmax:lng"])
    size = sum(file.stat().st_size for file in Path(table.location(metadata_root)).rglob("*.parquet"))
    print(
        f"\nFive years of weather, extrapolated (figure 9; a made-up listing, real metadata): "
        f"{files:,} files, {table.sizes.sum() / 1e12:.1f} TB; min/max of ts, lat, lng: {size / 1e6:.1f} MB"
    )
    print("ST_Contains(Research Triangle, lat, lng) in a window. In the window: what plain Spark reads, as")
    print("months are its partitions; of all: what it reads where time is a column like others.")
    print(
        f"{'months':>6} {'plain: files':>12} {'GB':>10} {'ours: files':>12} {'GB':>8} {'window/ours':>12} "
        f"{'all/ours':>10} {'plan ms':>8} {'ours ms':>8}"
    )
    problems = []
    for window in WINDOWS:
        sql = (
            f"SELECT * FROM weather WHERE ST_Contains('{_TRIANGLE}', lat, lng) "
            f"AND month >= '{months[0]}' AND month <= '{months[window - 1]}'"
        )
        skipping.disable(spark)
        plain, plain_ms = _planned(spark, sql)
        skipping.enable(spark, metadata_root=metadata_root, modules=[GEOSPATIAL])
        ours, ours_ms = _planned(spark, sql)
        skipping.disable(spark)
        fewer = plain[1] / max(ours[1], 1)
        of_all = table.sizes.sum() / max(ours[1], 1)
        print(
            f"{window:>6} {plain[0]:>12,} {plain[1] / 1e9:>10,.1f} {ours[0]:>12,} {ours[1] / 1e9:>8,.2f} "
            f"{fewer:>11,.0f}x {of_all:>9,.0f}x {plain_ms:>8,.0f} {ours_ms:>8,.0f}"
        )
        touched = _touched(cells) * window
        if ours[0] != touched:
            problems.append(f"weather, {window} months: {ours[0]} files, {touched} lie in the bounds")
        if window == 5 and fewer < TIMES_FEWER:
            problems.append(f"weather, 5 months: {fewer:.0f} times fewer bytes, less than {TIMES_FEWER}")
    return problems


def _planned(spark: Any, sql: str) -> tuple[tuple[int, int], float]:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        found = planned(spark.sql(sql))
        times.append((time.perf_counter() - start) * 1000)
    return found, statistics.median(times)


def _cells() -> Points:
    """Return the bounds of the leaves of a KD-tree: least and greatest latitude, then longitude."""
    lat, lng = (np.arange(*side, _STEP_DEGREES) for side in (_LAT, _LNG))
    points = np.stack(np.meshgrid(lat, lng, indexing="ij"), axis=-1).reshape(-1, 2)
    groups = [points]
    for _ in range(LEVELS):
        groups = [half for group in groups for half in _halves(group)]
    return np.array([[*bounds] for bounds in map(_bounds, groups)])


def _halves(points: Points) -> tuple[Points, Points]:
    axis = int(np.argmax(np.ptp(points, axis=0)))
    order = np.argsort(points[:, axis], kind="stable")
    middle = len(points) // 2
    return points[order[:middle]], points[order[middle:]]


def _bounds(points: Points) -> tuple[float, float, float, float]:
    least, greatest = points.min(axis=0), points.max(axis=0)
    return least[0], greatest[0], least[1], greatest[1]


def _touched(cells: Points) -> int:
    """Return how many cells touch the bounds of the polygon."""
    corners = np.array([[float(each) for each in point.split()] for point in _TRIANGLE[10:-2].split(",")])
    (lng_least, lat_least), (lng_greatest, lat_greatest) = corners.min(axis=0), corners.max(axis=0)
    lat = (cells[:, 0] <= lat_greatest) & (cells[:, 1] >= lat_least)
    lng = (cells[:, 2] <= lng_greatest) & (cells[:, 3] >= lng_least)
    return int(np.count_nonzero(lat & lng))
