"""What a log tells of the queries that its broker did not log."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from starskip.pinot.logs.sampling_weights import dropped_lines


@dataclass(frozen=True, slots=True)
class SamplingSummary:
    """``dropped_lines``: as the broker counts them; ``sampled_queries``: those that stand for others.

    ``unlogged_queries``: how many others, an estimate that differs from the dropped lines where these are not
    all of queries (sampling_weights).
    """

    dropped_lines: int = 0
    sampled_queries: int = 0
    unlogged_queries: float = 0.0

    @property
    def mean_weight(self) -> float:
        """Return how many queries a sampled one stands for, itself included."""
        return 1.0 + self.unlogged_queries / self.sampled_queries if self.sampled_queries else 1.0

    @property
    def words(self) -> str:
        """Return the summary as a sentence for a person."""
        return (
            f"the broker dropped {self.dropped_lines:,} log lines: {self.sampled_queries:,} queries of"
            f" at most 1 s count {self.mean_weight:.1f} times each"
        )

    def __add__(self, more: SamplingSummary) -> SamplingSummary:
        """Return the summary of both logs together."""
        return SamplingSummary(
            self.dropped_lines + more.dropped_lines,
            self.sampled_queries + more.sampled_queries,
            self.unlogged_queries + more.unlogged_queries,
        )


def sampling_summary(batch: pa.RecordBatch) -> SamplingSummary:
    """Return the summary of a batch of weighted LOG_RECORDS."""
    dropped = batch.filter(pc.equal(batch.column("reason"), "logs_dropped")).column("query_text").to_pylist()
    weights = batch.filter(pc.equal(batch.column("kind"), "query")).column("weight")
    above = weights.filter(pc.greater(weights, 1.0))
    unlogged = (pc.sum(above).as_py() or 0.0) - len(above)
    return SamplingSummary(sum(map(dropped_lines, dropped)), len(above), unlogged)
