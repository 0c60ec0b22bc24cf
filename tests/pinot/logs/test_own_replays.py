"""Queries that Starskip itself sent are told from traffic, whatever the broker did to their text."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.log_summary import LogSummary, log_summary
from starskip.pinot.logs.parse_records import parse_split
from starskip.pinot.logs.sampling_weights import sampling_summary
from starskip.pinot.replay_mark import REPLAY_COMMENT, REPLAY_WORKLOAD, is_marked, marked

QUERY = "SELECT COUNT(*) FROM lineitem WHERE l_suppkey = 7"


def line(sql: str, second: int = 5, end: str = "") -> str:
    return (
        f"2026/11/20 07:17:{second:02}.491 INFO [QueryLogger] [t-1] requestId=7,table=lineitem,queryHash=,"
        "timeMs=13,docs=28/299814,entries=300870/56,segments(queried/processed/matched/consumingQueried/"
        "consumingProcessed/consumingMatched/unavailable):4/4/4/0/0/0/0,consumingFreshnessTimeMs=0,"
        f"servers=1/1,groupLimitReached=false,brokerReduceTimeMs=0,exceptions=0,serverStats=s,{end}query={sql}"
    )


def written(folder: Path, *lines: str) -> Path:
    file = folder / "broker.log"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def parsed(folder: Path, *lines: str) -> pa.Table:
    splits = log_splits([str(written(folder, *lines))], 1 << 20)
    return pa.Table.from_batches([batch for split in splits for batch in parse_split(split)])


def kinds(folder: Path, *lines: str) -> list[tuple[str, str | None]]:
    return [(row["kind"], row["reason"]) for row in parsed(folder, *lines).to_pylist()]


def test_a_marked_query_is_no_traffic(tmp_path):
    found = kinds(
        tmp_path, line(QUERY), line(marked(QUERY)), line(marked(f"SET skipIndexes='a=range'; {QUERY}"))
    )
    assert found == [("query", None), ("other", "own_replay"), ("other", "own_replay")]


@pytest.mark.parametrize("length", [len(REPLAY_COMMENT) + 9, len(REPLAY_COMMENT), 14])
def test_a_cut_text_is_still_marked(tmp_path, length):
    assert kinds(tmp_path, line(marked(QUERY)[:length])) == [("other", "own_replay")]


@pytest.mark.parametrize("text", ["REDACTED", "SELECT COUNT(*) FROM `lineitem` WHERE `l_suppkey` = ?"])
def test_a_redacted_text_is_marked_by_its_workload(tmp_path, text):
    field = f"workloadName={REPLAY_WORKLOAD},approximatedResult=false,"
    assert kinds(tmp_path, line(text, end=field)) == [("other", "own_replay")]
    assert kinds(tmp_path, line(text, end="workloadName=default,approximatedResult=false,")) == [
        ("query", None)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "/",
        "/* starski",
        "/* starskip */ SELECT 1",
        f"SELECT '{REPLAY_COMMENT}'",
        f"SELECT 1 {REPLAY_COMMENT}",
    ],
)
def test_queries_of_others_are_not_marked(text):
    assert not is_marked(text.encode())


def test_white_space_in_front_is_no_matter():
    assert is_marked(f"  \n{marked(QUERY)}".encode())


def test_an_event_is_marked_by_its_query(tmp_path):
    event = {
        "queryProcessingDuration": 12,
        "scannedEntriesInFilterCount": 4,
        "scannedEntriesPostFilterCount": 0,
        "time": "2026-11-18T08:45:08Z",
    }
    events = (json.dumps({**event, "query": query}) for query in (QUERY, marked(QUERY)))
    assert kinds(tmp_path, *events) == [("query", None), ("other", "own_replay")]


def test_dropped_lines_are_shared_with_replays_as_the_broker_counts_them(tmp_path):
    said = (
        "2026/11/20 07:17:06.100 WARN [QueryLogger] [t-1] 6 logs were dropped. (log max rate per second: 3.0)"
    )
    with_replays = parsed(tmp_path, line(QUERY), line(marked(QUERY)), line(marked(QUERY)), said)
    # Three lines stand for nine: a query for three, of which two are not in the log.
    assert with_replays["weight"].to_pylist()[0] == pytest.approx(3.0)
    (batch,) = with_replays.combine_chunks().to_batches()
    assert sampling_summary(batch).unlogged_queries == pytest.approx(2.0)


def test_replays_are_counted_and_said(tmp_path):
    records = parsed(tmp_path, line(QUERY), *[line(marked(QUERY))] * 3)
    summary = sum((log_summary(batch) for batch in records.to_batches()), LogSummary())
    assert (summary.queries, summary.other, summary.rejected) == (1, {"own_replay": 3}, {})
    said = ["3 own replays in the log are left out: they are no traffic"]
    assert summary.replay_words == said
    assert LogSummary(queries=3).replay_words == []
