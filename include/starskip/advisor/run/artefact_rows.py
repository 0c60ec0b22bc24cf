"""The published artefacts of a night, and the rows and properties of one table of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from starskip.advisor.run.night import ADVICE_NIGHTS, Night
from starskip.errors import SourceError, StorageError, StorageOutage
from starskip.storage.snapshot import Snapshot

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


def published_rows(night: Night, artefact: str, table: str) -> tuple[list[Row], Mapping[str, Any]]:
    """Return the rows and the properties of the table's part; both are empty if there is no part."""
    snapshot = night.store.snapshot(artefact, night.date_text)
    part = snapshot.parts([table]).get(table) if snapshot else None
    if snapshot is None or part is None:
        return [], {}
    return snapshot.read_table([table]).to_pylist(), part.properties
