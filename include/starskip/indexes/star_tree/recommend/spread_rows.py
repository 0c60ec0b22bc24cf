"""Rows spread evenly over a table: a bounded number, the same however the table is cut."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from starskip.indexes.star_tree.recommend.combinations import Positions

_MAX_STEP = 1 << 62


@dataclass(frozen=True, slots=True)
class SpreadRows:
    """The rows whose position in the table is a multiple of ``step``; pieces follow one another."""

    step: int
    positions: Positions
    rows: pa.Table


def spread_rows(batch: pa.Table, first_position: int, step: int) -> SpreadRows:
    """Return those of a batch whose first row has that position."""
    taken = np.arange(-first_position % step, batch.num_rows, step)
    return SpreadRows(step, first_position + taken, batch.take(pa.array(taken)))


def spread_together(parts: Sequence[SpreadRows], most_rows: int) -> SpreadRows:
    """Return the rows of all parts, with a step that is doubled until they are at most ``most_rows``.

    The steps of the parts are doublings of the same one: so those that are left of parts that were put
    together before are those that were left of all at once.
    """
    step = max(part.step for part in parts)
    positions = np.concatenate([part.positions for part in parts])
    rows = pa.concat_tables([part.rows for part in parts])
    kept = np.flatnonzero(positions % step == 0)
    while len(kept) > most_rows and step < _MAX_STEP:
        step *= 2
        kept = kept[positions[kept] % step == 0]
    if len(kept) < len(positions):
        positions, rows = positions[kept], rows.take(pa.array(kept))
    return SpreadRows(step, positions, rows.combine_chunks())
