"""Queries to a live Pinot: SELECT alone, each with a time-out, and what it cost."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starskip.errors import MissingSource, SourceError, SourceOutage, UnsupportedQuery, first_line
from starskip.pinot.cluster.pinot_session import PinotSession
from starskip.pinot.replay_mark import REPLAY_COMMENT

QUERY_MS = 10_000
_SLACK_SECONDS = 5.0
_SELECT = re.compile(
    r"(?>(?:\s+|--[^\n]*\n|/\*.*?\*/|SET\s(?>(?:[^;']|'[^']*')*);)*)(?:SELECT|WITH|EXPLAIN\s+PLAN)\b",
    re.IGNORECASE | re.DOTALL,
)
_NO_SEPARATOR = re.compile(r"[^;='\"]*")
_DENIED, _NO_TABLE = (180,), (190,)
_PASSING = (210, 235, 240, 250, 260, 305, 410, 420, 425, 427, 429, 450, 503)
"""Codes of Pinot's QueryException for overload, time-outs and parts that are gone, which may pass."""
_IN_TEXT = re.compile(r"errorCode:\s*(\d+)")


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """Rows of one query, and what Pinot says that they cost.

    ``exceptions``: code and first line of each. ``types``: Pinot's types of the columns.
    """

    columns: Sequence[str]
    types: Sequence[str]
    rows: Sequence[Sequence[Any]]
    documents_scanned: int
    entries_in_filter: int
    entries_post_filter: int
    total_documents: int
    segments_queried: int
    segments_processed: int
    segments_matched: int
    servers_queried: int
    servers_responded: int
    time_ms: int
    is_partial: bool
    is_group_limit_reached: bool
    exceptions: Sequence[tuple[int, str]]

    @property
    def flaw(self) -> str:
        """Return why the answer is not whole, empty if it is."""
        if self.exceptions:
            code, text = self.exceptions[0]
            return f"Pinot answers error {code}: {text}"
        if self.servers_responded < self.servers_queried:
            return f"{self.servers_responded} of {self.servers_queried} servers answered"
        if self.is_partial:
            return "the answer is partial"
        return "Pinot left out groups beyond its limit" if self.is_group_limit_reached else ""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker, or the controller that hands queries to one; ``path`` is where it takes them."""

    session: PinotSession
    path: str

    def ask(
        self, sql: str, options: Mapping[str, str | int | bool] | None = None, *, timeout_ms: int = QUERY_MS
    ) -> QueryAnswer:
        """Return the answer to one query, also where it is not whole (``flaw``).

        ``options``: Pinot's query options, such as useStarTree=False or skipIndexes="c=inverted".

        Raises UnsupportedQuery for anything but a SELECT, AccessRefused, MissingSource for a table that the
        broker does not know, SourceOutage.
        """
        if not _SELECT.match(sql):
            raise UnsupportedQuery("only SELECT is sent to Pinot", reason="no_select")
        texts = {name: _text(value) for name, value in (options or {}).items()}
        texts["timeoutMs"] = str(timeout_ms)
        # Values with separators in them go as statements.
        plain = {name: text for name, text in texts.items() if _NO_SEPARATOR.fullmatch(text)}
        quoted = {name: text.replace("'", "''") for name, text in texts.items() if name not in plain}
        settings = "".join(f"SET {name} = '{text}'; " for name, text in quoted.items())
        # The comment that marks a replay stays in front: the reader of the log looks for it there.
        mark = f"{REPLAY_COMMENT} " if sql.startswith(f"{REPLAY_COMMENT} ") else ""
        body = {
            "sql": mark + settings + sql.removeprefix(mark),
            "queryOptions": ";".join(f"{name}={text}" for name, text in plain.items()),
        }
        answer = self.session.request(
            *("POST", self.path, "Query (READ)"),
            body=body,
            is_repeatable=True,
            timeout_seconds=timeout_ms / 1000 + _SLACK_SECONDS,
        )
        return self._answer(answer)

    def whole(
        self, sql: str, options: Mapping[str, str | int | bool] | None = None, *, timeout_ms: int = QUERY_MS
    ) -> QueryAnswer:
        """Return the answer to one query; raises SourceOutage or SourceError if it is not whole."""
        answer = self.ask(sql, options, timeout_ms=timeout_ms)
        if not answer.flaw:
            return answer
        may_pass = not answer.exceptions or answer.exceptions[0][0] in _PASSING
        kind = SourceOutage if may_pass else SourceError
        raise kind(f"{self._place}: {answer.flaw}", source=self.session.url)

    @property
    def _place(self) -> str:
        return f"Pinot's {self.session.name} {self.session.url}"

    def _answer(self, answer: Any) -> QueryAnswer:
        if not isinstance(answer, dict):
            # The controller answers its own errors as text.
            told = _IN_TEXT.search(str(answer))
            if told is None:
                words = f"{self._place}: {self.path}: answers no JSON object"
                raise SourceError(words, source=self.session.url)
            answer = {"exceptions": [{"errorCode": int(told[1]), "message": ""}]}
        exceptions = [
            (
                int(each.get("errorCode") or 0),
                first_line(Exception(str(each.get("message") or ""))).rstrip(":"),
            )
            for each in answer.get("exceptions") or ()
        ]
        for code, text in exceptions:
            if code in _DENIED:
                raise self.session.refusal(self.path, f"answers error {code}", "Query (READ)")
            if code in _NO_TABLE:
                raise MissingSource(f"{self._place}: answers error {code}: {text}", source=self.session.url)
        table = answer.get("resultTable") or {}
        schema = table.get("dataSchema") or {}

        def count(name: str) -> int:
            return int(answer.get(name) or 0)

        return QueryAnswer(
            schema.get("columnNames") or (),
            schema.get("columnDataTypes") or (),
            table.get("rows") or (),
            documents_scanned=count("numDocsScanned"),
            entries_in_filter=count("numEntriesScannedInFilter"),
            entries_post_filter=count("numEntriesScannedPostFilter"),
            total_documents=count("totalDocs"),
            segments_queried=count("numSegmentsQueried"),
            segments_processed=count("numSegmentsProcessed"),
            segments_matched=count("numSegmentsMatched"),
            servers_queried=count("numServersQueried"),
            servers_responded=count("numServersResponded"),
            time_ms=count("timeUsedMs"),
            is_partial=bool(answer.get("partialResult")),
            is_group_limit_reached=bool(answer.get("numGroupsLimitReached")),
            exceptions=exceptions,
        )


def _text(value: str | int | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
