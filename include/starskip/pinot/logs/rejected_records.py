"""Classify records that no line format explains, and count the rejected ones by reason."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import pyarrow as pa

from starskip.errors import SourceError
from starskip.pinot.logs.log_summary import NOT_A_QUERY, LogSummary, log_summary
from starskip.pinot.logs.record_start import KNOWN_STARTS, RecordStarts

_QUERY_LINE = re.compile(rb"requestId[=:]", re.IGNORECASE)
_QUERY_FIELD = re.compile(rb", ?query[=:]")
_ABOUT_A_QUERY = re.compile(rb"request(?:Id)?[ =:]{1,2}-?\d", re.IGNORECASE)
_HANDLERS = (b"RequestHandler", b"QueryLogger")

_COUNTERS = re.compile(
    rb"(?:^|, ?)(requestId|timeMs|docs|entries|exceptions|segments\([A-Za-z/]*+\)|"
    rb"total[A-Z]\w*+|num[A-Z]\w*+)[=:] ?([^, ]*+)"
)
_WHOLE_NUMBERS = re.compile(rb"-?\d++(?>(?:/-?\d++)*)\Z")
_NEEDED = {b"timeMs", b"docs", b"entries"}
_BRACKETS = b" \t\r\n[],"
"""The bytes of an array of JSON events beside the events."""
_INT64 = range(-(1 << 63), 1 << 63)
_LONGEST_INT64 = 20


def unmatched(
    text: bytes,
    prefix: re.Match[bytes],
    starts: RecordStarts = KNOWN_STARTS,
    *,
    is_wrapped: bool = False,
) -> tuple[str, str]:
    """Return (kind, reason) of a record that fits no shape; ``prefix`` is its match of PREFIX.

    What a logger wrote to JSON (``is_wrapped``) is a record even if no time tells it.

    "other" is a message of another part of the broker ("not_a_query"). All else is "rejected":
    "bad_counter" (a counter is no whole number of 64 bits), "incomplete_record" (a query line without all
    its fields, as a cut log has), "no_record_start" (text before the first record of a file) and
    "unknown_format".
    """
    if not text.strip(_BRACKETS):
        return "other", NOT_A_QUERY
    if not starts.first.match(text) and not (is_wrapped and prefix["logger"].strip()):
        return "rejected", "no_record_start"
    message = text[prefix.end() :]
    if _QUERY_LINE.match(message):
        return "rejected", _fault_of_query_line(message)
    logger = prefix["logger"].strip()
    by_handler = any(handler in logger for handler in _HANDLERS)
    if not logger or (by_handler and _ABOUT_A_QUERY.search(message)):
        return "rejected", "unknown_format"
    return "other", NOT_A_QUERY


def _fault_of_query_line(message: bytes) -> str:
    query = _QUERY_FIELD.search(message)
    counters = _COUNTERS.findall(message[: query.start()] if query else message)
    if any(not _are_counters(value) for _, value in counters):
        return "bad_counter" if query else "incomplete_record"
    if query is None or not _NEEDED.issubset(name for name, _ in counters):
        return "incomplete_record"
    return "unknown_format"


def _are_counters(value: bytes) -> bool:
    if not _WHOLE_NUMBERS.match(value):
        return False
    return all(len(number) <= _LONGEST_INT64 and int(number) in _INT64 for number in value.split(b"/"))


@dataclass(slots=True)
class RejectedRecords:
    """Gathers batches of LOG_RECORDS; ``first_files``: by reason, the first file that has such a record."""

    summary: LogSummary = field(default_factory=LogSummary)
    first_files: dict[str, str] = field(default_factory=dict)

    def add(self, path: str, batch: pa.RecordBatch) -> None:
        """Count the records of a batch, which were read from ``path``."""
        counted = log_summary(batch)
        self.summary += counted
        for reason in (*counted.rejected, *counted.other):
            self.first_files.setdefault(reason, path)

    def warnings(self, max_not_understood_ratio: float) -> list[str]:
        """Return a sentence a reason, and one on our own replays.

        Raises SourceError if every record of the log was rejected, or more than the ratio is not understood:
        then its format is not known.
        """
        rejected, records = self.summary.rejected, self.summary.records
        sentences = [
            f"{rejected[reason]} log records rejected: {reason}, the first in {self.first_files[reason]}"
            for reason in sorted(rejected)
        ]
        if rejected and records == sum(rejected.values()):
            raise SourceError(
                f"no query in the log, {'; '.join(sentences)} (starskip parse-log --rejected 5 shows them)",
                source=self.first_files[min(rejected)],
            )
        if problem := not_understood_words(self.summary, max_not_understood_ratio):
            file = self.first_files[next(iter(self.summary.not_understood))]
            raise SourceError(f"{problem}, the first in {file}", source=file)
        return [*sentences, *self.summary.replay_words]


def not_understood_words(summary: LogSummary, max_ratio: float) -> str:
    """Return a sentence on a log of which more than the ratio is not understood; empty for any other."""
    reasons = summary.not_understood
    if sum(reasons.values()) <= max_ratio * summary.records:
        return ""
    listing = ", ".join(f"{reason}: {n:,}" for reason, n in reasons.items())
    return (
        f"{sum(reasons.values()):,} of {summary.records:,} records of the log are not understood ({listing}):"
        " is it a broker's? if its lines lie in JSON, setting log.message_field (--message-field) names their"
        " field"
    )
