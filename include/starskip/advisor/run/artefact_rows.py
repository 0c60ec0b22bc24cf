"""The rows of one table of an artefact: a few batches at a time, or all of them where they are few."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.advisor.run.night import ADVICE_NIGHTS, Night
from starskip.errors import SourceError, StorageError, StorageOutage, printable
from starskip.storage.snapshot import Snapshot

ROWS_A_BATCH = 65_536

Row = Mapping[str, Any]


def published(night: Night, artefact: str) -> Snapshot:
    """Return the newest version of ``artefact`` of the night; raises SourceError if there is none."""
    snapshot = night.store.snapshot(artefact, night.date_text)
    if snapshot is None:
        raise SourceError(
            f"no {artefact} of {night.date_text}: run the stages of that night first", source=artefact
        )
    return snapshot


def earlier_snapshots(night: Night, artefact: str) -> Iterator[Snapshot]:
    """Yield the artefact of each night of the week before, the newest first.

    A night that can no longer be read counts as none.
    """
    for age in range(1, ADVICE_NIGHTS):
        day = (night.run_date - timedelta(days=age)).isoformat()
        try:
            snapshot = night.store.snapshot(artefact, day)
        except StorageOutage:
            raise
        except StorageError:
            continue
        if snapshot is not None:
            yield snapshot


def earlier_snapshot(night: Night, artefact: str, table: str) -> Snapshot | None:
    """Return the artefact of the newest night of the week before that has a part of the table."""
    return next((each for each in earlier_snapshots(night, artefact) if table in each.manifest.parts), None)


def night_properties(night: Night, artefact: str, table: str) -> Mapping[str, Any]:
    """Return the properties of the table's part of ``artefact``, empty if there is none."""
    snapshot = night.store.snapshot(artefact, night.date_text)
    part = snapshot.parts([table]).get(table) if snapshot else None
    return part.properties if part else {}


def stream_rows(
    snapshot: Snapshot, table: str, columns: Mapping[str, pc.Expression]
) -> Iterator[pa.RecordBatch]:
    """Yield ``columns``, computed from the artefact's, in batches of at most ROWS_A_BATCH rows.

    Raises StorageError for a file that is gone or damaged.
    """
    # The default reads 16 batches of 4 files ahead, which is the whole of most artefacts.
    scanner = snapshot.dataset([table]).scanner(
        columns=dict(columns), batch_size=ROWS_A_BATCH, batch_readahead=1, fragment_readahead=1
    )
    try:
        yield from scanner.to_batches()
    except (pa.ArrowException, OSError) as error:
        raise StorageError(
            f"{snapshot.artefact}: cannot be read: {printable(str(error), 300)}", location=snapshot.artefact
        ) from error


def published_rows(night: Night, artefact: str, table: str) -> tuple[list[Row], Mapping[str, Any]]:
    """Return the rows and the properties of the table's part; both are empty if there is no part."""
    snapshot = night.store.snapshot(artefact, night.date_text)
    part = snapshot.parts([table]).get(table) if snapshot else None
    if snapshot is None or part is None:
        return [], {}
    return snapshot.read_table([table]).to_pylist(), part.properties
