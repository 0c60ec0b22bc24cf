"""The least and greatest value of a column as an array of its values' type."""

from __future__ import annotations

import pyarrow as pa


def value_ends(least: str | None, greatest: str | None, kind: pa.DataType) -> pa.Array | None:
    """Return both ends from their texts, None where one is missing or of another type."""
    if least is None or greatest is None:
        return None
    try:
        return pa.array([least, greatest]).cast(kind)
    except pa.ArrowException:
        return None
