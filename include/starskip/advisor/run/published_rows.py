"""Return the rows that a night has published for one table, none if the night has not reached it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.advisor.run.night import Night

Row = Mapping[str, Any]


def published_rows(night: Night, artefact: str, table: str) -> tuple[list[Row], Mapping[str, Any]]:
    """Return the rows and the properties of the table's part; both are empty if there is no part."""
    snapshot = night.store.snapshot(artefact, night.date_text)
    part = snapshot.parts([table]).get(table) if snapshot else None
    if snapshot is None or part is None:
        return [], {}
    return snapshot.read_table([table]).to_pylist(), part.properties
