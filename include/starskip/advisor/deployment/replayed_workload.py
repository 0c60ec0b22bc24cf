"""The workload that a replay samples: of a published night, or of logs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.workload.count_shapes import QUERY_COLUMNS, count_shapes, merge_shapes
from starskip.advisor.workload.shape_workload import ShapeWorkload, workload_shapes
from starskip.pinot.hybrid_tables import without_type
from starskip.pinot.logs.log_formats import module_names
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_split
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.files.log_files import log_files

ARTEFACT = "workload"
_NIGHT = re.compile(r"\d{4}-\d\d-\d\d")


def night_workload(store: ArtefactStore, table: str, source: str) -> list[ShapeWorkload]:
    """Return the shapes of a table of the night that an advice is from, or of its newest night.

    ``source``: of the advice, a night or a file; a set that a person chose has words behind its night.
    """
    nights = [source.partition(" ")[0], *store.begun_nights(ARTEFACT)]
    for night in dict.fromkeys(nights):
        if not _NIGHT.fullmatch(night):
            continue  # advice from a file
        snapshot = store.snapshot(ARTEFACT, night)
        held = {table, without_type(table)[0]} & set(snapshot.tables if snapshot else ())
        if snapshot is not None and held:
            return list(workload_shapes(snapshot.read_table([max(held, key=len)])))
    return []


def logged_workload(paths: Sequence[str], table: str, settings: Settings) -> list[ShapeWorkload]:
    """Return the shapes of a table in logs, all days of them."""
    name, table_type = without_type(table)

    def batches() -> Iterator[pa.RecordBatch]:
        log = settings.log
        formats = module_names(log.formats)
        for split in log_splits(log_files(paths), log.split_bytes, log.message_field, formats):
            for batch in parse_split(split, log.time_zone):
                is_asked = (pc.field("kind") == "query") & (pc.field("table") == name)
                if table_type is not None:
                    kinds = pc.field("table_type")
                    is_asked &= kinds.is_null() | (kinds == table_type)
                yield from pa.Table.from_batches([batch]).filter(is_asked).select(QUERY_COLUMNS).to_batches()

    kept = settings.workload.instances_per_shape
    counted = count_shapes(batches(), instances_per_shape=kept)
    return [
        shape for batch in merge_shapes(counted, instances_per_shape=kept) for shape in workload_shapes(batch)
    ]
