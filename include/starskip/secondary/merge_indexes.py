"""Rewrite the live entries of all segments of each index, for optimize: cut by key, one task a part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.execution.engine import Engine
from starskip.execution.engine_tasks import EngineTasks
from starskip.file_metadata.metadata_files import read_columns, read_schema, write_rows
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.secondary.merge_cuts import RunFiles, RunsToCut, key_parts
from starskip.secondary.merge_segments import MergePart, Places, write_places
from starskip.secondary.run_reader import paired
from starskip.secondary.secondary_index import Kind, secondary_index
from starskip.storage.manifest import DataFile
from starskip.storage.staged_write import StagedWrite


@dataclass(frozen=True, slots=True)
class MergedIndexes:
    """Writes the live entries of indexes; files are numbered by their place in the new order."""

    engine: Engine

    def __call__(
        self, staged: StagedWrite, metadata: TableMetadata, names: Sequence[str], order: pa.Array
    ) -> dict[str, tuple[DataFile, ...] | None]:
        """See WriteGroups of ``skipping.metadata.optimize``."""
        places = _new_places(metadata, order)
        found: dict[str, tuple[DataFile, ...] | None] = dict.fromkeys(names, ())
        runs: dict[str, tuple[RunFiles, ...]] = {}
        files: dict[str, DataFile] = {}
        for name in names:
            groups = {of: segment.groups.get(name) for of, segment in metadata.segments.items()}
            if any(groups[of] is None and metadata.row_counts[of] for of in groups):
                # A segment without the index: the next refresh adds it, as it would to the old segment.
                found[name] = None
            elif secondary_index(name).kind_of_index is Kind.PRIMARY:
                of_files = ((file, places[of]) for of, written in groups.items() for file in written or ())
                zones = [_zones(metadata, file, moved) for file, moved in of_files]
                found[name] = write_rows(staged, name, pa.concat_tables(zones)) if zones else ()
            else:
                for of in groups:
                    # Tasks read the places from the store where they need them.
                    if groups[of] and of not in files:
                        files[of] = write_places(staged, places[of])
                runs[name] = tuple(
                    RunFiles(rows, blocks, files[of])
                    for of, written in groups.items()
                    for rows, blocks in paired(written or ())
                )
        merges = {name: of for name, of in runs.items() if of}
        rows = int(pc.sum(metadata.rows, min_count=0).as_py())
        tasks = EngineTasks(self.engine)
        parts = key_parts(
            tasks.run_tasks,
            staged.storage,
            [RunsToCut(secondary_index(name), of, rows) for name, of in merges.items()],
        )
        of_parts = [
            (name, MergePart(staged.storage, secondary_index(name), merges[name], within))
            for name, ranges in zip(merges, parts, strict=True)
            for within in ranges
        ]
        merged = tasks.run_tasks(
            "merging indexes", [part for _, part in of_parts], lambda part: part.written(staged)
        )
        for (name, _), of_part in zip(of_parts, merged, strict=True):
            found[name] = (*(found[name] or ()), *of_part)
        return found


def _new_places(metadata: TableMetadata, order: pa.Array) -> dict[str, Places]:
    place = np.empty(metadata.files, np.int64)
    place[order.to_numpy()] = np.arange(metadata.files)
    places: dict[str, Places] = {}
    for name, segment in metadata.segments.items():
        live = metadata.live[name]
        places[name] = np.full(segment.rows, -1, np.int64)
        mine = np.arange(segment.rows) if live is None else live
        places[name][mine] = place[metadata.row_slices[name]]
    return places


def _zones(metadata: TableMetadata, file: DataFile, places: Places) -> pa.Table:
    """Return the bounds of the live files' row groups, one row each."""
    rows = read_columns(metadata.storage, [file], read_schema(metadata.storage, file).names).combine_chunks()
    moved = places[rows["file"].to_numpy()]
    at = rows.column_names.index("file")
    return rows.set_column(at, "file", pa.array(moved)).filter(pa.array(moved >= 0))
