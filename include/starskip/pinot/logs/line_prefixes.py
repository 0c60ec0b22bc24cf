"""Recognise what shippers of logs put before each line: container engines, Kubernetes, syslog, CloudWatch.

Sources: CRI's log format (Kubernetes, "CRI: Log Management"), `kubectl logs --prefix` and `--timestamps`,
`docker compose logs`, stern, RFC 3164 and RFC 5424, rsyslog's file format, `journalctl -o short`, `short-iso`
`short-full` and `short-unix`, Fluentd's and Fluent Bit's files, `logcli`, Grafana's download, `aws logs tail`
and CloudWatch's export to S3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_ISO = rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?>[.,]\d{1,9}+|)(?>Z|[+-]\d\d:?\d\d|)"
_JOURNALS_TIME = rb"[A-Z][a-z]{2} \d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d{1,9})? [A-Z]{2,5}"
_TIME = rb"(?P<time>" + _ISO + rb")"
_STRUCTURE = rb'(?:-|(?:\[(?>(?:[^\]"]++|"(?>(?:[^"\\]++|\\.)*)")*)\])+)'
_SYSLOG_WORD = rb"[^\s:\[\]]{1,255}+"
_NO_LEVEL = rb"(?!(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b)"
_STREAM = _NO_LEVEL + rb"(?:[^\s{<>]{2,512}+|\{[^{}\n]{0,2000}+\})"
_POD = rb"[a-z][a-z0-9.-]{0,252} [a-z][a-z0-9-]{0,62} "
_BEFORE_A_TIME = rb"(?=\[?\d{4}[-/]\d\d[-/]\d\d|[{\x1b]|\[pod/)"

_PATTERNS = {
    "cri": _TIME + rb" (?P<key>stdout|stderr) (?P<tags>[FP](?>(?::\w++)*))(?: |\Z)",
    "kubectl": rb"\[pod/(?P<key>[\w.-]{1,253}+/[\w.-]{1,63}+)\](?: |\Z)",
    "syslog": (
        rb"(?:<\d{1,3}>\d )(?:-|"
        + _TIME
        + rb") (?P<key>\S{1,255} \S{1,48} \S{1,128}) \S{1,32} "
        + _STRUCTURE
        + rb"(?: |\Z)(?:\xef\xbb\xbf)?"
    ),
    "syslog-3164": (
        rb"(?:<\d{1,3}>)?(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d{1,9})?|"
        + _JOURNALS_TIME
        + rb"|\d{10}\.\d{6}|"
        + _TIME
        + rb") "
        + _NO_LEVEL
        + rb"(?P<key>"
        + _SYSLOG_WORD
        + b" "
        + _SYSLOG_WORD
        + rb"(?:\[\d{1,10}\])?):(?: |\Z)"
    ),
    "compose": rb"(?P<key>[\w.@-]{1,120}+) {0,40}+\|(?: |\Z)",
    "fluentd": _TIME + rb"\t(?P<key>[^\t]{1,512}+)\t(?=\{)",
    "fluentbit": rb"(?P<key>[\w.*/-]{1,512}+): \[\d{1,12}(?:\.\d{1,9})?, (?=\{)",
    # Behind these stands a line with a time of its own: a time, or words, alone may begin any line.
    "timestamp": _TIME + rb"[ \t](?:(?P<key>" + _STREAM + rb") )?" + _BEFORE_A_TIME,
    "stern": rb"(?P<key>" + _POD + rb")" + _BEFORE_A_TIME,
    "timestamp of a stream": _TIME + rb" (?P<key>" + _STREAM + rb")(?: |\Z)",
    "timestamp alone": _TIME + rb"(?:[ \t]|\Z)",
    "stern alone": rb"(?P<key>" + _POD + rb")",
}
_PREFIXES = tuple((name, re.compile(pattern)) for name, pattern in _PATTERNS.items())
_NAMES = {
    "syslog-3164": "syslog",
    **dict.fromkeys(("timestamp of a stream", "timestamp alone"), "timestamp"),
    "stern alone": "stern",
}
_DOUBTFUL = frozenset(("timestamp of a stream", "timestamp alone", "stern alone"))
_CONTROL = re.compile(rb"#(0[0-3][0-7])")
"""A control character as rsyslog writes it: ``#012`` for a line end."""

_COLOUR = re.compile(rb"\x1b\[[\d;]*+[mK]")
_COLOURED_FROM = 200
_RESET = 8


class LinePrefix(NamedTuple):
    """A prefix: its shipper, whose line it is, its time, and the line behind it.

    ``is_partial``: the line goes on in the next one of the same ``key``. ``is_sure``: no other line begins
    so; ``is_doubtful``: a line that nothing was put before may begin so.
    """

    name: str
    key: bytes
    time: bytes | None
    rest: bytes
    is_partial: bool
    is_sure: bool
    is_doubtful: bool


def line_prefixes(text: bytes) -> Iterator[LinePrefix]:
    """Yield the prefixes that the line may have, the surest first: its text decides which are real."""
    for name, pattern in _PREFIXES:
        found = pattern.match(text)
        if found is None:
            continue
        groups, rest = found.groupdict(), text[found.end() :]
        if name.startswith("syslog") and b"#0" in rest:
            rest = _CONTROL.sub(lambda control: bytes((int(control[1], 8),)), rest)
        yield LinePrefix(
            _NAMES.get(name, name),
            groups.get("key") or b"",
            groups.get("time"),
            rest,
            (groups.get("tags") or b"F")[:1] == b"P",
            name == "cri",
            name in _DOUBTFUL,
        )


def without_colours(text: bytes) -> bytes | None:
    """Return the line without ANSI colours, None if it has none before its message or at its end."""
    is_coloured = b"\x1b[" in text[:_COLOURED_FROM] or b"\x1b[" in text[-_RESET:]
    return _COLOUR.sub(b"", text) if is_coloured else None
