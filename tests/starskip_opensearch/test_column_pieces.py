"""Pieces of columns of metadata in OpenSearch."""

from __future__ import annotations

import pyarrow as pa
import pytest
from starskip_opensearch.opensearch_store import column_of, column_pieces


def test_a_piece_of_another_column_is_told() -> None:
    column = pa.array(range(100))
    (piece,) = column_pieces(column, "one", 0)
    assert column_of([piece], column.type, "one", 0).combine_chunks() == column
    for owner, number in (("other", 0), ("one", 1)):
        with pytest.raises(ValueError, match="a piece is gone or damaged"):
            column_of([piece], column.type, owner, number)
