"""Logs with something around their lines: shippers' prefixes and JSON, one within the other."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.pinot.logs.log_splits import LogSplit, log_splits
from starskip.pinot.logs.log_summary import LogSummary, log_summary
from starskip.pinot.logs.parse_records import parse_split

PINOT = "2026/11/18 08:00:{:02d}.000 INFO [QueryLogger] [jersey-7] "
MESSAGE = (
    "requestId={},table=t_OFFLINE,timeMs=12,docs=10/9746,entries=9746/20,"
    "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable):"
    "31/31/20/0/0/0/0,consumingFreshnessTimeMs=0,servers=1/1,groupLimitReached=false,brokerReduceTimeMs=1,"
    "exceptions=0,serverStats=(Server=SubmitDelayMs,ResponseDelayMs);192.0.2.2_O=1,1,"
    "offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,"
    "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,clientIp=unknown,query={}"
)
TEXTS = (
    "SELECT COUNT(*) FROM t WHERE a = 'x'",
    "SELECT COUNT(*)\n\nFROM t\n  WHERE b = 'é漢'",
    'SELECT a,\n c || d\nFROM t WHERE j = \'\n[ {"msg": 7, "log": "no log line"} ]\n{\n}\'',
    "SELECT a\nFROM t WHERE j = '\nname-1  | no prefix\n[pod/x/y] none either\n]\nhost tag[1]: x\n'",
    "SELECT \"{\" FROM t WHERE r = '\\d+\\\\' AND tab = '\t'",
)
ISO = "2026-11-18T08:00:{:02d}.123456789Z"

Lines = Sequence[str]


def plain_records(texts: Lines = TEXTS, first: int = 0) -> list[str]:
    return [PINOT.format(i % 60) + MESSAGE.format(first + i, text) for i, text in enumerate(texts)]


def each_line(wrap: Callable[[str, int], str]) -> Callable[[Lines], str]:
    """Put something around each physical line, as shippers of a container's output do."""
    return lambda records: "".join(
        wrap(line, i) + "\n" for i, record in enumerate(records) for line in record.split("\n")
    )


def each_record(wrap: Callable[[str, int], str]) -> Callable[[Lines], str]:
    """Put something around each record, as a logger or a shipper that joins lines does."""
    return lambda records: "".join(wrap(record, i) + "\n" for i, record in enumerate(records))


def message(record: str) -> str:
    return record.split("[jersey-7] ")[1]


def json_line(document: object) -> str:
    return json.dumps(document, ensure_ascii=False)


KUBERNETES = {"pod_name": "pinot-broker-0", "labels": {"app": "pinot", "text": "x"}, "container_name": "b"}
WRAPPERS: dict[str, tuple[Callable[[Lines], str], Lines]] = {
    "compose": (each_line(lambda line, i: f"pinot-broker-1  | {line}"), ["compose"]),
    "coloured compose": (
        each_line(lambda line, i: f"\x1b[36mpinot-broker-1  |\x1b[0m {line}"),
        ["ansi", "compose"],
    ),
    "kubectl": (each_line(lambda line, i: f"[pod/pinot-broker-0/broker] {line}"), ["kubectl"]),
    "kubectl with times": (
        each_line(lambda line, i: f"[pod/pinot-broker-0/broker] {ISO.format(i)} {line}"),
        ["kubectl", "timestamp"],
    ),
    "times": (each_line(lambda line, i: f"{ISO.format(i)} {line}"), ["timestamp"]),
    "aws tail": (
        each_line(lambda line, i: f"2026-11-18T08:00:{i:02d}.123000+00:00 broker/pinot/9f {line}"),
        ["timestamp"],
    ),
    "cri": (each_line(lambda line, i: f"{ISO.format(i)} stdout F {line}"), ["cri"]),
    "cri in pieces": (
        each_line(
            lambda line, i: "\n".join(
                f"{ISO.format(i)} stdout {'F' if at + 50 >= len(line) else 'P'} {line[at : at + 50]}"
                for at in range(0, max(len(line), 1), 50)
            )
        ),
        ["cri"],
    ),
    "syslog": (each_line(lambda line, i: f"Nov  8 08:00:{i:02d} host pinot-broker[12]: {line}"), ["syslog"]),
    "syslog of 2009": (
        each_line(lambda line, i: f'<134>1 {ISO.format(i)} host pinot 12 ID [a@1 b="\\"]"] {line}'),
        ["syslog"],
    ),
    "rsyslog": (
        each_line(lambda line, i: f"2026-11-18T08:00:{i:02d}.1+01:00 host pinot-broker[12]: {line}"),
        ["syslog"],
    ),
    "docker": (
        each_line(lambda line, i: json_line({"log": line + "\n", "stream": "stdout", "time": ISO.format(i)})),
        ["json:log"],
    ),
    "docker in pieces": (
        each_line(
            lambda line, i: "\n".join(
                json_line({"log": (line + "\n")[at : at + 60], "stream": "stdout", "time": ISO.format(i)})
                for at in range(0, len(line) + 1, 60)
            )
        ),
        ["json:log"],
    ),
    "fluent bit": (
        each_line(lambda line, i: json_line({"date": 1.7e9, "log": line, "kubernetes": KUBERNETES})),
        ["json:log"],
    ),
    "fluent bit of containerd": (
        each_line(
            lambda line, i: json_line(
                {"stream": "stdout", "logtag": "F", "message": line, "kubernetes": KUBERNETES}
            )
        ),
        ["json:message"],
    ),
    "records that fluentd joined": (
        each_record(lambda record, i: json_line({"log": record + "\n", "kubernetes": KUBERNETES})),
        ["json:log"],
    ),
    "msg": (each_line(lambda line, i: json_line({"level": "info", "msg": line})), ["json:msg"]),
    "unknown field": (
        each_record(lambda record, i: json_line({"x": {"payload_text": record}, "n": i})),
        ["json:x.payload_text"],
    ),
    "opensearch": (
        each_line(lambda line, i: json_line({"_index": "l", "_source": {"message": line, "n": i}})),
        ["json:_source.message"],
    ),
    "google": (
        each_line(lambda line, i: json_line({"jsonPayload": {"message": line}, "severity": "INFO"})),
        ["json:jsonPayload.message"],
    ),
    "google's text": (each_line(lambda line, i: json_line({"textPayload": line})), ["json:textPayload"]),
    "logcli": (
        each_line(
            lambda line, i: json_line({"labels": {"app": "p"}, "line": line, "timestamp": ISO.format(i)})
        ),
        ["json:line"],
    ),
    "journald": (
        each_line(lambda line, i: json_line({"MESSAGE": line, "_PID": "7", "PRIORITY": "6"})),
        ["json:MESSAGE"],
    ),
    "journald's bytes": (
        each_record(lambda record, i: json_line({"MESSAGE": [*record.encode()]})),
        ["json:MESSAGE"],
    ),
    "cri of docker's driver": (
        each_line(lambda line, i: f"{ISO.format(i)} stdout F " + json_line({"message": line})),
        ["cri", "json:message"],
    ),
    "opentelemetry": (
        each_line(lambda line, i: json_line({"body": {"stringValue": line}})),
        ["json:body.stringValue"],
    ),
    "cloudwatch's subscription": (
        lambda records: json_line(
            {
                "messageType": "DATA_MESSAGE",
                "logStream": "s",
                "logEvents": [{"id": str(i), "timestamp": i, "message": r} for i, r in enumerate(records)],
            }
        ),
        ["json:logEvents.message"],
    ),
    "loki's api": (
        lambda records: json_line(
            {
                "data": {
                    "result": [{"stream": {"a": "b"}, "values": [[str(i), r] for i, r in enumerate(records)]}]
                }
            }
        ),
        ["json:data.result.values"],
    ),
    "firehose, without line ends": (
        lambda records: "".join(json_line({"logStream": "s", "message": record}) for record in records),
        ["json:message"],
    ),
    "log4j": (
        each_record(
            lambda record, i: json_line(
                {
                    "instant": {"epochSecond": 1_795_000_000 + i, "nanoOfSecond": 5},
                    "thread": "jersey-7",
                    "level": "INFO",
                    "loggerName": "org.apache.pinot.broker.querylog.QueryLogger",
                    "message": message(record),
                }
            )
        ),
        ["json:message"],
    ),
    "log4j, pretty": (
        lambda records: json.dumps(
            [
                {"timeMillis": 1_795_000_000_000, "loggerName": "a.b.QueryLogger", "message": message(r)}
                for r in records
            ],
            indent=2,
        ),
        ["json:message"],
    ),
    "log4j, pretty, in a pod": (
        lambda records: "".join(
            f"{ISO.format(i)} stdout F {line}\n"
            for i, r in enumerate(records)
            for line in json.dumps({"logger": "QueryLogger", "message": message(r)}, indent=1).split("\n")
        ),
        ["cri", "json:message"],
    ),
    "elastic common schema": (
        each_record(
            lambda record, i: json_line(
                {
                    "@timestamp": ISO.format(i),
                    "log.level": "INFO",
                    "message": message(record),
                    "process.thread.name": "jersey-7",
                    "log.logger": "org.apache.pinot.broker.querylog.QueryLogger",
                }
            )
        ),
        ["json:message"],
    ),
    "gelf": (
        each_record(
            lambda record, i: json_line(
                {
                    "version": "1.1",
                    "short_message": message(record)[:20],
                    "full_message": message(record),
                    "timestamp": 1_795_000_000 + i,
                    "_logger": "QueryLogger",
                }
            )
        ),
        ["json:full_message"],
    ),
    "docker of log4j": (
        each_record(
            lambda record, i: json_line(
                {
                    "log": json_line({"logger": "QueryLogger", "message": message(record)}) + "\n",
                    "stream": "stdout",
                }
            )
        ),
        ["json:log", "json:message"],
    ),
}


def rows_of(path: Path, split_bytes: int = 1 << 30, message_field: str = "") -> list[dict]:
    splits = log_splits([str(path)], split_bytes, message_field)
    return [row for split in splits for batch in parse_split(split) for row in batch.to_pylist()]


def summary_of(path: Path) -> LogSummary:
    splits = log_splits([str(path)], 1 << 30)
    return sum((log_summary(b) for split in splits for b in parse_split(split)), LogSummary())


@pytest.mark.parametrize("name", WRAPPERS)
def test_queries_of_a_wrapped_log_are_those_of_the_plain_one(tmp_path, name):
    wrap, wrappers = WRAPPERS[name]
    file = tmp_path / "broker.log"
    file.write_text(wrap(plain_records()))
    rows = rows_of(file)
    assert [row["query_text"] for row in rows] == list(TEXTS)
    assert [row["request_id"] for row in rows] == list(range(len(TEXTS)))
    assert len({row["source_position"] for row in rows}) == len(rows)
    summary = summary_of(file)
    assert summary.wrapped == dict.fromkeys(wrappers, len(TEXTS))
    assert summary.lines >= summary.records == summary.queries == len(TEXTS)
    assert summary.lines == max(file.read_text().rstrip("\n").count("\n") + 1, len(TEXTS))


PODS = {
    "kubectl": lambda pod, line: f"[pod/{pod}/broker] {line}",
    "compose": lambda pod, line: f"{pod}  | {line}",
    "syslog": lambda pod, line: f"Nov 18 08:00:00 {pod} pinot[1]: {line}",
    "json": lambda pod, line: json_line({"log": line + "\n", "kubernetes": {"pod": {"name": pod}}}),
    "loki": lambda pod, line: json_line({"line": line, "labels": {"pod": pod}}),
    "fluentd": lambda pod, line: json_line({"message": line, "kubernetes": {"pod_name": pod}}),
}


@settings(deadline=None, max_examples=40)
@given(data=st.data(), shipper=st.sampled_from(sorted(PODS)))
def test_lines_of_several_pods_are_joined_by_pod(tmp_path_factory, data, shipper):
    streams = {f"broker-{n}": plain_records(first=100 * n) for n in range(3)}
    left = {
        pod: [line for record in records for line in record.split("\n")] for pod, records in streams.items()
    }
    lines = []
    while any(left.values()):
        pod = data.draw(st.sampled_from([pod for pod, rest in left.items() if rest]))
        lines.append(PODS[shipper](pod, left[pod].pop(0)))
    file = tmp_path_factory.getbasetemp() / "pods.log"
    file.write_text("\n".join(lines) + "\n")
    rows = rows_of(file)
    got = sorted((row["request_id"], row["query_text"]) for row in rows)
    assert got == [(100 * n + i, text) for n in range(3) for i, text in enumerate(TEXTS)]
    assert [row["source_position"] for row in rows] == sorted(row["source_position"] for row in rows)


@settings(deadline=None, max_examples=60)
@given(
    name=st.sampled_from(sorted(WRAPPERS)),
    cuts=st.lists(st.integers(0, 5_000), max_size=5),
    split_bytes=st.integers(100, 6_000),
)
def test_no_cutting_loses_or_doubles_a_record(tmp_path_factory, name, cuts, split_bytes):
    file = tmp_path_factory.getbasetemp() / "cut.log"
    file.write_text(WRAPPERS[name][0](plain_records()))
    size = file.stat().st_size
    bounds = sorted({0, *(cut for cut in cuts if cut < size), size})
    splits = [LogSplit(str(file), a, b, "none") for a, b in pairwise(bounds)]
    rows = [row for split in splits for batch in parse_split(split) for row in batch.to_pylist()]
    assert rows == rows_of(file, split_bytes) == rows_of(file)


@pytest.mark.parametrize(
    ("wrap", "logged_at"),
    [
        (
            lambda line: f"2026-11-17T23:00:00.5+01:00 stdout F {line}",
            datetime(2026, 11, 17, 22, 0, 0, 500_000),
        ),
        (lambda line: f"<1>1 2026-11-18T01:02:03Z h a p m - {line}", datetime(2026, 11, 18, 1, 2, 3)),
        (
            lambda line: json_line({"msg": line, "time": "2026-11-18T01:02:03Z"}),
            datetime(2026, 11, 18, 1, 2, 3),
        ),
        (
            lambda line: json_line({"jsonPayload": {"message": line}, "timestamp": "2026-11-18T01:02:03Z"}),
            datetime(2026, 11, 18, 1, 2, 3),
        ),
        (lambda line: f"Nov 18 08:00:00 host pinot[1]: {line}", None),
    ],
)
def test_the_shippers_time_stands_in_where_the_line_has_none(tmp_path, wrap, logged_at):
    file = tmp_path / "broker.log"
    file.write_text("".join(wrap(MESSAGE.format(i, "SELECT 1 FROM t")) + "\n" for i in range(3)))
    assert [(row["kind"], row["logged_at"]) for row in rows_of(file)] == [("query", logged_at)] * 3
    file.write_text(wrap(plain_records()[0]) + "\n")
    assert [row["logged_at"] for row in rows_of(file)] == [datetime(2026, 11, 18, 8)]


def test_a_named_field_is_read_and_no_other(tmp_path):
    file = tmp_path / "broker.log"
    other = plain_records(["SELECT wrong FROM t"])[0]
    document = {"message": other, "deep": {"er": plain_records(["SELECT a", "SELECT b"])[1]}}
    file.write_text((json_line(document) + "\n") * 2)
    assert [row["query_text"] for row in rows_of(file, message_field="deep.er")] == ["SELECT b"] * 2
    assert {row["query_text"] for row in rows_of(file)} == {"SELECT wrong FROM t"}


def test_records_of_a_logger_in_json_continue_nothing(tmp_path):
    file = tmp_path / "broker.log"
    level = {"level": "info"}
    documents = [
        {"msg": MESSAGE.format(1, "SELECT a FROM t"), **level},
        {"msg": "Started the broker", **level},
        {"message": MESSAGE.format(2, "SELECT b FROM t"), "logger": "x.QueryLogger", **level},
        {
            "message": "Disconnected",
            "logger": "x.HelixManager",
            "@timestamp": "2026-11-18T08:00:00Z",
            **level,
        },
    ]
    file.write_text("".join(json_line(each) + "\n" for each in documents))
    assert [(row["kind"], row["reason"]) for row in rows_of(file)][::2] == [("query", None)] * 2
    assert [row["query_text"] for row in rows_of(file)][::2] == ["SELECT a FROM t", "SELECT b FROM t"]
    assert rows_of(file)[3]["reason"] == "not_a_query"


EVENT = {
    "query": "SELECT a FROM t WHERE b = '{\"log\": 1}'",
    "queryProcessingDuration": 1,
    "scannedEntriesInFilterCount": 2,
    "scannedEntriesPostFilterCount": 3,
    "message": "[pod/a/b] requestId=1,table=t,",
}


@pytest.mark.parametrize("wrapper", ["", "json:_source", "json:log"])
def test_events_are_no_wrapper_and_may_be_wrapped(tmp_path, wrapper):
    file = tmp_path / "events.json"
    around = {"json:_source": {"_source": EVENT}, "json:log": {"log": json_line(EVENT) + "\n"}}.get(
        wrapper, EVENT
    )
    file.write_text((json_line(around) + "\n") * 3)
    assert [(row["query_text"], row["wrappers"]) for row in rows_of(file)] == [
        (EVENT["query"], wrapper or None)
    ] * 3


def test_plain_log_with_texts_like_wrappers_stays_plain(tmp_path):
    file = tmp_path / "broker.log"
    texts = (
        'SELECT \'{"message": "requestId=1,table=t,"}\' FROM t',
        "SELECT a\nname-1  | requestId=1\n[pod/a/b] x\nNov 18 08:00:00 host p[1]: x\nFROM t",
    )
    file.write_text("\n".join(plain_records(texts)) + "\n")
    assert [(row["query_text"], row["wrappers"]) for row in rows_of(file)] == [(text, None) for text in texts]


@settings(deadline=None, max_examples=150)
@given(
    lines=st.lists(
        st.sampled_from(
            [
                *(
                    '{"log": "requestId=1,table=t,',
                    '{"log": "x\\n"}',
                    "{",
                    "}",
                    "[",
                    "]",
                    "",
                    '{"a": {',
                    '"b": 1,',
                ),
                *(
                    "2026-11-18T08:00:00Z stdout P ",
                    "2026-11-18T08:00:00Z stdout F x",
                    "a | b",
                    "[pod/a/b] {",
                ),
                *(
                    '{"log": "2026/11/18 08:00:00 x"}',
                    PINOT.format(1) + MESSAGE.format(1, "SELECT"),
                    json_line(EVENT),
                    "\x1b[1mx",
                    "<1>1 - a b c d - x",
                ),
            ]
        )
        | st.text(max_size=8),
        max_size=25,
    )
)
def test_no_line_is_lost_or_counted_twice(tmp_path_factory, lines):
    file = tmp_path_factory.getbasetemp() / "hostile.log"
    content = WRAPPERS["docker"][0](plain_records()) + "\n".join(lines).replace("\0", "")
    file.write_text(content, encoding="utf-8", errors="replace", newline="")
    summary = summary_of(file)
    assert summary.lines == content.count("\n") + (not content.endswith("\n"))
    assert summary.queries >= len(TEXTS)
