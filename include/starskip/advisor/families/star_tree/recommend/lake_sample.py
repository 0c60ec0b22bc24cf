"""Sample a lake table's rows in one distributed pass, to estimate star-trees from.

If the table has at most ``_EXACT_COMBINATIONS`` rows, all distinct combinations of the shapes' columns are
kept; otherwise samples of each set that a shape uses, and rows evenly spread over the table. A task
summarises a piece of the table; other tasks merge summaries, a few at a time. The tasks pass summaries on as
files: this process reads the last one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa

from starskip.advisor.families.star_tree.recommend.combinations import value_codes
from starskip.advisor.families.star_tree.recommend.cuboids import Cuboids, Dimensions
from starskip.advisor.families.star_tree.recommend.document_bytes import SampledRows
from starskip.advisor.families.star_tree.recommend.rows_summary import (
    RowsSummary,
    SummaryPlan,
    read_summary,
    write_summary,
)
from starskip.advisor.families.star_tree.recommend.segment_sample import limited_dimensions
from starskip.advisor.families.star_tree.recommend.table_sample import TablePart, TableSample
from starskip.errors import CapExceeded, SourceError, StorageError, printable
from starskip.skipping.value_hash import spread
from starskip.star_tree.build.build_tree import RunTasks
from starskip.star_tree.build.source_table import ROWS_PER_BATCH, SourceChunk, SourceTable
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite

_EXACT_COMBINATIONS = 1 << 19
_SAMPLED_COMBINATIONS = 1 << 15
_MOST_SKETCHES = 3
_MOST_SKETCHED_DIMENSIONS = 5
"""A sketch that overflows keeps one sample for each subset of its dimensions."""
_SAMPLED_ROWS = 1 << 16
_ROWS_PER_TASK = 1 << 21
_CSV_BYTES_PER_ROW = 100
"""A guess, only to even out the tasks."""
_SUMMARIES_PER_TASK = 8

TaskChunks = tuple[tuple[SourceChunk, int], ...]
"""The input of a task: chunks one behind the other, each with the position of its first row."""


@dataclass(frozen=True, slots=True)
class SummarisePiece:
    """Task: the summary of one piece of the table, written as a file."""

    staged: StagedWrite
    table: str
    source: SourceTable
    plan: SummaryPlan

    def __call__(self, piece: TaskChunks) -> DataFile:
        """Return the file."""
        summary = RowsSummary(self.plan)
        try:
            for chunk, position in piece:
                for batch in self.source.batches(chunk, self.plan.schema.names):
                    summary.add(batch, position)
                    position += batch.num_rows
            return write_summary(self.staged, self.table, summary)
        except pa.ArrowException as error:
            path = self.source.path
            raise SourceError(f"{path}: cannot be sampled ({printable(str(error))})", source=path) from error


@dataclass(frozen=True, slots=True)
class MergeSummaries:
    """Task: merge the summaries of neighbouring pieces."""

    staged: StagedWrite
    table: str
    plan: SummaryPlan

    def __call__(self, files: tuple[DataFile, ...]) -> DataFile:
        """Return the file."""
        merged = RowsSummary(self.plan)
        for file in files:
            merged.merge(read_summary(self.staged.storage, file, self.plan))
        return write_summary(self.staged, self.table, merged)


def lake_sample(
    run_tasks: RunTasks,
    staged: StagedWrite,
    table: str,
    source: SourceTable,
    used: Sequence[Dimensions],
    measured: Collection[str],
) -> TableSample:
    """Return a sample of a lake table's rows; nothing is left in ``staged``, which serves this sample alone.

    ``used``: the sets of dimensions that shapes use, the most important first. ``measured``: columns that are
    aggregated. Raises SourceError for files that cannot be read, CapExceeded if all of the sets are too
    large.
    """
    plan = _plan(source, used, measured)
    # A task gets the files that it reads, without the list of all other files.
    summarise = SummarisePiece(staged, table, replace(source, files=()), plan)
    merge = MergeSummaries(staged, table, plan)
    try:
        files = run_tasks("sampling rows", _pieces(source, _ROWS_PER_TASK), summarise)
        while len(files) > 1:
            starts = range(0, len(files), _SUMMARIES_PER_TASK)
            together = [tuple(files[start : start + _SUMMARIES_PER_TASK]) for start in starts]
            files = run_tasks("merging samples", together, merge)
        summary = read_summary(staged.storage, files[0], plan) if files else RowsSummary(plan)
    finally:
        _remove_all(staged)
    return _table_sample(table, source, summary)


def _table_sample(table: str, source: SourceTable, summary: RowsSummary) -> TableSample:
    types = {field.name: field.type for field in source.schema}
    return TableSample(
        table,
        (_part(summary),) if summary.rows else (),
        types,
        float(summary.rows),
        float(sum(file.identity.size_bytes for file in source.files)),
        multi_value=frozenset(name for name, type_ in types.items() if pa.types.is_nested(type_)),
    )


def _part(summary: RowsSummary) -> TablePart:
    cuboids = reduce(Cuboids.joined, [sketch.cuboids() for sketch in summary.sketches])
    sampled = summary.spread.rows
    codes = {name: value_codes(sampled[name], values) for name, values in cuboids.values.items()}
    return TablePart(cuboids, SampledRows(codes, sampled))


def _plan(source: SourceTable, used: Sequence[Dimensions], measured: Collection[str]) -> SummaryPlan:
    dimensions = limited_dimensions(used)
    columns = [*dimensions, *sorted(set(measured) - set(dimensions))]
    # CSV files have no row counts: there may be any number of rows.
    rows = sum(sum(file.row_group_rows or ()) for file in source.files)
    is_small = 0 < rows <= _EXACT_COMBINATIONS
    sets = [frozenset(dimensions)] if is_small else _groups(used, dimensions)
    if not sets:
        raise CapExceeded(
            f"each query uses more than {_MOST_SKETCHED_DIMENSIONS} columns: too many to estimate star-trees "
            "of so large a table"
        )
    return SummaryPlan(
        pa.schema([(name, source.schema.field(name).type) for name in columns]),
        tuple(tuple(sorted(each)) for each in sets),
        _EXACT_COMBINATIONS if is_small else _SAMPLED_COMBINATIONS,
        max(rows // _SAMPLED_ROWS, 1),
        # The step is computed from the number of rows, so fewer rows than this are kept.
        2 * _SAMPLED_ROWS,
    )


def _pieces(source: SourceTable, rows_per_task: int) -> list[TaskChunks]:
    """Return pieces of about ``rows_per_task`` rows, in the order of the files."""
    starts: dict[str, int] = {}
    position = 0
    for number, file in enumerate(source.files):
        # The number of rows of a CSV file is not known, so each file is counted from a place of its own:
        # otherwise the first row of each file would be taken, however many files there are.
        start = (
            position
            if file.row_group_rows is not None
            else int(spread(np.array([number], np.uint64))[0]) >> 2
        )
        starts[file.identity.path] = start
        position += sum(file.row_group_rows or ())
    found: list[list[tuple[SourceChunk, int]]] = []
    held = rows_per_task
    for chunk in source.chunks(min(rows_per_task, ROWS_PER_BATCH)):
        if held >= rows_per_task:
            found.append([])
            held = 0
        groups = chunk.file.row_group_rows
        first = sum((groups or ())[: chunk.first_row_group])
        found[-1].append((chunk, starts[chunk.file.identity.path] + first))
        held += (
            chunk.file.identity.size_bytes // _CSV_BYTES_PER_ROW
            if groups is None
            else sum(groups[chunk.first_row_group : chunk.end_row_group])
        )
    return [tuple(piece) for piece in found]


def _groups(used: Sequence[Dimensions], dimensions: Collection[str]) -> list[Dimensions]:
    """Return sets of dimensions, each of as many of the first ``used`` as may be sketched together."""
    found: list[Dimensions] = []
    for each in used:
        if each <= set(dimensions) and len(each) <= _MOST_SKETCHED_DIMENSIONS:
            group = next((g for g in found if len(g | each) <= _MOST_SKETCHED_DIMENSIONS), None)
            if group is not None:
                found[found.index(group)] = group | each
            elif len(found) < _MOST_SKETCHES:
                found.append(each)
    return found


def _remove_all(staged: StagedWrite) -> None:
    """Remove the files that tasks wrote for one another; a vacuum would do it later."""
    with suppress(StorageError):
        for stored in list(staged.storage.objects_below(staged.folder)):
            staged.storage.delete(stored.name)
