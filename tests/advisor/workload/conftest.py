from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

DATA = Path(__file__).parents[2] / "data"


@pytest.fixture(scope="session")
def record() -> Callable[..., dict[str, Any]]:
    """A query record with the given fields changed."""

    def build(query_text: str | None, **fields: Any) -> dict[str, Any]:
        plain = {
            "table": "lineitem",
            "latency_ms": 3,
            "rows_scanned": 10,
            "segments_queried": 5,
            "segments_processed": 4,
            "segments_matched": 2,
            "entries_scanned_in_filter": 100,
            "entries_scanned_post_filter": 7,
            "exceptions": 0,
            "weight": 1.0,
            "query_text_length": len(query_text or ""),
            "line_format": "0.11.0",
        }
        return {**plain, "query_text": query_text, **fields}

    return build


@pytest.fixture(scope="session")
def batch() -> Callable[[list[dict[str, Any]]], pa.RecordBatch]:
    schema = pa.schema(
        [("table", pa.string()), ("query_text", pa.string())]
        + [
            (name, pa.int64())
            for name in (
                "latency_ms",
                "rows_scanned",
                "segments_queried",
                "segments_processed",
                "segments_matched",
                "entries_scanned_in_filter",
                "entries_scanned_post_filter",
                "exceptions",
            )
        ]
        + [("weight", pa.float64()), ("query_text_length", pa.int64()), ("line_format", pa.string())]
    )
    return lambda records: pa.RecordBatch.from_pylist(records, schema=schema)
