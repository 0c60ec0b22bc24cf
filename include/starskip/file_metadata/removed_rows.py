"""The dead rows of segments: rows of files that are gone, or were collected again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from starskip.file_metadata.metadata_files import REMOVED_SCHEMA, joined
from starskip.file_metadata.metadata_store import MetadataStore, Positions
from starskip.file_metadata.segment import Segment


def live_rows(store: MetadataStore, segments: Mapping[str, Segment]) -> Mapping[str, Positions | None]:
    """Return by segment the positions of its live rows, None if all are live.

    Removed rows of a segment that no longer exists have no effect.
    """
    files = [file for segment in segments.values() for file in segment.removed]
    if not files:
        return dict.fromkeys(segments)
    removed = store.read(files, REMOVED_SCHEMA.names)
    names, positions = joined(removed, "segment"), joined(removed, "position")
    of: dict[str, Positions | None] = {}
    for name, segment in segments.items():
        mine: Any = positions.filter(pc.equal(names, name))
        if not len(mine):
            of[name] = None
            continue
        alive = np.ones(segment.rows, np.bool_)
        alive[mine.to_numpy()] = False
        of[name] = np.flatnonzero(alive)
    return of


def removed_table(rows: Mapping[str, Positions]) -> pa.Table:
    """Return the table to be written for dead positions by segment."""
    tables = [
        pa.table({"segment": pa.repeat(name, len(positions)), "position": positions}, schema=REMOVED_SCHEMA)
        for name, positions in rows.items()
    ]
    return pa.concat_tables(tables) if tables else REMOVED_SCHEMA.empty_table()
