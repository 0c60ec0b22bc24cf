"""A finished SQL execution and its scans, and the counts of a log's lines."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

_MAX_KEPT = 1_000


@dataclass(frozen=True, slots=True)
class TableScan:
    """One scan of a table's files. Counts are Spark's own, None if the log has none.

    ``filters``: conjuncts in Catalyst's text, with the types of ``read_schema``; ``predicate``: the exact
    predicate instead, as JSON (predicates.expression_json), if our own rule logged the query.
    """

    location: str
    file_format: str
    filters: tuple[str, ...]
    read_schema: str
    predicate: str | None
    files_total: int | None
    files_read: int | None
    bytes_read: int | None
    rows_read: int | None


@dataclass(frozen=True, slots=True)
class SqlExecution:
    """A finished query; ``started_ms`` since the epoch, ``error`` empty if it succeeded.

    ``description``: as in Spark's UI, which is the SQL if the user's tool sets it.
    """

    application: str
    started_ms: int
    duration_ms: int
    error: str
    description: str
    scans: tuple[TableScan, ...]


@dataclass(frozen=True, slots=True)
class RejectedLine:
    """A line that is no event, or a place where a file breaks; ``text``: its first characters."""

    file: str
    line: int
    reason: str
    text: str


@dataclass(slots=True)
class LogSummary:
    """Counts of a log as it is read: lines = events + other + rejected; the first rejected lines are kept.

    ``missing``: files that lack between others, as "app-1: 2, 5 to 7".
    """

    lines: int = 0
    events: int = 0
    other: int = 0
    executions: int = 0
    unfinished: int = 0
    without_start: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    rejected: list[RejectedLine] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)

    def reject(self, line: RejectedLine) -> None:
        """Count a line and keep it, if not too many are kept."""
        self.reasons[line.reason] += 1
        if len(self.rejected) < _MAX_KEPT:
            self.rejected.append(line)
