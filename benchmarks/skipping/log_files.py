"""The benchmark's table: a log of requests with positions, as many Parquet files, the same at every making.

A file holds six hours (``ts`` is sorted), names of 3 databases (md5, the same ones in 8 files), points of one
cell of 2 by 2 degrees, user agents of one program (the same one in 50 files) in 10 versions, random ``uuid``
and ``value``. 2,000 files of 10,000 rows are 1.4 GB.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 2026
FILES_PER_DATABASES = 8
DATABASES = 3
FILES_PER_AGENT = 50
VERSIONS = 10
HOURS_PER_FILE = 6
CELL_DEGREES = 2.0
_CHROME = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.0.0 Safari/537.36"
_WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64"
AGENTS = (
    f"{_WINDOWS}; rv:109.0) Gecko/20100101 Firefox/",
    f"{_WINDOWS}) {_CHROME} Vivaldi/",
    "curl/",
    "Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/",
    f"{_WINDOWS}) {_CHROME} Edg/",
    "python-requests/",
    "okhttp/",
    f"{_WINDOWS}) {_CHROME} OPR/",
    "Go-http-client/",
    "Wget/",
)
"""Four of ten begin alike, so that bounds cut to 16 or 32 characters do not tell them apart."""
_HOUR_US = 3_600_000_000
_START_US = 1_704_067_200_000_000  # 2024-01-01 in UTC
_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)


@dataclass(frozen=True, slots=True)
class LogFiles:
    """``files`` files of ``rows`` rows each."""

    files: int
    rows: int

    @property
    def name(self) -> str:
        """The name of the folder that they are kept in."""
        return f"log-{self.files}x{self.rows}-seed{SEED}"

    @property
    def cells_in_a_line(self) -> int:
        """Number of cells side by side before the next line of them begins."""
        return math.ceil(math.sqrt(self.files))

    def database(self, file: int, which: int) -> str:
        """Return the name of one of the databases of a file."""
        told = f"{file // FILES_PER_DATABASES}-{which}"
        return "db_" + hashlib.md5(told.encode(), usedforsecurity=False).hexdigest()

    def agent(self, file: int) -> str:
        """Return the user agent of a file but for the version at its end."""
        return AGENTS[file // FILES_PER_AGENT % len(AGENTS)]

    def version(self, file: int, which: int) -> str:
        """Return one of the versions of a file."""
        return f"{100 + file // FILES_PER_AGENT}.0.{which}"

    def corner(self, file: int) -> tuple[float, float]:
        """Return the least latitude and longitude of a file's cell."""
        line, place = divmod(file, self.cells_in_a_line)
        lines = math.ceil(self.files / self.cells_in_a_line)
        return CELL_DEGREES * (line - lines // 2), CELL_DEGREES * (place - self.cells_in_a_line // 2)

    def start_us(self, file: int) -> int:
        """Return when a file begins, in microseconds since the epoch."""
        return _START_US + file * HOURS_PER_FILE * _HOUR_US

    def table(self, file: int) -> pa.Table:
        """Return the rows of one file."""
        random = np.random.default_rng([SEED, file])
        ts = self.start_us(file) + np.sort(random.integers(0, HOURS_PER_FILE * _HOUR_US, self.rows))
        lat, lng = self.corner(file)
        databases = pa.array([self.database(file, which) for which in range(DATABASES)])
        agents = pa.array([self.agent(file) + self.version(file, which) for which in range(VERSIONS)])
        return pa.table(
            {
                "ts": pa.array(ts, pa.timestamp("us", "UTC")),
                "db_name": databases.take(pa.array(random.integers(0, DATABASES, self.rows))),
                "lat": lat + CELL_DEGREES * random.random(self.rows),
                "lng": lng + CELL_DEGREES * random.random(self.rows),
                "ua": agents.take(pa.array(random.integers(0, VERSIONS, self.rows))),
                "uuid": _hexadecimal(random, self.rows),
                "value": random.integers(0, 1 << 40, self.rows),
            }
        )

    def write(self, folder: Path) -> Path:
        """Write what is not there yet and return the folder of the files."""
        target = folder / self.name
        target.mkdir(parents=True, exist_ok=True)
        missing = [number for number in range(self.files) if not _file(target, number).exists()]
        if missing:
            print(f"writing {len(missing):,} files of {self.rows:,} rows", file=sys.stderr)
        with ThreadPoolExecutor(2) as threads:
            for _ in threads.map(lambda number: self._write_one(target, number), missing):
                pass
        return target

    def paths(self, folder: Path) -> Iterator[Path]:
        """Yield the paths of the files."""
        for number in range(self.files):
            yield _file(folder, number)

    def _write_one(self, folder: Path, number: int) -> None:
        unfinished = folder / f"_part-{number:05}.unfinished"
        pq.write_table(self.table(number), unfinished, compression="snappy", use_dictionary=["db_name", "ua"])
        unfinished.rename(_file(folder, number))


def _file(folder: Path, number: int) -> Path:
    return folder / f"part-{number:05}.parquet"


def _hexadecimal(random: np.random.Generator, count: int) -> pa.Array:
    """Return random texts of 32 hexadecimal digits."""
    digits = _HEX[random.integers(0, 16, 32 * count, np.uint8)]
    offsets = np.arange(count + 1, dtype=np.int32) * 32
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(digits))
