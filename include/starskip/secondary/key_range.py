"""A range of keys of an index."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class KeyRange:
    """Keys from ``low`` to ``high``, arrays of one value, None if unbounded; or ``of_null``, null alone.

    Two ranges are equal if they are one object, so that a run can keep what it found of each.
    """

    low: pa.Array | None = None
    high: pa.Array | None = None
    low_included: bool = True
    high_included: bool = True
    of_null: bool = False

    @property
    def is_point(self) -> bool:
        """Return whether it is one key."""
        return self.low is not None and self.high is not None and self.low.equals(self.high)
