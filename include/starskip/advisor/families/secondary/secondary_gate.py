"""The gate behind refresh_secondary_indexes: runs are whole, and have as many entries as there are rows.

``starskip secondary check`` compares each entry with the rows, on request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pyarrow.compute as pc

from starskip.advisor.families.metadata_gate import build_expectations, build_views
from starskip.advisor.families.secondary.refresh_secondary_indexes import BUILDS
from starskip.advisor.run.expectations import Expectation, View, none
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night
from starskip.file_metadata.metadata_files import joined
from starskip.file_metadata.open_metadata import read_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.secondary.lifecycle import ARTEFACT
from starskip.secondary.merge_cuts import RunFiles
from starskip.secondary.run_format import paired
from starskip.secondary.secondary_index import Kind, secondary_index
from starskip.settings import Settings
from starskip.storage.storage_for import storage_for


def _views(night: Night, table: str) -> Mapping[str, View]:
    return build_views(night, table, BUILDS, _metadata, _entry_counts)


def _metadata(location: str) -> TableMetadata | None:
    return read_metadata(storage_for(location), ARTEFACT, secondary_index)


def _entry_counts(metadata: TableMetadata, index: str) -> Mapping[str, int]:
    """Compare the entries of each segment, as the bounds of blocks count them, with the rows of its files.

    Raises StorageError naming a run that is gone, or whose footers or bounds are damaged.
    """
    kind = secondary_index(index).kind_of_index
    missing = beside = 0
    for name, segment in metadata.segments.items():
        groups = segment.groups.get(index)
        if kind is Kind.PRIMARY or groups is None or not metadata.row_counts[name]:
            continue
        entries = 0
        for files in paired(groups):
            reader = RunFiles(*files).reader(metadata.storage)
            entries += int(reader.entries_of_each_block[: reader.row_groups].sum())
        at = metadata.row_slices[name]
        live_rows = pc.sum(metadata.rows[at], min_count=0).as_py()
        # Entries of deleted files stay until optimize removes them.
        all_rows = pc.sum(joined(metadata.store.read(segment.files, ["rows"]), "rows"), min_count=0).as_py()
        if kind is Kind.BTREE:
            missing += max(0, live_rows - entries)
        if kind is not Kind.NGRAM:
            beside += max(0, entries - all_rows)
    return {"rows_without_entry": missing, "entries_too_many": beside}


def _expectations(_: Settings) -> Sequence[Expectation]:
    indexes = "secondary indexes of {table}"
    return (
        *build_expectations(indexes),
        none("kept", "rows_without_entry", f"{indexes}: live rows without an entry"),
        none("kept", "entries_too_many", f"{indexes}: entries beyond one a row"),
    )


SECONDARY_GATE = Gate(_views, _expectations)
