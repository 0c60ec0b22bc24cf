"""Encode rows as a Parquet file of the store: compressed, each page with a checksum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def checked_parquet(
    rows: pa.Table,
    *,
    row_group_size: int | None = None,
    use_dictionary: bool | Sequence[str] = True,
    delta_columns: Sequence[str] = (),
    encryption: Any = None,
) -> pa.Buffer:
    """Return the bytes of a file of ``rows``; ``use_dictionary`` may name the columns that have one.

    ``delta_columns``: those of whole numbers that have none and are kept as differences. ``encryption``:
    pyarrow's properties of an encrypted file (encryption.data_key).
    """
    sink = pa.BufferOutputStream()
    pq.write_table(
        rows,
        sink,
        compression="zstd",
        row_group_size=row_group_size,
        use_dictionary=use_dictionary if isinstance(use_dictionary, bool) else [*use_dictionary],
        column_encoding=dict.fromkeys(delta_columns, "DELTA_BINARY_PACKED") or None,
        # A changed bit in a page would else be another value, and nobody would know.
        write_page_checksum=True,
        encryption_properties=encryption,
    )
    return sink.getvalue()
