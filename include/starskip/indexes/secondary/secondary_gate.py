"""The gate behind refresh_secondary_indexes: each live row has one entry, and keys are in their order.

The stage has read the entries on the tasks of its engine, and published what is wrong with them. What it has
not, the gate reads itself, block by block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial

from starskip.errors import SourceError, SourceOutage, StorageError
from starskip.execution.local_engine import LocalEngine
from starskip.indexes.metadata_gate import build_expectations, build_views
from starskip.indexes.secondary.check_entries import ENTRIES, check_entries
from starskip.indexes.secondary.check_parts import FAULTS
from starskip.indexes.secondary.lifecycle import ARTEFACT
from starskip.indexes.secondary.refresh_secondary_indexes import BUILDS
from starskip.indexes.secondary.secondary_index import secondary_index
from starskip.indexes.secondary.table_files import listed_table
from starskip.indexes.secondary.table_state import table_state
from starskip.indexes.secondary.table_to_index import FORMAT
from starskip.indexes.skipping.metadata.open_metadata import read_metadata
from starskip.indexes.skipping.metadata.table_metadata import TableMetadata
from starskip.run.expectations import Expectation, View, none
from starskip.run.gate import Gate, mapping_of
from starskip.run.night import Night
from starskip.run.stream_rows import published
from starskip.settings import Settings
from starskip.storage.storage_for import storage_for

Faults = Mapping[str, Mapping[str, int]]


def _views(night: Night, table: str) -> Mapping[str, View]:
    told = published(night, BUILDS).parts([table])[table].properties.get(ENTRIES)
    counted = cache(partial(_counted, night, table))

    def facts(metadata: TableMetadata, index: str) -> Mapping[str, int]:
        found = mapping_of(mapping_of(mapping_of(told).get("faults")).get(index))
        return found or counted(metadata).get(index) or dict.fromkeys(FAULTS, 0)

    return build_views(night, table, BUILDS, _metadata, facts)


def _metadata(location: str) -> TableMetadata | None:
    return read_metadata(storage_for(location), ARTEFACT, secondary_index)


def _counted(night: Night, table: str, metadata: TableMetadata) -> Faults:
    lake = night.lake_tables.get(table)
    if lake is None:
        return {}
    try:
        snapshot = listed_table(lake.path, metadata.source.options.get(FORMAT))
        return check_entries(LocalEngine(), metadata, table_state(metadata, snapshot)).faults
    except SourceOutage:
        raise
    except SourceError as error:
        # A file that cannot be read fails the gate of this table alone.
        raise StorageError(str(error), location=lake.path) from error


def _expectations(_: Settings) -> Sequence[Expectation]:
    indexes = "secondary indexes of {table}"
    return (
        *build_expectations(indexes),
        none("kept", "disordered_keys", f"{indexes}: blocks whose keys are not in order"),
        none("kept", "keys_out_of_bounds", f"{indexes}: blocks with keys or points outside their bounds"),
        none("kept", "unlike_counts", f"{indexes}: blocks whose counts are not those of their entries"),
        none("kept", "rows_without_entry", f"{indexes}: live rows without an entry"),
        none("kept", "entries_too_many", f"{indexes}: entries beyond one a row"),
    )


SECONDARY_GATE = Gate(_views, _expectations)
