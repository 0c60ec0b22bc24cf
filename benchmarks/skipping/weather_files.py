"""Weather-like measurements as many Parquet files: five years by month and grid cell, the same each time.

As in "Extensible Data Skipping", section V: a grid of 4 km over the contiguous United States, 33 columns, and
the points of each month in files by a KD-tree. A month has 32 files where the paper's has 8,192, and a file
a sample of the hours of its points: 60 months of 32 files of 500 rows are 0.1 GB.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

MEASURES = ("temp", "wind_speed", "pressure", *(f"measure_{number:02}" for number in range(27)))
TRIANGLE = "POLYGON ((-79.06 35.91, -78.90 36.03, -78.60 35.80, -78.65 35.72, -79.06 35.91))"
"""Chapel Hill, Durham, Raleigh: the Research Triangle of figures 9 and 10."""
_CHANCE = 2021
_STEP_DEGREES = 0.04
_LAT, _LNG = (24.5, 49.5), (-124.7, -67.0)
_HOUR_US = 3_600_000_000
_FIRST_YEAR = 2021
Points = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WeatherFiles:
    """``months`` of ``cells`` files, a power of two, of ``rows`` rows each."""

    months: int
    cells: int
    rows: int

    @property
    def name(self) -> str:
        """The name of the folder that they are kept in."""
        return f"weather-{self.months}x{self.cells}x{self.rows}"

    @property
    def files(self) -> int:
        """Number of files."""
        return self.months * self.cells

    @cached_property
    def groups(self) -> list[Points]:
        """The points of each cell, (latitude, longitude): the leaves of a KD-tree over the grid."""
        lat, lng = (np.arange(*side, _STEP_DEGREES) for side in (_LAT, _LNG))
        groups = [np.stack(np.meshgrid(lat, lng, indexing="ij"), axis=-1).reshape(-1, 2)]
        while len(groups) < self.cells:
            groups = [half for group in groups for half in _halves(group)]
        return groups

    def month(self, number: int) -> str:
        """Return a month's name, as its folder has it."""
        return f"{_FIRST_YEAR + number // 12}-{number % 12 + 1:02}"

    def table(self, number: int) -> pa.Table:
        """Return the rows of one file, sorted by time."""
        month, cell = divmod(number, self.cells)
        random = np.random.default_rng([_CHANCE, number])
        start, end = (
            int(np.datetime64(f"{self.month(each)}-01", "us").astype(np.int64)) for each in (month, month + 1)
        )
        hours = np.sort(random.integers(0, (end - start) // _HOUR_US, self.rows))
        points = self.groups[cell][random.integers(0, len(self.groups[cell]), self.rows)]
        measured = {
            name: np.round(random.normal(15 - points[:, 0] / 10, 8, self.rows), 2).astype(np.float32)
            for name in MEASURES
        }
        ts = pa.array(start + hours * _HOUR_US, pa.timestamp("us", "UTC"))
        return pa.table({"ts": ts, "lat": points[:, 0], "lng": points[:, 1], **measured})

    def write(self, folder: Path) -> Path:
        """Write what is not there yet and return the folder of the files."""
        target = folder / self.name
        for number in range(self.months):
            (target / f"month={self.month(number)}").mkdir(parents=True, exist_ok=True)
        paths = list(self.paths(target))
        missing = [number for number, path in enumerate(paths) if not path.exists()]
        assert len(self.groups) == self.cells, "cells: write a power of two"
        with ThreadPoolExecutor(2) as threads:
            for _ in threads.map(lambda number: self._write_one(paths[number], number), missing):
                pass
        return target

    def paths(self, folder: Path) -> Iterator[Path]:
        """Yield the paths of the files."""
        for number in range(self.files):
            month, cell = divmod(number, self.cells)
            yield folder / f"month={self.month(month)}" / f"part-{cell:05}.parquet"

    def _write_one(self, path: Path, number: int) -> None:
        unfinished = path.with_name(f"_{path.name}.unfinished")
        pq.write_table(self.table(number), unfinished, compression="snappy", use_dictionary=False)
        unfinished.rename(path)


def _halves(points: Points) -> tuple[Points, Points]:
    axis = int(np.argmax(np.ptp(points, axis=0)))
    order = np.argsort(points[:, axis], kind="stable")
    middle = len(points) // 2
    return points[order[:middle]], points[order[middle:]]
