"""Count the lines, records and queries of a log, and the rejected ones by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


@dataclass(frozen=True, slots=True)
class LogSummary:
    """Counts of a log: physical lines, records with counters, and reasons -> records of the other kinds."""

    lines: int = 0
    queries: int = 0
    other: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """Return the number of records, of whatever kind."""
        return self.queries + sum(self.other.values()) + sum(self.rejected.values())

    def __add__(self, more: LogSummary) -> LogSummary:
        """Return the summary of both logs together; associative, with LogSummary() as zero."""
        return LogSummary(
            self.lines + more.lines,
            self.queries + more.queries,
            _merged(self.other, more.other),
            _merged(self.rejected, more.rejected),
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document that `parse-log --format json` prints."""
        return {
            "lines": self.lines,
            "records": self.records,
            "queries": self.queries,
            "other": dict(self.other),
            "rejected": dict(self.rejected),
        }


def log_summary(batch: pa.RecordBatch) -> LogSummary:
    """Return the counts of a batch (or a table) of LOG_RECORDS."""
    kinds = pa.table({"kind": batch["kind"], "reason": batch["reason"]})
    counts = kinds.group_by(["kind", "reason"]).aggregate([([], "count_all")]).to_pylist()
    reasons = {
        kind: {row["reason"]: row["count_all"] for row in counts if row["kind"] == kind}
        for kind in ("query", "other", "rejected")
    }
    return LogSummary(
        lines=pc.sum(batch["source_lines"]).as_py() or 0,
        queries=sum(reasons["query"].values()),
        other=_merged(reasons["other"], {}),
        rejected=_merged(reasons["rejected"], {}),
    )


def _merged(some: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted((Counter(some) + Counter(more)).items()))
