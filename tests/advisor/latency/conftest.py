from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from starskip.advisor.latency.pooled_bins import pool_latencies
from starskip.storage.schemas import LATENCY_BINS


@pytest.fixture(scope="session")
def queries() -> Callable[..., pa.RecordBatch]:
    """Query records from arrays or lists of entries and latencies."""

    def build(
        in_filter: Any, post_filter: Any, latency_ms: Any, exceptions: Any = 0, table: Any = "t"
    ) -> Any:
        rows = len(latency_ms)
        return pa.RecordBatch.from_pydict(
            {
                "table": [table] * rows if isinstance(table, str) else table,
                "latency_ms": pa.array(list(latency_ms), pa.int64()),
                "exceptions": pa.array([exceptions] * rows if exceptions == 0 else exceptions, pa.int64()),
                "entries_scanned_in_filter": pa.array(list(in_filter), pa.int64()),
                "entries_scanned_post_filter": pa.array(list(post_filter), pa.int64()),
            }
        )

    return build


@pytest.fixture(scope="session")
def synthetic(queries: Callable[..., pa.RecordBatch]) -> Callable[..., pa.Table]:
    """LATENCY_BINS of queries that follow ``c + alpha * in + beta * post`` but for waiting times."""

    def build(intercept: float, alpha: float, beta: float, *, noise: bool = False) -> pa.Table:
        random = np.random.default_rng(7)
        in_filter = (10 ** random.uniform(2, 7, 4_000)).astype(np.int64)
        post_filter = (10 ** random.uniform(1, 6, 4_000)).astype(np.int64)
        latency = intercept + alpha * in_filter + beta * post_filter
        if noise:
            # Queueing only ever adds; the least of a bin is near the truth.
            latency = latency * (1 + random.exponential(0.3, 4_000))
        return pool_latencies([queries(in_filter, post_filter, np.rint(latency).astype(np.int64))])

    return build


@pytest.fixture(scope="session")
def bins_of() -> Callable[[Any, Any, Any], pa.Table]:
    """LATENCY_BINS as they are, one row a point."""

    def build(in_filter: Any, post_filter: Any, latency_ms: Any) -> pa.Table:
        rows = len(in_filter)
        columns = {
            "table": ["t"] * rows,
            "bin_in_filter": list(range(rows)),
            "bin_post_filter": [0] * rows,
            "entries_scanned_in_filter": [float(value) for value in in_filter],
            "entries_scanned_post_filter": [float(value) for value in post_filter],
            "latency_ms": [float(value) for value in latency_ms],
            "queries": [1] * rows,
        }
        return pa.table(columns, schema=LATENCY_BINS)

    return build
