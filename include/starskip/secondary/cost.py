"""Estimate a plan's cost in ms: reading index blocks, gathering entries, fetching the survivors' pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from starskip.predicates.expression import Call, Column, Expression, nodes
from starskip.secondary.entries import addresses_in
from starskip.secondary.row_filter import columns_in
from starskip.secondary.settings import SecondarySettings
from starskip.secondary.spatial_functions import CONTAINS, DISTANCE

_MIB = 1 << 20


Units = tuple[float, ...]
"""The number of units of each stride that a fetch reads."""
Blocks = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]
"""The first and the last address of each block of an index."""
MOST_OF_A_CHUNK = 0.5
"""A column chunk is read whole if more of it would be read: Arrow decodes several chunks at once."""


@dataclass(frozen=True, slots=True)
class Reads:
    """Counts the blocks of indexes that a path reads, and the keys, ranges and n-grams that it looks up.

    ``entries``: entries to gather; entries that follow from the bounds of blocks cost nothing. ``stretches``:
    stretches of 65,536 rows over which the entries of blocks are scattered, summed over blocks. ``at_ends``:
    entries of blocks at the ends of a range or at the border of a box, for which no bitmap serves.
    ``unread``: blocks that are not in memory.
    """

    blocks: int
    lookups: int
    entries: int
    stretches: int = 0
    at_ends: int = 0
    unread: int = 0


@dataclass(frozen=True, slots=True)
class Stride:
    """Columns that are read in units of ``rows`` rows: row groups, or pages where a page index exists.

    ``column_bytes``: stored bytes of a row in each column, by its name. ``texts``: the columns whose values
    vary in length.
    """

    rows: float
    column_bytes: Mapping[str, float]
    is_page: bool
    texts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class TableLayout:
    """The indexed rows of a table as a fetch meets them, in ``files`` files.

    ``strides``: of the columns that a query needs; the first stride is row groups, even if no column has it.
    """

    rows: int
    strides: tuple[Stride, ...]
    files: int = 1

    @cached_property
    def units(self) -> Units:
        """The units of each stride in all rows."""
        return tuple(max(1.0, self.rows / max(each.rows, 1.0)) for each in self.strides)

    def units_of_random(self, rows: float) -> Units:
        """Return how many units hold ``rows`` rows at random places (Cardenas, 1975)."""
        return tuple(_cardenas(each, rows) for each in self.units)

    def units_of_blocks(self, blocks: Blocks, rows: float) -> Units:
        """Return how many units hold ``rows`` rows of index blocks with these first and last addresses."""
        lows, highs = blocks
        lengths = highs - lows
        found = []
        for stride, own in zip(self.strides, self.units, strict=True):
            reached = float(np.minimum(lengths / stride.rows + 1, own).sum())
            found.append(_cardenas(min(reached, own), rows))
        return tuple(found)

    def units_holding(self, rows: Mapping[str, BitMap64]) -> Units:
        """Return how many units hold the rows of bitmaps, as if all units had their stride's mean length."""
        found = [0.0] * len(self.strides)
        for bitmap in rows.values():
            addresses = addresses_in(bitmap)
            if len(addresses):
                for at, stride in enumerate(self.strides):
                    found[at] += _units_reached(addresses, max(int(stride.rows), 1))
        return tuple(found)


def _units_reached(addresses: npt.NDArray[np.uint64], rows: int) -> int:
    """Return how many units of ``rows`` rows hold at least one of the rising addresses."""
    # Files lie 2**32 apart: no unit reaches over the end of one.
    files = np.arange(int(addresses[0]) >> 32, (int(addresses[-1]) >> 32) + 1, dtype=np.uint64)
    begins = files << np.uint64(32)
    ends = np.searchsorted(addresses, begins + np.uint64(1 << 32))
    held = np.diff(ends, prepend=0) > 0
    begins, ends = begins[held], ends[held]
    units = (addresses[ends - 1] - begins) // np.uint64(rows) + np.uint64(1)
    in_all = int(units.sum())
    if in_all < len(addresses):
        # Fewer units than addresses: it is quicker to look up where each unit begins.
        lengths = units.astype(np.int64)
        numbers = np.arange(in_all) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        firsts = np.searchsorted(
            addresses, np.repeat(begins, lengths) + numbers.astype(np.uint64) * np.uint64(rows)
        )
        return int(np.count_nonzero(np.diff(firsts, append=len(addresses))))
    of_files = np.repeat(np.arange(len(begins)), np.diff(ends, prepend=0))
    unit_of = (addresses - begins[of_files]) // np.uint64(rows)
    return 1 + int(np.count_nonzero((np.diff(unit_of) != 0) | (np.diff(of_files) != 0)))


_OF_TEXTS = frozenset({"Like", "Contains", "StartsWith", "EndsWith"})
_SLOW = frozenset({CONTAINS, DISTANCE, "Levenshtein"})
"""Functions that cost more for a row than reading it."""


@dataclass(frozen=True)
class Cost:
    """Turns counts of reads into ms.

    ``columns``: the columns of the answer. ``predicates``: the predicates by which a scan filters.
    """

    layout: TableLayout
    settings: SecondarySettings
    columns: frozenset[str] = frozenset()
    predicates: tuple[Expression, ...] = ()

    @cached_property
    def _filters(self) -> Mapping[int, tuple[tuple[str, ...], float]]:
        """The columns of each predicate, and its ns for one row."""
        return {id(each): (columns_in(each), self._row_ns(each)) for each in self.predicates}

    def _row_ns(self, predicate: Expression) -> float:
        settings, found = self.settings, 0.0
        for each in nodes(predicate):
            if isinstance(each, Call) and each.name in _SLOW:
                found += settings.function_ns
            elif isinstance(each, Call) and each.name in _OF_TEXTS:
                found += settings.text_ns
            elif isinstance(each, Column):
                found += settings.value_ns
        return found

    def fetch(self, units: Units, rows: float, filtered: Sequence[Expression], share: float) -> float:
        """Return the time to fetch rows by their addresses, which lie in ``units`` of each stride.

        The predicates ``filtered`` are applied first, on their own columns; the other columns are read only
        for the share of rows that stays.
        """
        return self._read_rows(units, rows, filtered, share) + rows * self.settings.row_ns / 1e6

    def _read_rows(self, units: Units, rows: float, filtered: Sequence[Expression], share: float) -> float:
        later = units
        found = 0.0
        first: frozenset[str] = frozenset()
        if filtered:
            filters = [self._filters[id(each)] for each in filtered]
            first = frozenset(name for names, _ in filters for name in names)
            found += self._read(units, first) + rows * sum(ns for _, ns in filters) / 1e6
            of_random = self.layout.units_of_random(rows * share)
            later = tuple(map(min, units, of_random))
        return found + self._read(later, self.columns - first)

    def _read(self, units: Units, names: frozenset[str]) -> float:
        """Return the time to read columns: by pages, or in whole row groups where most pages are needed."""
        layout, settings = self.layout, self.settings
        if not names:
            return 0.0
        groups = units[0]
        group_rows = min(groups * layout.strides[0].rows, layout.rows)
        found = min(1.0, groups) * settings.fetch_ms + min(float(layout.files), groups) * settings.file_ms
        for number, stride in zip(units, layout.strides, strict=True):
            row_bytes = {name: size for name, size in stride.column_bytes.items() if name in names}
            rows = min(number * stride.rows, layout.rows)
            if stride.is_page and rows <= MOST_OF_A_CHUNK * group_rows:
                found += number * len(row_bytes) * settings.page_ms
            else:
                rows = group_rows
                found += groups * len(row_bytes) * settings.request_ms
            texts = len(stride.texts & row_bytes.keys())
            row_ns = texts * settings.decode_text_ns + (len(row_bytes) - texts) * settings.decode_ns
            found += rows * (sum(row_bytes.values()) / _MIB * settings.column_mib_ms + row_ns / 1e6)
        return found

    def scan(self, share: float = 1.0) -> float:
        """Return the time to scan all rows; ``share`` of them satisfies the predicates."""
        return self._read_rows(self.layout.units, self.layout.rows, self.predicates, share)

    def gather(self, reads: Reads) -> float:
        """Return the time to look keys up, to read blocks of indexes and to gather their entries."""
        settings = self.settings
        of_entries = (
            reads.entries * settings.entry_ns
            + reads.stretches * settings.stretch_ns
            + reads.at_ends * settings.end_entry_ns
        )
        return self.look_up(reads) + of_entries / 1e6

    def look_up(self, reads: Reads) -> float:
        """Return the time to read blocks of indexes for a few rows, when only their entries are gathered."""
        settings = self.settings
        held_ms = reads.lookups * settings.lookup_ms + reads.blocks * settings.held_block_ms
        return held_ms + reads.unread * settings.block_ms


def _cardenas(units: float, rows: float) -> float:
    if units <= 1:
        return min(1.0, rows)
    return -units * math.expm1(rows * math.log1p(-1 / units))
