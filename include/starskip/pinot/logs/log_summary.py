"""Count the lines, records and queries of a log, and the rejected ones by reason."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from starskip.pinot.logs.record_columns import WRAPPER_SEPARATOR

NOT_A_QUERY = "not_a_query"
"""The reason of a record that is about no query: of another part of the broker, or of another program."""

OWN_REPLAY = "own_replay"
"""The reason of a record of a query that Starskip itself sent (replay_mark); it has its counters."""

_UNKNOWN_FORMS = ("no_record_start", "unknown_format", "unknown_file_format", "bad_json")
_STRANGE_OBJECT = r"(?is)^[\s\[,]*\{.*(?:request|query|\bselect\b)"
"""Matches JSON that names a request or a query; other programs' objects may fill a log of all pods."""


@dataclass(frozen=True, slots=True)
class LogSummary:
    """Counts of a log: physical lines, records with counters, and reasons -> records of the other kinds.

    ``wrapped``: records that a shipper had put something around, by wrapper. ``strange_objects``: JSON
    objects that name a request or a query, but not as a log line or an event does; they are among ``other``
    as "not_a_query".
    """

    lines: int = 0
    queries: int = 0
    other: Mapping[str, int] = field(default_factory=dict)
    rejected: Mapping[str, int] = field(default_factory=dict)
    wrapped: Mapping[str, int] = field(default_factory=dict)
    strange_objects: int = 0

    @property
    def records(self) -> int:
        """Return the number of records, of whatever kind."""
        return self.queries + sum(self.other.values()) + sum(self.rejected.values())

    @property
    def replay_words(self) -> list[str]:
        """Return a sentence on our own replays, if there are any."""
        count = self.other.get(OWN_REPLAY, 0)
        return [f"{count:,} own replays in the log are left out: they are no traffic"] if count else []

    @property
    def not_understood(self) -> Mapping[str, int]:
        """Return the records that may be queries in a form that is not known, by reason.

        These are records that no format opens, and strange objects. A message of another part of the broker
        is understood; but if no record at all is about a query, the log may be another program's.
        """
        about_queries = self.records - sum(self.rejected.values()) - self.other.get(NOT_A_QUERY, 0)
        strangers = self.strange_objects if about_queries else self.other.get(NOT_A_QUERY, 0)
        unknown = {reason: n for reason, n in self.rejected.items() if reason in _UNKNOWN_FORMS}
        return {**({NOT_A_QUERY: strangers} if strangers else {}), **unknown}

    def __add__(self, more: LogSummary) -> LogSummary:
        """Return the summary of both logs together; associative, with LogSummary() as zero."""
        return LogSummary(
            self.lines + more.lines,
            self.queries + more.queries,
            _merged(self.other, more.other),
            _merged(self.rejected, more.rejected),
            _merged(self.wrapped, more.wrapped),
            self.strange_objects + more.strange_objects,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document that `parse-log --format json` prints."""
        return {
            "lines": self.lines,
            "records": self.records,
            "queries": self.queries,
            "other": dict(self.other),
            "rejected": dict(self.rejected),
            "wrapped": dict(self.wrapped),
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
        wrapped=_wrapped(batch["wrappers"]),
        strange_objects=_strange_objects(batch),
    )


def _wrapped(wrappers: Any) -> dict[str, int]:
    counts: Counter[str] = Counter()
    if wrappers.null_count < len(wrappers):
        for row in pc.value_counts(wrappers.drop_null()).to_pylist():
            counts.update(dict.fromkeys(row["values"].split(WRAPPER_SEPARATOR), row["counts"]))
    return _merged(counts, {})


def _strange_objects(batch: pa.RecordBatch) -> int:
    texts = pa.table({"text": batch["query_text"]}).filter(pc.equal(batch["reason"], NOT_A_QUERY))["text"]
    return pc.sum(pc.match_substring_regex(texts, _STRANGE_OBJECT)).as_py() or 0


def _merged(some: Mapping[str, int], more: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted((Counter(some) + Counter(more)).items()))
