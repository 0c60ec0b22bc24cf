"""A bounded run of consecutive rows of one segment, in dictionary codes.

Filters are simulated on such windows: consecutive rows keep what a random sample loses, the
clustering that decides how far Pinot's iterators leap (tests/data/truth/README.md, model_check).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa


@dataclass(frozen=True, slots=True)
class ColumnWindow:
    """One column over the window's rows.

    ``dictionary``: all distinct values of the *whole segment*, sorted as the segment sorts them;
    None for a raw column, whose absence of a value cannot be known from a window.
    ``codes``: positions in ``dictionary`` (or in ``values`` of a raw column), one an entry, int32.
    ``offsets``: for a multi-value column, rows + 1 positions into ``codes``; None for single-value.
    ``values``: for a raw column, the distinct values seen in the window; else None.
    ``ends``: for a raw column, the least and greatest value of the whole segment, None where it is not known.
    ``nulls``: which rows are null, which the values do not show; None where the segment does not say.
    """

    codes: npt.NDArray[np.int32]
    dictionary: pa.Array | None = None
    offsets: npt.NDArray[np.int32] | None = None
    values: pa.Array | None = None
    nulls: npt.NDArray[np.bool_] | None = None
    ends: pa.Array | None = None


@dataclass(frozen=True, slots=True)
class RowWindow:
    """Consecutive rows of a segment that has ``segment_rows``; ``rows`` is their number.

    ``unreadable`` maps each requested column that could not be read to the reason.
    """

    table: str
    segment: str
    segment_rows: int
    rows: int
    columns: Mapping[str, ColumnWindow]
    unreadable: Mapping[str, str] = field(default_factory=dict)
