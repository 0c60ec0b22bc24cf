"""Choose the lists that pay off for an engine that reads whole files: they must cost less than the files.

Files count, not rows: a file is read whole as long as one of its rows survives. So a list can save at most
the files that are still to be read. It is not read if these take less time than the list, nor if a few of its
blocks, intersected with the current rows, show that most of these files stay anyway. Lists are sampled in
"Greedy List Intersection" (Krauthgamer and others, 2008).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from pyroaring import BitMap64

from starskip.errors import StorageError, first_line
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.number_text import count as counted
from starskip.predicates.ordered_values import Mask
from starskip.secondary.access_paths import GramPath, Path, UnionPath, path_indexes
from starskip.secondary.cost import Cost, Stride, TableLayout
from starskip.secondary.entries import addresses_in, file_of
from starskip.secondary.plan import SHORT
from starskip.secondary.postings import PostingReader, Rows
from starskip.secondary.settings import SecondarySettings

AND, _OR = " ∩ ", " ∪ "
_MIB = 1 << 20
_UNREADABLE = (StorageError, ArithmeticError, ValueError)
FileTimes = Mapping[str, npt.NDArray[np.float64]]
"""By segment, the ms to read each of its files, by position; 0 for a file that is skipped anyway."""


@dataclass(frozen=True, slots=True)
class WholeFileReads:
    """Files that an engine reads whole, and the costs of reading them.

    ``to_read``: the files of the metadata that nothing else skips, None for all. ``open_bytes``: the bytes
    that can be read in the time that opening a file takes. ``read_ratio``: the share of a file's bytes in the
    query's columns.
    """

    to_read: Mask | None = None
    open_bytes: float = 0.0
    read_ratio: float = 1.0

    def times(self, metadata: TableMetadata, settings: SecondarySettings) -> FileTimes:
        """Return the time that each file takes."""
        ms = (metadata.sizes * self.read_ratio + self.open_bytes) / _MIB * settings.file_mib_ms
        if self.to_read is not None:
            ms = np.where(self.to_read, ms, 0.0)
        found = {}
        for name, rows in metadata.row_slices.items():
            found[name] = np.zeros(metadata.segments[name].rows)
            live = metadata.live[name]
            found[name][slice(None) if live is None else live] = ms[rows]
        return found


@dataclass
class ChosenLists:
    """The paths that were read, with their rows, and why others were not."""

    read: list[tuple[Path, Rows]] = field(default_factory=list)
    why_not: list[str] = field(default_factory=list)


def path_name(path: Path) -> str:
    """Return a path's name for people, such as ``btree:a ∪ btree:b``."""
    return (_OR if isinstance(path, UnionPath) else AND).join(path_indexes(path))


def chosen_lists(
    paths: Sequence[Path], reader: PostingReader, settings: SecondarySettings, times: FileTimes | None
) -> ChosenLists:
    """Read the paths that pay off, first the path whose own time plus the files that it leaves is least.

    ``times``: None to read all paths of at most ``planning_entries``. A path that cannot be read is left out
    by itself.
    """
    found = ChosenLists()
    lists = []
    for path in paths:
        try:
            each = _List.of(path, reader, settings)
        except _UNREADABLE as error:
            found.why_not.append(f"{path_name(path)} cannot be read: {first_line(error)}")
            continue
        if each.count > settings.planning_entries:
            words = f"has {counted(each.count)} entries for it, too many for a plan"
            found.why_not.append(f"{path_name(path)} {words}")
        else:
            lists.append(each)
    left = None if times is None else _Left(dict(times))
    while lists:
        best = lists[0] if left is None else min(lists, key=left.with_list)
        lists.remove(best)
        try:
            why_not = None if left is None else left.why_not(best, reader, settings.sampled_blocks)
            if why_not is None:
                rows = reader.rows(best.path)
        except _UNREADABLE as error:
            why_not = f"{path_name(best.path)} cannot be read: {first_line(error)}"
        if why_not is not None:
            found.why_not.append(why_not)
            continue
        found.read.append((best.path, rows))
        if left is not None:
            left.intersect(rows)
    found.read.sort(key=lambda each: next(at for at, path in enumerate(paths) if path is each[0]))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class _List:
    """A path before it is read: its entries, the time to gather them, the files that its blocks reach."""

    path: Path
    count: int
    gather_ms: float
    reached: Mapping[str, Mask]

    @classmethod
    def of(cls, path: Path, reader: PostingReader, settings: SecondarySettings) -> _List:
        count = reader.count(path)
        gather_ms = Cost(TableLayout(0, ()), settings).gather(reader.reads(path))
        return cls(path, count, gather_ms, reader.files_reached(path))


@dataclass
class _Left:
    """The files that are still to be read, by their times, and the rows that all lists so far have."""

    times: dict[str, npt.NDArray[np.float64]]
    rows: dict[str, BitMap64] | None = None

    @property
    def ms(self) -> float:
        """The time to read them."""
        return float(sum(each.sum() for each in self.times.values()))

    @property
    def files(self) -> int:
        """Their number."""
        return sum(int(np.count_nonzero(each)) for each in self.times.values())

    def with_list(self, each: _List) -> float:
        """Estimate the time of reading a list and the files that it may leave."""
        reached = [times[each.reached[name]] for name, times in self.times.items() if name in each.reached]
        files = sum(int(np.count_nonzero(of)) for of in reached)
        if not files:
            return each.gather_ms
        # As if its entries lay at random in the files that its blocks reach.
        holding = TableLayout(files, (Stride(1.0, {}, is_page=False),)).units_of_random(each.count)
        return each.gather_ms + float(sum(of.sum() for of in reached)) * float(holding[0]) / files

    def why_not(self, each: _List, reader: PostingReader, sampled_blocks: int) -> str | None:
        """Return why a list is not worth reading, None if it may be."""
        left_ms, files = self.ms, self.files
        name = f"{path_name(each.path)} is not used"
        if not files:
            return f"{name}: it can skip no further file"
        takes = f"its {counted(each.count)} entries take about {each.gather_ms:.2f} ms"
        if each.gather_ms >= left_ms:
            return f"{name}: {takes}, and the files left to read {left_ms:.2f} ms ({_told(files)})"
        if each.gather_ms <= SHORT * left_ms:
            return None
        # A sample of n-grams holds more rows than the path, and would overestimate the files that stay.
        sample = None if isinstance(each.path, GramPath) else reader.sample(each.path, sampled_blocks)
        if sample is None:
            return None
        staying = self._holding(sample)
        doubtful_ms = left_ms - sum(float(self.times[of][at].sum()) for of, at in staying.items())
        if each.gather_ms < doubtful_ms:
            return None
        stay = sum(int(np.count_nonzero(self.times[of][at])) for of, at in staying.items())
        return (
            f"{name}: {takes}, and by a sample of them {counted(stay)} of {_told(files)} "
            "that are left hold survivors"
        )

    def intersect(self, rows: Rows) -> None:
        """Keep the files with a row that this list has as well."""
        found = {}
        for name, times in self.times.items():
            common = self._common(name, rows)
            holding = _files_of(common)
            kept = np.zeros_like(times)
            kept[holding] = times[holding]
            self.times[name] = kept
            found[name] = common
        self.rows = found

    def _common(self, name: str, rows: Rows) -> BitMap64:
        own = rows.get(name, _NONE)
        return own if self.rows is None else own & self.rows.get(name, _NONE)

    def _holding(self, rows: Rows) -> dict[str, npt.NDArray[np.int64]]:
        return {name: _files_of(self._common(name, rows)) for name in rows if name in self.times}


_NONE = BitMap64()


def _told(files: int) -> str:
    return f"{counted(files)} file{'' if files == 1 else 's'}"


def _files_of(rows: BitMap64) -> npt.NDArray[np.int64]:
    return np.unique(file_of(addresses_in(rows)))
