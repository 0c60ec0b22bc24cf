"""Read the night's artefacts for a report, with the error of a stage that has not run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.advisor.run.night import Night
from starskip.errors import SourceError
from starskip.storage.snapshot import Snapshot


def night_snapshot(night: Night, artefact: str) -> Snapshot:
    """Return the newest version of ``artefact`` of the night; raises SourceError if there is none."""
    snapshot = night.store.snapshot(artefact, night.date_text)
    if snapshot is None:
        raise SourceError(
            f"no {artefact} of {night.date_text}: run the earlier stages first", source=artefact
        )
    return snapshot


def night_properties(night: Night, artefact: str, table: str) -> Mapping[str, Any]:
    """Return the properties of the table's part of ``artefact``, empty if there is none."""
    snapshot = night.store.snapshot(artefact, night.date_text)
    part = snapshot.parts([table]).get(table) if snapshot else None
    return part.properties if part else {}
