"""The gate behind refresh_secondary_indexes: each live row has one entry, and keys are in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyroaring import BitMap64

from starskip.indexes.metadata_gate import build_expectations, build_views
from starskip.indexes.secondary.indexed_segments import known_segments
from starskip.indexes.secondary.lifecycle import ARTEFACT
from starskip.indexes.secondary.postings import IndexedSegment
from starskip.indexes.secondary.refresh_secondary_indexes import BUILDS
from starskip.indexes.secondary.run_reader import KeyRange, ReadCounts, RunReader
from starskip.indexes.secondary.secondary_index import Kind, secondary_index
from starskip.indexes.skipping.metadata.open_metadata import read_metadata
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.run.expectations import Expectation, View, none
from starskip.run.gate import Gate
from starskip.run.night import Night
from starskip.settings import Settings
from starskip.storage.storage_for import storage_for

_COUNTED_ENTRIES = 5_000_000
"""Entries of an index that are read to count rows without one or with several; a gate must stay short."""


def _views(night: Night, table: str) -> Mapping[str, View]:
    return build_views(night, table, BUILDS, _metadata, _facts)


def _metadata(location: str) -> TableMetadata | None:
    return read_metadata(storage_for(location), ARTEFACT, secondary_index)


def _facts(metadata: TableMetadata, index: str) -> Mapping[str, int]:
    kind = secondary_index(index).kind_of_index
    disordered = without = twice = counted = 0
    for segment in known_segments(metadata)[1]:
        runs = segment.runs.get(index, ())
        disordered += sum(run.disordered_blocks() for run in runs if kind is not Kind.RTREE)
        counted += sum(run.entries for run in runs)
        if kind is Kind.BTREE and counted <= _COUNTED_ENTRIES:
            missing, double = _rows_of_entries(segment, runs)
            without, twice = without + missing, twice + double
    return {"disordered_keys": disordered, "rows_without_entry": without, "entries_too_many": twice}


def _rows_of_entries(segment: IndexedSegment, runs: Sequence[RunReader]) -> tuple[int, int]:
    """Return the live rows without an entry in a b-tree, and the entries beyond one a row."""
    read = ReadCounts()
    every = (KeyRange(), KeyRange(of_null=True))
    pieces = [piece for run in runs for each in every for piece in run.pieces(each, read)]
    parts = [part for piece in pieces for part in piece.read()]
    found = BitMap64.union(*parts) if parts else BitMap64()
    return len(segment.all_rows - found), read.entries - len(found)


def _expectations(_: Settings) -> Sequence[Expectation]:
    indexes = "secondary indexes of {table}"
    return (
        *build_expectations(indexes),
        none("kept", "disordered_keys", f"{indexes}: blocks whose keys are not in order"),
        none("kept", "rows_without_entry", f"{indexes}: live rows without an entry"),
        none("kept", "entries_too_many", f"{indexes}: entries beyond one a row"),
    )


SECONDARY_GATE = Gate(_views, _expectations)
