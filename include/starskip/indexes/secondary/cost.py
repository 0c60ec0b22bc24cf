"""What a plan costs, in ms: reading index blocks, gathering entries, fetching the survivors' row groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from pyroaring import BitMap64

from starskip.indexes.secondary.entries import addresses_in
from starskip.indexes.secondary.settings import SecondarySettings

_MIB = 1 << 20
_BLOCK_BYTES = 64 << 10
"""About a block of an index."""


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The indexed rows of a table as a fetch meets them; ``row_bytes``: of the columns that a query needs."""

    rows: int
    group_rows: float
    row_bytes: float
    columns: int

    @property
    def groups(self) -> float:
        """The number of row groups."""
        return max(1.0, self.rows / max(self.group_rows, 1.0))

    def groups_of_random(self, rows: float) -> float:
        """Return how many row groups hold so many rows at random places (Cardenas, 1975)."""
        if self.groups <= 1:
            return min(1.0, rows)
        return float(self.groups * -np.expm1(rows * np.log1p(-1 / self.groups)))

    def groups_holding(self, rows: Mapping[str, BitMap64]) -> float:
        """Return how many row groups hold the rows of bitmaps, as if all groups had the average length."""
        found = 0
        for bitmap in rows.values():
            addresses = addresses_in(bitmap)
            # Files lie 2**32 apart: no group reaches over the end of one.
            files, positions = addresses >> np.uint64(32), addresses & np.uint64(0xFFFFFFFF)
            numbers = (files << np.uint64(32)) | (positions // np.uint64(max(int(self.group_rows), 1)))
            found += 1 + int(np.count_nonzero(numbers[1:] != numbers[:-1])) if len(numbers) else 0
        return float(found)


@dataclass(frozen=True, slots=True)
class Cost:
    """Turns what is read into ms; ``functions``: slow ones that are evaluated on each row that is fetched."""

    layout: TableLayout
    settings: SecondarySettings
    functions: int = 0

    def fetch(self, groups: float) -> float:
        """Return the time to fetch so many row groups."""
        layout, settings = self.layout, self.settings
        rows = groups * min(layout.group_rows, layout.rows)
        read = rows * layout.row_bytes / _MIB * settings.column_mib_ms
        return groups * settings.request_ms + read + rows * layout.columns * settings.value_ns / 1e6

    def fetch_random(self, rows: float) -> float:
        """Return the time to fetch so many rows at random places."""
        return self.fetch(self.layout.groups_of_random(rows)) + self.evaluate(rows)

    def fetch_rows(self, rows: Mapping[str, BitMap64]) -> float:
        """Return the time to fetch the rows of bitmaps."""
        return self.fetch(self.layout.groups_holding(rows)) + self.evaluate(sum(map(len, rows.values())))

    def evaluate(self, rows: float) -> float:
        """Return the time to evaluate slow functions on so many rows."""
        return rows * self.functions * self.settings.function_ns / 1e6

    @property
    def scan(self) -> float:
        """Return the time to scan all rows."""
        return self.fetch(self.layout.groups) + self.evaluate(self.layout.rows)

    def gather(self, read_bytes: float, entries: float) -> float:
        """Return the time to read blocks of indexes and gather their entries."""
        blocks = np.ceil(read_bytes / _BLOCK_BYTES)
        return float(blocks * self.settings.block_ms + entries * self.settings.entry_ns / 1e6)
