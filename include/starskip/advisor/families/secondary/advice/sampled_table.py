"""Index a sample of a table's files; the indexes of the whole table are judged by it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.night import Night
from starskip.file_metadata.change_indexes import change_indexes
from starskip.file_metadata.commit_refresh import new_commit
from starskip.file_metadata.open_metadata import read_metadata
from starskip.file_metadata.refresh_metadata import Clock, refresh_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.vacuum_metadata import vacuum_metadata
from starskip.lake.table_snapshot import TableSnapshot
from starskip.secondary.lifecycle import ARTEFACT
from starskip.secondary.lifecycle import CREATED_BY as SECONDARY
from starskip.secondary.secondary_index import SecondaryIndex, secondary_index
from starskip.secondary.table_files import listed_table
from starskip.secondary.table_to_index import TableToIndex
from starskip.storage.storage import Storage
from starskip.storage.store_clock import store_clock

CREATED_BY = "starskip night"
_CLOCK = Clock(lambda: datetime.now(UTC), time.sleep)


@dataclass
class SampledTable(TableToIndex):
    """The table as if it had some of its files alone, spread evenly over their paths.

    The sample has at most ``most_files`` files, of ``most_bytes`` together unless a single file has more.
    """

    most_files: int = 16
    most_bytes: int = 1 << 28
    whole: TableSnapshot | None = None

    @property
    def snapshot(self) -> TableSnapshot:
        """The sample of the last listing."""
        if self._snapshot is None:
            self.whole = listed_table(self.path, self.file_format)
            self._snapshot = _sampled(self.whole, self.most_files, self.most_bytes)
        return self._snapshot

    @property
    def bytes_ratio(self) -> float:
        """The bytes of all files, as a multiple of the sample's bytes."""
        sample = self.snapshot.files["size_bytes"]
        whole = (self.whole or self.snapshot).files["size_bytes"]
        total = pc.sum(sample, min_count=0).as_py()
        return float(pc.sum(whole, min_count=0).as_py() / total) if total else 1.0


@dataclass(frozen=True, slots=True)
class IndexedSample:
    """The indexes over a sample; ``seconds``: the time to collect their entries, 0 if nothing was new."""

    metadata: TableMetadata
    seconds: float
    new_files: int


def indexed_sample(
    table: SampledTable, indexes: Sequence[SecondaryIndex], storage: Storage, night: Night
) -> IndexedSample:
    """Bring the entries of a sample up to date: read new and changed files, drop the entries of others.

    Raises SourceError and StorageError.
    """
    former = read_metadata(storage, ARTEFACT, secondary_index)
    names = {each.specification for each in indexes}
    unwanted = [name for name in former.state.active if name not in names] if former else []
    if unwanted:
        change_indexes(storage, unwanted, new_commit(SECONDARY), active=False, artefact=ARTEFACT)
    began = time.perf_counter()
    made = refresh_metadata(
        storage,
        table,
        indexes,
        _CLOCK,
        created_by=CREATED_BY,
        artefact=ARTEFACT,
        parse=secondary_index,
    )
    seconds = time.perf_counter() - began
    grace = timedelta(hours=night.settings.retention.vacuum_grace_hours)
    vacuum_metadata(storage, new_commit(SECONDARY), now=store_clock(storage), grace=grace, artefact=ARTEFACT)
    metadata = read_metadata(storage, ARTEFACT, secondary_index)
    assert metadata is not None
    return IndexedSample(metadata, seconds if made.collected_files else 0.0, made.collected_files)


def _sampled(snapshot: TableSnapshot, most_files: int, most_bytes: int) -> TableSnapshot:
    files = snapshot.files
    sizes = np.asarray(files["size_bytes"].to_numpy(), np.int64)
    mean = max(float(sizes.mean()), 1.0) if len(sizes) else 1.0
    count = max(1, min(most_files, int(most_bytes / mean)))
    if files.num_rows <= count:
        return snapshot
    spread = np.unique(np.linspace(0, files.num_rows - 1, count).astype(np.int64))
    return snapshot.with_files(pa.array(spread))
