"""A range of keys, and its known overlaps with runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from starskip.secondary.run_reader import RunReader


@dataclass(slots=True)
class Overlap:
    """Blocks of a run that overlap a range of keys, the blocks within it, and its entries once counted."""

    run: RunReader
    blocks: range
    within: range
    entries: int | None = None


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys from ``low`` to ``high``, arrays of one value, None if unbounded; or ``of_null``, null alone.

    ``known``: overlaps with runs, which a plan needs again and again.
    """

    low: pa.Array | None = None
    high: pa.Array | None = None
    low_included: bool = True
    high_included: bool = True
    of_null: bool = False
    known: dict[int, Overlap] = field(default_factory=dict, repr=False, compare=False)

    @property
    def is_point(self) -> bool:
        """Return whether it is one key."""
        return self.low is not None and self.high is not None and self.low.equals(self.high)
