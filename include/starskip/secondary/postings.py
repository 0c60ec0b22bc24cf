"""Read the row addresses of access paths from the runs of all segments, and count them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyroaring import BitMap64

from starskip.secondary.access_paths import (
    AllOfPath,
    GramPath,
    Path,
    PointPath,
    RangePath,
    UnionPath,
    WithoutPath,
)
from starskip.secondary.cost import Blocks, Reads
from starskip.secondary.entries import addresses_in, bitmap_of, rising_bitmap
from starskip.secondary.gram_lists import count_gram, gram_blocks, gram_rows
from starskip.secondary.intersection import (
    LAST_ADDRESS,
    Numbers,
    Pieces,
    PostingInput,
    intersection,
    pieces_together,
    union,
)
from starskip.secondary.points import box_of, count_points, points_held, reads_of_points
from starskip.secondary.range_reads import BlockReads, count_range, reads_of_range
from starskip.secondary.run_reader import ReadCounts, RunReader
from starskip.secondary.weighed_lists import WeighedLists, Window
from starskip.secondary.zones import zones_within

_STRETCH_ROWS = 1 << 16
Rows = Mapping[str, BitMap64]
"""Bitmaps of addresses by segment; a missing segment has no address."""


@dataclass(frozen=True)
class IndexedSegment:
    """A segment of indexed files: ``file_rows`` by position, the ``live`` files, and runs by index."""

    name: str
    file_rows: npt.NDArray[np.int64]
    live: npt.NDArray[np.bool_]
    runs: Mapping[str, tuple[RunReader, ...]]
    zones: Mapping[str, pa.Table] = field(default_factory=dict)

    @cached_property
    def all_rows(self) -> BitMap64:
        """The addresses of all rows of live files."""
        found = BitMap64()
        for file in np.flatnonzero(self.live).tolist():
            found.add_range(file << 32, (file << 32) + int(self.file_rows[file]))
        return found


@dataclass
class PostingReader:
    """Reads paths of one query; ``read`` counts the reads by index."""

    segments: tuple[IndexedSegment, ...]
    read: dict[str, ReadCounts] = field(default_factory=dict)
    _rows: dict[int, tuple[Path, dict[str, BitMap64]]] = field(default_factory=dict)
    _counts: dict[int, tuple[Path, int]] = field(default_factory=dict)
    _pieces_of: dict[tuple[int, str], tuple[Path, Pieces]] = field(default_factory=dict)

    def counts(self, name: str) -> ReadCounts:
        """Return the counts of an index."""
        return self.read.setdefault(name, ReadCounts())

    def count(self, path: Path) -> int:
        """Return the number of a path's entries: within 5 % for ranges, an upper bound for n-grams.

        For boxes and shapes it is an estimate by the blocks and a sample of the blocks at the border. Entries
        of files that are gone or changed count too, until they are optimized away. The count is kept, since a
        plan needs it again for every path that it weighs.
        """
        if id(path) not in self._counts:
            self._counts[id(path)] = path, self._count(path)
        return self._counts[id(path)][1]

    def _count(self, path: Path) -> int:
        match path:
            case UnionPath(paths=paths):
                return sum(map(self.count, paths))
            case AllOfPath(paths=paths):
                return min(map(self.count, paths))
            case WithoutPath(path=inner):
                return max(0, sum(len(each.all_rows) for each in self.segments) - self.count(inner))
            case PointPath():
                # One sample for all segments, since each sampled block may be a request to an object store.
                return count_points(path, [run for each in self.segments for run in _runs(path, each)])
            case GramPath():
                return sum(
                    min(_grams_counted(path, _runs(path, each)), len(each.all_rows)) for each in self.segments
                )
            case RangePath():
                return sum(_entries_of_ranges(path, each) for each in self.segments)

    def reads(self, path: Path) -> Reads:
        """Return the reads of a path in its indexes."""
        match path:
            case UnionPath(paths=paths) | AllOfPath(paths=paths):
                of_paths = [self.reads(each) for each in paths]
                return Reads(
                    sum(each.blocks for each in of_paths),
                    sum(each.lookups for each in of_paths),
                    sum(each.entries for each in of_paths),
                    sum(each.stretches for each in of_paths),
                    sum(each.at_ends for each in of_paths),
                    sum(each.unread for each in of_paths),
                )
            case WithoutPath(path=inner):
                return self.reads(inner)
        runs = [run for segment in self.segments for run in _runs(path, segment)]
        entries = self.count(path)
        match path:
            case RangePath(ranges=ranges):
                found = [reads_of_range(run, each) for run in runs for each in ranges.ranges]
                lookups = len(ranges.ranges)
            case PointPath():
                found, lookups = [reads_of_points(path, run) for run in runs], 1
            case GramPath():
                of_keys = [
                    (run, block) for run in runs for each in path.keys for block in gram_blocks(run, each)
                ]
                unread = sum(not run.is_held(block) for run, block in of_keys)
                found, lookups = [BlockReads(len(of_keys), unread, 0, entries)], len(path.grams)
        at_ends = max(0, entries - sum(each.within for each in found))
        entries = max(0, entries - sum(each.told for each in found))
        blocks = sum(each.blocks for each in found)
        stretches, unread = min(entries, blocks * self._stretches), sum(each.unread for each in found)
        return Reads(blocks, lookups * len(runs), entries, stretches, at_ends, unread)

    @cached_property
    def _stretches(self) -> int:
        """The number of stretches of 65,536 rows, the units of bitmaps, in all files."""
        return sum(int((-(-each.file_rows // _STRETCH_ROWS)).sum()) for each in self.segments)

    def blocks(self, path: Path) -> Blocks:
        """Return the first and the last address of each block that a path may read; none is read."""
        pieces = pieces_together([self._pieces(path, segment) for segment in self.segments])
        return pieces.lows.astype(np.float64), pieces.highs.astype(np.float64)

    def pieces(self, path: Path) -> int:
        """Return the number of pieces in which a path may be read."""
        return sum(len(self._pieces(path, segment)) for segment in self.segments)

    def files_reached(self, path: Path) -> dict[str, npt.NDArray[np.bool_]]:
        """Return by segment the files, by position, that blocks of a path reach; none is read."""
        found = {}
        for segment in self.segments:
            pieces, files = self._pieces(path, segment), len(segment.file_rows)
            shift, end_of_files = np.uint64(32), np.uint64(files)
            begin = np.minimum(pieces.lows >> shift, end_of_files).astype(np.int64)
            end = np.minimum((pieces.highs >> shift) + np.uint64(1), end_of_files).astype(np.int64)
            open_at = np.bincount(begin, minlength=files + 1) - np.bincount(end, minlength=files + 1)
            found[segment.name] = np.cumsum(open_at)[:files] > 0
        return found

    def rows(self, path: Path) -> dict[str, BitMap64]:
        """Return all addresses of a path by segment; they are kept, since a plan needs them again."""
        if id(path) not in self._rows:
            self._rows[id(path)] = path, {each.name: self._read(path, each) for each in self.segments}
        return self._rows[id(path)][1]

    def near_share(self, path: Path, rows: Rows) -> float:
        """Return the share of a path's pieces that may hold ``rows``; only these pieces are read for them."""
        pieces = [(self._pieces(path, each), rows.get(each.name)) for each in self.segments]
        near = sum(PostingInput(each).unread_near(mine) for each, mine in pieces if mine)
        return near / max(sum(len(each) for each, _ in pieces), 1)

    def within(self, path: Path, rows: Rows) -> dict[str, BitMap64]:
        """Return the ``rows`` that belong to a path; only the path's pieces near them are read."""
        found = {}
        for segment in self.segments:
            mine = rows.get(segment.name)
            if mine is None or not mine:
                continue
            if isinstance(path, WithoutPath) and id(path) not in self._rows:
                kept = mine - self._input(path.path, segment).among(mine, LAST_ADDRESS)
            else:
                kept = self._input(path, segment).among(mine, LAST_ADDRESS)
            if kept:
                found[segment.name] = kept
        return found

    def intersected(self, paths: Sequence[Path]) -> dict[str, BitMap64]:
        """Return the addresses that all paths have, by segment."""
        lists = [path for path in paths if not isinstance(path, WithoutPath)]
        if not lists:
            rows: dict[str, BitMap64] = self.rows(paths[0])
        else:
            rows = {
                each.name: intersection([self._input(path, each) for path in lists]) for each in self.segments
            }
        for path in paths:
            if isinstance(path, WithoutPath):
                rows = self.within(path, rows)
        return rows

    def windows(
        self, paths: Sequence[Path], entries: int, weighed: WeighedLists | None = None
    ) -> Iterator[Window]:
        """Yield the addresses that all paths have, each once, for a caller that may stop early.

        The first list is read in steps of rising length, ``entries`` at first; the other lists only near each
        step. With ``weighed`` a list with too many blocks near a step is not intersected: the caller tests
        the rows instead.
        """
        first, *others = sorted(paths, key=lambda path: isinstance(path, WithoutPath))
        for segment in self.segments:
            to_meet = [(path, self._input(path, segment)) for path in others]
            for step in self._input(first, segment).steps(entries):
                entries = max(entries, 2 * len(step))
                window = Window(segment.name, step, (first,))
                for path, each in to_meet:
                    if not window.rows:
                        break
                    if weighed is None or weighed.is_worth(path, each, window):
                        met = (*window.paths, path)
                        window = Window(segment.name, each.among(window.rows), met)
                if window.rows:
                    yield window

    def _input(self, path: Path, segment: IndexedSegment) -> PostingInput:
        if id(path) in self._rows:
            return PostingInput(held=self._rows[id(path)][1][segment.name])
        return PostingInput(self._pieces(path, segment))

    def _read(self, path: Path, segment: IndexedSegment) -> BitMap64:
        return self._input(path, segment).window(0, LAST_ADDRESS)

    def sample(self, path: Path, blocks: int) -> dict[str, BitMap64] | None:
        """Return sampled entries of a path by segment, read from a few blocks.

        For a range or a box the blocks are its own; None if they would be about all its blocks. For n-grams
        the sample is the rows of the rarest gram, which include the path's rows. None for any other path.
        """
        if isinstance(path, GramPath) and path.shared == len(path.grams) > 1:
            return {each.name: self._rarest(path, each) for each in self.segments}
        if not isinstance(path, RangePath | PointPath):
            return None
        candidates = [
            (each.name, run, _whole_blocks(path, run)) for each in self.segments for run in _runs(path, each)
        ]
        ends = np.cumsum([len(of_run) for _, _, of_run in candidates])
        if not len(ends) or ends[-1] <= 2 * blocks:
            return None
        chosen = np.linspace(0, ends[-1] - 1, blocks).astype(np.int64)
        counts = self.counts(path.index.specification)
        found: dict[str, list[BitMap64]] = {}
        for each in chosen.tolist():
            number = int(np.searchsorted(ends, each, side="right"))
            name, run, of_run = candidates[number]
            found.setdefault(name, []).extend(run.whole_blocks(of_run[[each - ends[number]]], counts))
        return {name: union(parts) for name, parts in found.items()}

    def _rarest(self, path: GramPath, segment: IndexedSegment) -> BitMap64:
        """Return the rows of the rarest gram, all rows if it is stopped."""
        runs = _runs(path, segment)
        rows = gram_rows(runs, min(path.keys, key=lambda each: count_gram(runs, each)))
        if rows is None:
            return segment.all_rows
        self.counts(path.index.specification).entries += len(rows)
        return rows

    def _pieces(self, path: Path, segment: IndexedSegment) -> Pieces:
        """Return the pieces of a path in a segment, none of them read; they are kept."""
        key = id(path), segment.name
        if key not in self._pieces_of:
            self._pieces_of[key] = path, self._found_pieces(path, segment)
        return self._pieces_of[key][1]

    def _found_pieces(self, path: Path, segment: IndexedSegment) -> Pieces:
        runs = () if isinstance(path, UnionPath | AllOfPath | WithoutPath) else _runs(path, segment)
        match path:
            case RangePath(index=index) if index.specification in segment.zones:
                return _at_once(lambda: _zoned(path, segment))
            case RangePath(ranges=ranges, index=index):
                counts = self.counts(index.specification)
                return pieces_together([run.pieces(each, counts) for run in runs for each in ranges.ranges])
            case PointPath():
                return pieces_together([self._points(path, run) for run in runs])
            case GramPath():
                return _at_once(lambda: self._grams(path, segment))
            case UnionPath(paths=paths):
                return pieces_together([self._pieces(each, segment) for each in paths])
            case AllOfPath(paths=paths):
                return _at_once(lambda: intersection([self._input(each, segment) for each in paths]))
            case WithoutPath(path=inner):
                return _at_once(lambda: segment.all_rows - self._read(inner, segment))

    def _points(self, path: PointPath, run: RunReader) -> Pieces:
        blocks, inside = run.point_blocks(box_of(path))
        is_whole = inside & (path.shape is None)
        counts = self.counts(path.index.specification)

        def parts(numbers: Numbers, among: BitMap64 | None) -> Iterable[BitMap64]:
            mine = is_whole[numbers]
            yield from run.whole_blocks(blocks[numbers[mine]], counts)
            if not mine.all():
                held = points_held(path, run, blocks[numbers[~mine]], among)
                counts.entries += len(held)
                yield bitmap_of(held)

        low, high = (each[blocks] for each in run.reach)
        return Pieces(low, high, parts)

    def _grams(self, path: GramPath, segment: IndexedSegment) -> BitMap64:
        """Return the rows that have enough of the grams; the grams of one row may lie in several runs."""
        counts, runs = self.counts(path.index.specification), _runs(path, segment)
        lists, stopped = [], 0
        for wanted in sorted(path.keys, key=lambda each: count_gram(runs, each)):
            found = gram_rows(runs, wanted)
            if found is None:
                stopped += 1
                continue
            counts.entries += len(found)
            if not found and path.shared == len(path.grams):
                # No text has all grams, whatever the remaining lists hold.
                return found
            lists.append(found)
        needed = path.shared - stopped
        if needed <= 0 or not lists:
            return segment.all_rows
        if needed >= len(lists):
            return reduce(lambda one, two: one & two, sorted(lists, key=len))
        addresses, times = np.unique(
            np.concatenate([addresses_in(each) for each in lists]), return_counts=True
        )
        return rising_bitmap(addresses[times >= needed])


def _at_once(read: Callable[[], BitMap64]) -> Pieces:
    """Return a piece that may hold any address."""
    return Pieces(np.zeros(1, np.uint64), np.full(1, LAST_ADDRESS, np.uint64), lambda *_: [read()])


def _zoned(path: RangePath, segment: IndexedSegment) -> BitMap64:
    zones = segment.zones[path.index.specification]
    chosen = zones.filter(pa.array(zones_within(zones, path.ranges, zones["low"].type)))
    found = BitMap64()
    for file, first, rows in zip(
        *(chosen[name].to_pylist() for name in ("file", "first_row", "rows")), strict=True
    ):
        if segment.live[file]:
            found.add_range((file << 32) + first, (file << 32) + first + rows)
    return found


def _runs(path: RangePath | PointPath | GramPath, segment: IndexedSegment) -> tuple[RunReader, ...]:
    return segment.runs.get(path.index.specification, ())


def _whole_blocks(path: RangePath | PointPath, run: RunReader) -> Numbers:
    """Return the blocks of a run whose entries all belong to a path."""
    if isinstance(path, RangePath):
        within = [run.overlapping(each)[1] for each in path.ranges.ranges]
        return np.concatenate([np.empty(0, np.int64), *(np.asarray(each, np.int64) for each in within)])
    blocks, inside = run.point_blocks(box_of(path))
    return blocks[inside & (path.shape is None)]


def _entries_of_ranges(path: RangePath, segment: IndexedSegment) -> int:
    """Count the entries of a path's ranges, by the clustering key where the segment lacks the index."""
    if path.index.specification in segment.zones:
        return len(_zoned(path, segment))
    return sum(count_range(run, each) for each in path.ranges.ranges for run in _runs(path, segment))


def _grams_counted(path: GramPath, runs: Sequence[RunReader]) -> int:
    counted = sorted(count_gram(runs, each) for each in path.keys)
    # A text with ``shared`` of the grams has one outside the ``shared - 1`` most frequent grams.
    return sum(counted[: len(counted) - path.shared + 1])
