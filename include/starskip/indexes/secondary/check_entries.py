"""Count what is wrong with the entries of secondary indexes, of any size: cut by key, a task a part.

Each live row has one entry of a b-tree, each point one of an r-tree, and sampled texts have the n-grams that
the index says; keys are in order within blocks and from one to the next. Runs that were checked in an earlier
night are not read again: files of the store do not change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.indexes.secondary.check_parts import (
    FAULTS,
    FOUND,
    TOTALS,
    PartToCheck,
    PointsToCheck,
    SegmentFiles,
    Totals,
)
from starskip.indexes.secondary.check_sample import SAMPLED_FILES, TextSample, TextsToSample
from starskip.indexes.secondary.data_file import DataFileOfTable
from starskip.indexes.secondary.merge_cuts import RunFiles, RunsToCut, key_parts
from starskip.indexes.secondary.merge_segments import MergePart
from starskip.indexes.secondary.run_files import paired
from starskip.indexes.secondary.secondary_index import Kind, SecondaryIndex
from starskip.indexes.secondary.table_state import TableState
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.storage.manifest import DataFile

ENTRIES = "entries"
"""Property of a build: ``faults`` by index, and ``sound`` runs by index and segment."""
CheckedRuns = Mapping[str, Mapping[str, str]]
"""By index and segment, the digest of the names of runs in which nothing is wrong."""


@dataclass(frozen=True, slots=True)
class EntryChecks:
    """``faults``: counts by index, each of FAULTS; ``sound``: the runs in which nothing is wrong."""

    faults: Mapping[str, Mapping[str, int]]
    sound: CheckedRuns

    def to_property(self) -> dict[str, Any]:
        """Return the checks as plain JSON."""
        return {"faults": self.faults, "sound": self.sound}


@dataclass(frozen=True, slots=True)
class _OfSegment:
    index: SecondaryIndex
    segment: str
    runs: tuple[RunFiles, ...]
    digest: str

    def is_known(self, checked: CheckedRuns) -> bool:
        return checked.get(self.index.specification, {}).get(self.segment) == self.digest


def check_entries(
    engine: Engine, metadata: TableMetadata, state: TableState, checked: CheckedRuns | None = None
) -> EntryChecks:
    """Return what is wrong with each index; runs that ``checked`` knows are taken for sound.

    ``state``: the files of the table as they are now, of which points and texts are read. Raises StorageError
    and SourceError naming a file that is gone or damaged.
    """
    checked = checked or {}
    every = list(_segments(metadata))
    wanted = [each for each in every if not each.is_known(checked)]
    files = _files(metadata)
    counts = {(each.index.specification, each.segment): dict.fromkeys(FAULTS, 0) for each in every}
    items = [*_parts(engine, metadata, state, wanted, files), *_points(state, wanted, files)]
    if items:
        most = sum(len(files[each.segment].windows) + 1 for each in wanted)
        found = engine.rows_of_items(items, _found, FOUND)
        of_readable = {name: _readable(name, of, state) for name, of in files.items()}
        totals = found.merge(["index", "segment", "window"], Totals(files, of_readable), TOTALS)
        for row in totals.gather("checked entries", most).to_pylist():
            of = counts[row["index"], row["segment"]]
            for name in FAULTS:
                of[name] += row[name]
    return _checks(every, counts)


def _checks(every: Sequence[_OfSegment], counts: Mapping[tuple[str, str], Mapping[str, int]]) -> EntryChecks:
    faults: dict[str, dict[str, int]] = {}
    sound: dict[str, dict[str, str]] = {}
    for each in every:
        name = each.index.specification
        of = counts[name, each.segment]
        total = faults.setdefault(name, dict.fromkeys(FAULTS, 0))
        for fault in FAULTS:
            total[fault] += of[fault]
        if not any(of.values()):
            sound.setdefault(name, {})[each.segment] = each.digest
    return EntryChecks(faults, sound)


def _segments(metadata: TableMetadata) -> Iterator[_OfSegment]:
    for index in metadata.indexes:
        if not isinstance(index, SecondaryIndex) or index.kind_of_index is Kind.PRIMARY:
            continue
        for name, segment in metadata.segments.items():
            groups = segment.groups.get(index.specification)
            if groups is not None and metadata.row_counts[name]:
                runs = tuple(RunFiles(rows, blocks) for rows, blocks in paired(groups))
                yield _OfSegment(index, name, runs, _digest(groups))


def _digest(groups: Sequence[DataFile]) -> str:
    return hashlib.sha256("\n".join(file.name for file in groups).encode()).hexdigest()[:32]


def _files(metadata: TableMetadata) -> dict[str, SegmentFiles]:
    found = {}
    for name, segment in metadata.segments.items():
        positions = metadata.live[name]
        mine = np.arange(segment.rows) if positions is None else positions
        rows, live = np.zeros(segment.rows, np.int64), np.zeros(segment.rows, np.bool_)
        of = metadata.rows.slice(metadata.row_slices[name].start, metadata.row_counts[name])
        rows[mine], live[mine] = of.fill_null(0).to_numpy(), True
        found[name] = SegmentFiles(rows, live)
    return found


def _readable(name: str, of: SegmentFiles, state: TableState) -> SegmentFiles:
    """Return a segment of which only the files count that are as they were indexed."""
    there = np.array([state.file(name, file) is not None for file in range(len(of.live))], np.bool_)
    return SegmentFiles(of.file_rows, of.live & there)


def _parts(
    engine: Engine,
    metadata: TableMetadata,
    state: TableState,
    wanted: Sequence[_OfSegment],
    files: Mapping[str, SegmentFiles],
) -> Iterator[PartToCheck]:
    tasks = EngineTasks(engine)
    grams = [each for each in wanted if each.index.kind_of_index is Kind.NGRAM]
    sampled = tasks.run_tasks(
        "sampling texts", [_texts(each, state) for each in grams], TextsToSample.entries
    )
    samples: dict[tuple[str, str], TextSample] = {
        (each.index.specification, each.segment): sample for each, sample in zip(grams, sampled, strict=True)
    }
    to_cut = [RunsToCut(each.index, each.runs, int(files[each.segment].file_rows.sum())) for each in wanted]
    ranges = key_parts(tasks.run_tasks, metadata.storage, to_cut)
    for each, of in zip(wanted, ranges, strict=True):
        sample = samples.get((each.index.specification, each.segment))
        for within in of:
            part = MergePart(metadata.storage, each.index, each.runs, within)
            mine = None if sample is None else sample.within(within)
            yield PartToCheck(each.segment, part, files[each.segment].windows, mine)


def _texts(each: _OfSegment, state: TableState) -> TextsToSample:
    there = sorted(position for segment, position in state.files if segment == each.segment)
    spread = np.linspace(0, len(there) - 1, SAMPLED_FILES if there else 0).astype(np.int64)
    chosen = [there[at] for at in np.unique(spread).tolist()]
    return TextsToSample(each.index, [(at, state.files[each.segment, at]) for at in chosen], state.schema)


def _points(
    state: TableState, wanted: Sequence[_OfSegment], files: Mapping[str, SegmentFiles]
) -> Iterator[PointsToCheck]:
    """Yield a task for the files of each window."""
    for each in wanted:
        if each.index.kind_of_index is not Kind.RTREE:
            continue
        windows = files[each.segment].windows
        of_window: dict[int, list[tuple[int, DataFileOfTable]]] = {}
        for (segment, position), file in state.files.items():
            if segment == each.segment:
                at = int(np.searchsorted(windows, position, "right")) - 1
                of_window.setdefault(at, []).append((position, file))
        for mine in of_window.values():
            yield PointsToCheck(each.segment, each.index, mine, state.schema, windows)


def _found(items: Iterable[Any]) -> Iterator[pa.RecordBatch]:
    for item in items:
        yield from item.found()
