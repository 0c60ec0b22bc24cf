"""Mark queries that Starskip itself sends to a broker, and recognise them in its log.

A replay is no traffic: it must not vote for the indexes that it measures. A broker logs the text as it was
sent, so a comment in front of it shows, and is the last that a cut of the text takes away. Where the broker
takes literals out of its log (``sqlRedaction``, Pinot 1.6), comments go too; such a log names the workload.
An older Pinot ignores the option, and no Pinot refuses a query for a workload that nobody gave a budget.
"""

from __future__ import annotations

from collections.abc import Mapping

REPLAY_COMMENT = "/* starskip: replay */"
REPLAY_WORKLOAD = "starskip_replay"
REPLAY_OPTIONS: Mapping[str, str] = {"workloadName": REPLAY_WORKLOAD}
"""Query options to send with a marked statement, beside its text."""

_COMMENT = REPLAY_COMMENT.encode()
_LEAST = len(b"/* starskip")
"""A comment that was cut is recognised by this many of its characters."""
_WORKLOAD = f",workloadName={REPLAY_WORKLOAD},".encode()


def marked(sql: str) -> str:
    """Return the statement with the mark of a replay in front."""
    return f"{REPLAY_COMMENT} {sql}"


def is_marked(query: bytes, fields_before: bytes = b"") -> bool:
    """Return whether a logged query is a replay; ``fields_before``: its line up to the text."""
    start = query[: 2 * len(_COMMENT)].lstrip()
    return start.startswith(_COMMENT[: max(len(start), _LEAST)]) or _WORKLOAD in fields_before
