"""Read index columns of a table's files and write their runs: the task that is mapped over files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from starskip.file_metadata.metadata_files import write_rows
from starskip.secondary.build_run import build_run, merge_runs
from starskip.secondary.data_file import DataFileOfTable
from starskip.secondary.entries import addresses_of
from starskip.secondary.row_batches import row_batches
from starskip.secondary.run_files import write_run
from starskip.secondary.secondary_index import Kind, SecondaryIndex
from starskip.secondary.table_schema import TableSchema, field_values
from starskip.secondary.zones import zone_rows
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite

RUN_BYTES = 256 << 20
"""Bytes of runs in memory from which the longest is written; a task holds about twice as many."""


@dataclass(frozen=True, slots=True)
class FileToIndex:
    """A file and its position in its segment."""

    position: int
    file: DataFileOfTable


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """Result of a task: written files by index, and the rows and row groups of each file that it read.

    Row groups of ORC files are their stripes.
    """

    groups: Mapping[str, tuple[DataFile, ...]]
    rows: Mapping[int, int]
    row_groups: Mapping[int, int]


@dataclass
class _Runs:
    """The runs of one index until they are written."""

    index: SecondaryIndex
    held: list[pa.Table] = field(default_factory=list)
    held_bytes: int = 0
    written: list[DataFile] = field(default_factory=list)

    def add(self, run: pa.Table) -> None:
        if run.num_rows:
            self.held.append(run)
            self.held_bytes += run.nbytes

    def write(self, staged: StagedWrite) -> None:
        if not self.held:
            return
        if self.index.kind_of_index is Kind.PRIMARY:
            self.written.extend(write_rows(staged, self.index.specification, pa.concat_tables(self.held)))
        else:
            self.written.extend(write_run(staged, self.index, merge_runs(self.index, self.held)))
        self.held, self.held_bytes = [], 0


def collect_entries(
    files: Iterable[FileToIndex],
    indexes: Sequence[SecondaryIndex],
    schema: TableSchema,
    staged: StagedWrite,
    *,
    stop_share: float,
) -> TaskFiles:
    """Write the runs of some files of one segment, their columns read once for all indexes.

    Raises SourceError naming a file that cannot be read.
    """
    runs = [_Runs(index) for index in indexes]
    rows: dict[int, int] = {}
    row_groups: dict[int, int] = {}
    names = sorted({path[0] for index in indexes for path in index.paths})
    for each in files:
        rows[each.position] = 0
        for batch in row_batches(each.file, names, schema):
            table = batch.rows
            rows[each.position] = batch.start + table.num_rows
            addresses = addresses_of(each.position, np.arange(batch.start, batch.start + table.num_rows))
            for of in runs:
                columns = [field_values(table, path) for path in of.index.paths]
                if of.index.kind_of_index is Kind.PRIMARY:
                    for first, count in batch.zones:
                        values = columns[0].slice(first - batch.start, count)
                        of.add(zone_rows(each.position, first, values))
                else:
                    of.add(build_run(of.index, columns, addresses, stop_share=stop_share))
            if sum(of.held_bytes for of in runs) >= RUN_BYTES:
                max(runs, key=lambda of: of.held_bytes).write(staged)
        row_groups[each.position] = each.file.units()
    for of in runs:
        of.write(staged)
    return TaskFiles({of.index.specification: tuple(of.written) for of in runs}, rows, row_groups)
