"""Tables in OpenSearch with metadata that was written without an engine: segments, dead rows, a patch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import uuid4

import numpy as np
import pyarrow as pa
from running_opensearch import RunningOpenSearch
from skipping_law.files_metadata import Collected
from starskip.file_metadata.collect_order import FILES
from starskip.file_metadata.metadata_files import FILES_SCHEMA
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.metadata_store import REMOVED
from starskip.file_metadata.parquet_store import store_of
from starskip.file_metadata.removed_rows import removed_table
from starskip.file_metadata.segment import Segment
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_source import TableSource
from starskip.file_metadata.table_state import ARTEFACT, TableState
from starskip.skipping.skipping_index import SkippingIndex
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.storage import Storage
from starskip_opensearch.opensearch_storage import OpenSearchStorage

SOURCE = TableSource("file:/t", "parquet", {"schema": "one"})
_PREFIX = "law"


def fresh_storage(server: RunningOpenSearch, table: str = "", **more: float) -> OpenSearchStorage:
    """Return the place of a table that no other test has."""
    found = metadata_storage(f"{server.url(_PREFIX)}/{table or f't-{uuid4().hex}'}", **more)
    assert isinstance(found, OpenSearchStorage)
    return found


def written(
    storage: Storage,
    indexes: Sequence[SkippingIndex],
    metadata: Collected,
    *,
    alone: Sequence[str] = (),
    dead: Mapping[str, Sequence[int]] | None = None,
    cut: int = 0,
) -> TableMetadata:
    """Write metadata as segments ``a``, of the files before ``cut``, and ``b``.

    ``alone``: indexes that were added later to ``b``, and that ``a`` lacks. ``dead``: dead rows.
    """
    store = store_of(storage)
    segments = {}
    for name, start, end in (("a", 0, cut), ("b", cut, metadata.files)):
        aside = ArtefactStore(storage).staged_write(ARTEFACT, CURRENT)
        tables = {
            index.specification: pa.table(dict(metadata.tables[index.specification])).slice(
                start, end - start
            )
            for index in indexes
        }
        together = [(name, table) for name, table in tables.items() if name not in alone]
        groups = dict(store.write(aside, [(FILES, _files(start, end)), *together]))
        for index in alone if name == "b" else ():
            groups.update(store.write(aside, [(index, tables[index])]))
        segments[name] = Segment(end - start, SOURCE.generation, groups.pop(FILES), groups)
    if dead:
        rows = {name: np.array(positions, np.int64) for name, positions in dead.items()}
        aside = ArtefactStore(storage).staged_write(ARTEFACT, CURRENT)
        removed = store.write(aside, [(REMOVED, removed_table(rows))])[REMOVED]
        segments["b"] = Segment(
            segments["b"].rows, SOURCE.generation, segments["b"].files, segments["b"].groups, removed
        )
    active = {index.specification: True for index in indexes}
    return TableMetadata(store, 1, TableState(SOURCE, active, segments), tuple(indexes))


def _files(start: int, end: int) -> pa.Table:
    count = end - start
    return pa.table(
        [
            pa.array([f"file:/t/{number:08d}" for number in range(start, end)], pa.string()),
            pa.array([100] * count, pa.int64()),
            pa.array([1] * count, pa.int64()),
            pa.array([10] * count, pa.int64()),
            pa.array([True] * count),
        ],
        schema=FILES_SCHEMA,
    )
