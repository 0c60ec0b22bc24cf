"""Broker logs as shippers and Log4j's JSON layouts write them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

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
    "coloured records in pieces": (
        each_line(
            lambda line, i: "\n".join(
                f"{ISO.format(i)} stderr {tag} {part}"
                for tag, part in zip(
                    "PF", ("\x1b[32m" * line.startswith("2026") + line[:300], line[300:]), strict=True
                )
            )
        ),
        ["ansi", "cri"],
    ),
    "coloured records in a pod": (
        each_line(lambda line, i: "[pod/a/b] " + "\x1b[1m" * line.startswith("2026") + line),
        ["ansi", "kubectl"],
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
    "journal": (
        each_line(lambda line, i: f"Wed 2026-11-18 08:00:{i:02d} UTC host pinot-broker[12]: {line}"),
        ["syslog"],
    ),
    "stern": (each_line(lambda line, i: f"pinot-broker-0 broker {line}"), ["stern"]),
    "fluentd's file": (
        each_line(lambda line, i: f"{ISO.format(i)}\tkube.pinot.log\t{json_line({'log': line})}"),
        ["fluentd", "json:log"],
    ),
    "logcli's lines": (
        each_line(lambda line, i: f'{ISO.format(i)} {{app="pinot", pod="b-0"}} {line}'),
        ["timestamp"],
    ),
    "an array on one line": (
        lambda records: json_line([{"textPayload": record} for record in records]),
        ["json:textPayload"],
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
    "docker of log4j, pretty": (
        lambda records: "".join(
            json_line({"log": line + "\n", "stream": "stdout"}) + "\n"
            for r in records
            for line in json.dumps({"logger": "QueryLogger", "message": message(r)}, indent=1).split("\n")
        ),
        ["json:log", "json:message"],
    ),
    "fluent bit's file": (
        each_line(lambda line, i: f"kube.pinot: [1795000000.{i:09d}, {json_line({'log': line})}]"),
        ["fluentbit", "json:log"],
    ),
    "grafana's text": (each_line(lambda line, i: f"{ISO.format(i)}\t{line}"), ["timestamp"]),
    "journal in seconds": (
        each_line(lambda line, i: f"1795000000.{i:06d} host pinot-broker[12]: {line}"),
        ["syslog"],
    ),
    "rsyslog, escaped": (
        each_record(
            lambda record, i: (
                "Nov 18 08:00:00 host pinot[1]: " + record.replace("\n", "#012").replace("\t", "#011")
            )
        ),
        ["syslog"],
    ),
    "lists around a field of unknown name": (
        each_line(lambda line, i: json_line({"records": [{"payload": {"raw_line": line}}]})),
        ["json:records.payload.raw_line"],
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
