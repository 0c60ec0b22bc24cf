"""Logs with something around their lines: shippers' prefixes and JSON, one within the other."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.pinot.logs.log_splits import LogSplit, log_splits
from starskip.pinot.logs.log_summary import LogSummary, log_summary
from starskip.pinot.logs.parse_records import parse_split
from wrapped_logs import MESSAGE, PINOT, TEXTS, WRAPPERS, json_line, plain_records


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


@pytest.mark.law
@settings(deadline=None, max_examples=law_cases("STARSKIP_WRAPPED_PODS", 40))
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


@pytest.mark.law
@settings(deadline=None, max_examples=law_cases("STARSKIP_WRAPPED_CUTTINGS", 60))
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


@pytest.mark.parametrize("wrapper", ["", "json:_source", "json:log", "json:value"])
def test_events_are_no_wrapper_and_may_be_wrapped(tmp_path, wrapper):
    file = tmp_path / "events.json"
    around = {
        "json:_source": {"_source": EVENT},
        "json:log": {"log": json_line(EVENT) + "\n"},
        "json:value": {"topic": "queries", "value": json_line(EVENT)},
    }.get(wrapper, EVENT)
    file.write_text((json_line(around) + "\n") * 3)
    assert [(row["query_text"], row["wrappers"]) for row in rows_of(file)] == [
        (EVENT["query"], wrapper or None)
    ] * 3


@pytest.mark.parametrize("name", ["compose", "cri", "docker"])
def test_a_file_may_be_wrapped_in_part(tmp_path, name):
    file = tmp_path / "broker.log"
    texts = TEXTS[:2]
    file.write_text("\n".join(plain_records(texts)) + "\n" + WRAPPERS[name][0](plain_records(texts, 5)[1:]))
    assert [row["query_text"] for row in rows_of(file)] == [*texts, texts[1]]


@pytest.mark.parametrize(
    ("other", "reasons"),
    [
        ({"level": "info", "msg": "GET /health"}, {}),
        ({"level": "info", "request_id": 7, "statement": "SELECT a"}, {"not_a_query": 9}),
    ],
)
def test_objects_of_other_programs_are_understood_beside_queries(tmp_path, other, reasons):
    file = tmp_path / "all-pods.log"
    lines = [json_line({"log": json_line(other), "kubernetes": {"pod_name": f"app-{n}"}}) for n in range(9)]
    file.write_text(WRAPPERS["fluent bit"][0](plain_records()) + "\n".join(lines) + "\n")
    summary = summary_of(file)
    assert (summary.queries, summary.not_understood) == (len(TEXTS), reasons)


def test_events_behind_a_record_with_one_quote_are_read(tmp_path):
    file = tmp_path / "events.json"
    told = ["2026/11/18 08:00:00.000 WARN [Broker] [t-1] can't connect", *[json_line(EVENT)] * 3]
    file.write_text("".join(f"[pod/pinot-broker-0/broker] {line}\n" for line in told))
    assert [row["kind"] for row in rows_of(file)] == ["other", "query", "query", "query"]


def test_plain_log_with_texts_like_wrappers_stays_plain(tmp_path):
    file = tmp_path / "broker.log"
    texts = (
        'SELECT \'{"message": "requestId=1,table=t,"}\' FROM t',
        "SELECT a\nname-1  | requestId=1\n[pod/a/b] x\nNov 18 08:00:00 host p[1]: x\nFROM t",
    )
    file.write_text("\n".join(plain_records(texts)) + "\n")
    assert [(row["query_text"], row["wrappers"]) for row in rows_of(file)] == [(text, None) for text in texts]


@pytest.mark.law
@settings(deadline=None, max_examples=law_cases("STARSKIP_WRAPPED_LINES", 150))
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


@pytest.mark.parametrize(
    "wrap",
    [
        lambda line: f"2026-11-18T08:00:00.5Z stdout F {line}",
        lambda line: f"2026-11-18T08:00:00.5Z {line}",
        lambda line: f"2026-11-18T08:00:00.5Z host broker[1]: {line}",
        lambda line: json_line({"log": line + "\n"}),
        lambda line: f"pinot-broker.1.x7@node-1    | {line}",
    ],
)
def test_lines_before_the_first_record_are_wrapped_too(tmp_path, wrap):
    file = tmp_path / "broker.log"
    banner = ["Picked up JAVA_TOOL_OPTIONS: -Xmx4G", *(f"  at frame {n}" for n in range(300))]
    lines = [*banner, *(line for record in plain_records() for line in record.split("\n"))]
    file.write_text("".join(wrap(line) + "\n" for line in lines))
    first, *rows = rows_of(file)
    assert (first["reason"], first["source_lines"]) == ("no_record_start", len(banner))
    assert [row["query_text"] for row in rows] == list(TEXTS)
    file.write_text("".join(wrap(line) + "\n" for line in banner * 4))
    assert summary_of(file).lines == 4 * len(banner)


@pytest.mark.parametrize("level", ["\x1b[32mINFO\x1b[0m", "\x1b[1;31mINFO \x1b[m"])
def test_colours_within_the_layout_and_at_the_end_of_a_long_query(tmp_path, level):
    file = tmp_path / "broker.log"
    text = "SELECT a\nFROM t WHERE " + " OR ".join(f"b = {n}" for n in range(99))
    file.write_text("".join(f"{r}\x1b[0m\n".replace("INFO", level) for r in plain_records([text] * 3)))
    assert [row["query_text"] for row in rows_of(file)] == [text] * 3
    assert summary_of(file).wrapped == {"ansi": 3}
