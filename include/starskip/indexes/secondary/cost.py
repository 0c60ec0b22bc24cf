"""What a plan costs, in ms: reading index blocks, gathering entries, fetching the survivors' pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from starskip.indexes.secondary.entries import addresses_in
from starskip.indexes.secondary.settings import SecondarySettings

_MIB = 1 << 20
_BLOCK_BYTES = 64 << 10
"""About a block of an index."""


Units = npt.NDArray[np.float64]
"""How many units of each stride a fetch reads."""


@dataclass(frozen=True, slots=True)
class Stride:
    """Columns that are read in units of so many rows each: row groups, or pages where they are indexed.

    ``row_bytes``: stored bytes of a row in these columns.
    """

    rows: float
    row_bytes: float
    columns: int
    is_page: bool


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The indexed rows of a table as a fetch meets them; ``strides``: of the columns that a query needs."""

    rows: int
    strides: tuple[Stride, ...]

    @property
    def units(self) -> Units:
        """The units of each stride in all rows."""
        return np.array([max(1.0, self.rows / max(each.rows, 1.0)) for each in self.strides])

    def units_of_random(self, rows: float) -> Units:
        """Return how many units hold so many rows at random places (Cardenas, 1975)."""
        units = self.units
        few = units <= 1
        share = np.log1p(-1 / np.where(few, 2.0, units))
        return np.where(few, np.minimum(1.0, rows), -units * np.expm1(rows * share))

    def units_holding(self, rows: Mapping[str, BitMap64]) -> Units:
        """Return how many units hold the rows of bitmaps, as if all of a stride had the average length."""
        found = np.zeros(len(self.strides))
        for bitmap in rows.values():
            addresses = addresses_in(bitmap)
            if not len(addresses):
                continue
            # Files lie 2**32 apart: no unit reaches over the end of one.
            files, positions = addresses >> np.uint64(32), addresses & np.uint64(0xFFFFFFFF)
            for at, stride in enumerate(self.strides):
                numbers = (files << np.uint64(32)) | (positions // np.uint64(max(int(stride.rows), 1)))
                found[at] += 1 + np.count_nonzero(numbers[1:] != numbers[:-1])
        return found


@dataclass(frozen=True, slots=True)
class Cost:
    """Turns what is read into ms; ``functions``: slow ones that are evaluated on each row that is fetched."""

    layout: TableLayout
    settings: SecondarySettings
    functions: int = 0

    def fetch(self, units: Units) -> float:
        """Return the time to fetch so many units of each stride."""
        layout, settings = self.layout, self.settings
        found = 0.0
        for number, stride in zip(units.tolist(), layout.strides, strict=True):
            rows = number * min(stride.rows, layout.rows)
            begin = settings.page_ms * stride.columns if stride.is_page else settings.request_ms
            read = rows * stride.row_bytes / _MIB * settings.column_mib_ms
            found += number * begin + read + rows * stride.columns * settings.value_ns / 1e6
        return found

    def fetch_random(self, rows: float) -> float:
        """Return the time to fetch so many rows at random places."""
        return self.fetch(self.layout.units_of_random(rows)) + self.evaluate(rows)

    def fetch_rows(self, rows: Mapping[str, BitMap64]) -> float:
        """Return the time to fetch the rows of bitmaps."""
        return self.fetch(self.layout.units_holding(rows)) + self.evaluate(sum(map(len, rows.values())))

    def evaluate(self, rows: float) -> float:
        """Return the time to evaluate slow functions on so many rows."""
        return rows * self.functions * self.settings.function_ns / 1e6

    @property
    def scan(self) -> float:
        """Return the time to scan all rows."""
        return self.fetch(self.layout.units) + self.evaluate(self.layout.rows)

    def gather(self, read_bytes: float, entries: float) -> float:
        """Return the time to read blocks of indexes and gather their entries."""
        blocks = np.ceil(read_bytes / _BLOCK_BYTES)
        return float(blocks * self.settings.block_ms + entries * self.settings.entry_ns / 1e6)
