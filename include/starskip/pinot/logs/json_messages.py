"""Find the log messages in a JSON object that a shipper, or Log4j itself, made of log lines.

Sources: Docker's json-file, Fluent Bit, Fluentd, Filebeat and Vector (``log``, ``message``, with Kubernetes'
metadata beside it), Log4j's JsonLayout and JsonTemplateLayout (ECS, GELF, Logstash), journald's export,
CloudWatch's subscriptions, Google's Cloud Logging, Loki's ``logcli`` and API, OpenSearch's documents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from starskip.pinot.logs.event_time import event_time

_MESSAGES = (
    *("message", "msg", "log", "@message", "textPayload", "MESSAGE", "full_message", "short_message", "body"),
    *("line", "_raw", "event", "text", "content", "original", "stringValue", "Message", "Body"),
)
_TIMES = (
    *("instant", "timeMillis", "timestamp", "@timestamp", "time", "ts", "date", "timeUnixNano", "datetime"),
    *("_SOURCE_REALTIME_TIMESTAMP", "__REALTIME_TIMESTAMP", "eventTime", "Timestamp"),
)
_LOGGERS = ("loggerName", "logger_name", "logger", "log.logger", "class", "_logger", "LoggerName")
_THREADS = ("thread", "threadName", "thread_name", "process.thread.name", "_thread", "Thread")
_LEVELS = ("level", "log.level", "levelname", "Level", "loglevel")
_IDENTITY = frozenset(
    (
        *("pod", "pod_name", "podName", "kubernetes_pod_name", "pod.name", "pod_id", "hostname", "host"),
        *("host.name", "container", "container_name", "containerName", "container.name", "container_id"),
        *("container.id", "kubernetes_container_name", "stream", "logStream", "logStreamName", "@logStream"),
        *("filename", "file.path", "_HOSTNAME", "_PID", "_SYSTEMD_UNIT", "CONTAINER_ID", "CONTAINER_NAME"),
        *("instance", "instance_id"),
    )
)
_PARTS = frozenset(name.rpartition(".")[2] for name in _IDENTITY if "." in name)
_EVENT_COUNTERS = frozenset(
    ("queryProcessingDuration", "scannedEntriesInFilterCount", "scannedEntriesPostFilterCount")
)
_QUERY_LINE = re.compile(r"request_?id[=: ]|\"scannedEntries", re.IGNORECASE)
_OF_LOGGERS = frozenset((*_LOGGERS, *_THREADS, *_LEVELS))
_LEVEL = re.compile("trace|debug|info|warn|error|fatal", re.IGNORECASE)
_NO_BRACKETS = re.compile(r"[\[\]\n]")
_DEPTH = 8
_DOCKER_CHUNK = 16_384
"""Docker cuts longer lines into pieces of this size."""

_PIECES = (
    ("partial_message", "partial_last"),
    ("CONTAINER_PARTIAL_MESSAGE", "CONTAINER_PARTIAL_LAST"),
    ("_partial", "_partial_last"),
)

Path = tuple[str, ...]


class JsonMessage(NamedTuple):
    """A message of an object: the path of its field, what tells its stream, and its parts.

    ``is_record``: a logger made it, so that it is a whole record and continues no other. ``head``: level,
    logger and thread as a log line shows them. ``is_partial``: the line goes on in the next message; None: so
    it does if other messages of its stream have line ends.
    """

    path: Path
    key: tuple[str, ...]
    text: bytes
    time: bytes | None
    head: bytes
    is_record: bool
    is_partial: bool | None


def json_messages(
    document: Mapping[str, Any], begins: Callable[[bytes], bool], learned: Sequence[Path], field: str
) -> list[JsonMessage]:
    """Return the messages of one field of the object; none if it is no wrapper.

    The field is one that was ``learned`` from other objects; else ``field`` (with dots between nested names),
    if it is given; else a known name whose text ``begins`` a record or that stands beside a logger's name, or
    any field whose text is a query line or an event.
    """
    if _EVENT_COUNTERS & document.keys():
        return []
    of_all = _identity(document, "", 0)
    for path in learned:
        if (at_path := _at(document, path)) is not None:
            return [_message(at_path, of_all)]
    found = list(_candidates(document, (), (), learned, field))
    path = next((each.path for each in found if _logger_head(each.owners[-1])[0] or begins(each.text)), ())
    if not path:
        path = next((each.path for each in found if each.path in learned), ())
    return [_message(each, of_all) for each in found if each.path == path]


class _Candidate(NamedTuple):
    """A text that may be the message; ``owners``: objects around it, outermost first; ``time``: of a pair."""

    path: Path
    text: bytes
    owners: tuple[Mapping[str, Any], ...]
    time: Any = None


def _candidates(
    value: Mapping[str, Any],
    path: Path,
    owners: tuple[Mapping[str, Any], ...],
    learned: Sequence[Path],
    field: str,
) -> Iterator[_Candidate]:
    """Yield the texts of an object that may be the message, known names before others."""
    if len(path) > _DEPTH:
        return
    owners = (*owners, value)
    if field:
        if (text := _named(value, field)) is not None:
            yield _Candidate((*path, field), text, owners)
    else:
        for name in (*(n for n in _MESSAGES if n in value), *(n for n in value if n not in _MESSAGES)):
            inner = value[name]
            is_known = name in _MESSAGES or (*path, name) in learned
            may_be = is_known or (isinstance(inner, str) and _QUERY_LINE.search(inner))
            if may_be and (text := _text(inner)) is not None:
                yield _Candidate((*path, name), text, owners)
    for name, inner in value.items():
        inner_path = (*path, name)
        for each in inner if isinstance(inner, list) else (inner,):
            if isinstance(each, dict) and each.keys() >= _EVENT_COUNTERS:
                yield _Candidate(inner_path, json.dumps(each).encode(), owners)
            elif isinstance(each, dict):
                yield from _candidates(each, inner_path, owners, learned, field)
            elif isinstance(each, list) and len(each) > 1 and isinstance(each[1], str):  # Loki's [time, line]
                yield _Candidate(inner_path, each[1].encode("utf-8", "replace"), owners, each[0])


def _at(document: Mapping[str, Any], path: Path) -> _Candidate | None:
    """Return the text at a path without lists."""
    owners = [document]
    for name in path[:-1]:
        inner = owners[-1].get(name)
        if not isinstance(inner, dict):
            return None
        owners.append(inner)
    text = _text(owners[-1].get(path[-1]))
    return None if text is None else _Candidate(path, text, tuple(owners))


def _named(value: Mapping[str, Any], field: str) -> bytes | None:
    """Return the text of a field, whose name may itself hold dots."""
    if field in value:
        return _text(value[field])
    outer, _, inner = field.partition(".")
    return _named(value[outer], inner) if inner and isinstance(value.get(outer), dict) else None


def _text(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, list) and value and all(isinstance(n, int) and 0 <= n < 256 for n in value):
        return bytes(value)  # journald's form of a text with colours
    return None


def _message(found: _Candidate, of_all: tuple[str, ...]) -> JsonMessage:
    owner = found.owners[-1]
    is_record, head = _logger_head(owner)
    times = [each[name] for each in reversed(found.owners) for name in _TIMES if name in each]
    clock, offset = next((time for time in map(event_time, (found.time, *times)) if time[0]), (None, None))
    return JsonMessage(
        found.path,
        (*of_all, *(_identity(owner, "", 0) if len(found.owners) > 1 else ())),
        found.text.removesuffix(b"\n").removesuffix(b"\r"),
        clock + (offset or b"") if clock else None,
        head,
        is_record,
        _is_partial(found, owner),
    )


def _logger_head(owner: Mapping[str, Any]) -> tuple[bool, bytes]:
    """Return whether a logger made the object, and the level, logger and thread as a log line shows them."""
    log = owner.get("log")
    log = log if isinstance(log, dict) else {}
    if not log and _OF_LOGGERS.isdisjoint(owner):
        return False, b""
    fields = {**{f"log.{name}": value for name, value in log.items()}, **owner}
    logger, thread, level = (
        next((fields[name] for name in names if isinstance(fields.get(name), str)), "")
        for names in (_LOGGERS, _THREADS, _LEVELS)
    )
    shown = [level.upper()] if _LEVEL.fullmatch(level) else []
    names = (logger.rpartition(".")[2], thread)
    shown += [f"[{_NO_BRACKETS.sub('_', part)[:80]}]" for part in names if part]
    return bool(logger or thread), " ".join(shown).encode("utf-8", "replace")


def _is_partial(found: _Candidate, owner: Mapping[str, Any]) -> bool | None:
    tag = owner.get("logtag", owner.get("_p"))
    if tag in ("P", "F"):
        return bool(tag == "P")
    for is_piece, is_last in _PIECES:
        if str(owner.get(is_piece, "")).lower() == "true":
            return str(owner.get(is_last, "")).lower() != "true"
    if found.path[-1] == "log" and not found.text.endswith(b"\n"):
        return len(found.text) >= _DOCKER_CHUNK or None
    return False


def _identity(value: Mapping[str, Any], parent: str, depth: int) -> tuple[str, ...]:
    """Return the values of the fields that tell whose line it is."""
    found: tuple[str, ...] = ()
    for name, inner in value.items():
        if isinstance(inner, dict) and depth < _DEPTH:
            found += _identity(inner, name, depth + 1)
        elif (name in _IDENTITY or (name in _PARTS and f"{parent}.{name}" in _IDENTITY)) and (
            isinstance(inner, str | int)
        ):
            found += (f"{name}={inner}",)
    return found
