"""The reverse: values rendered by a template of the facts are read back, whatever the query holds."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.pinot.logs.line_formats import FORMATS, LATER_RELEASE
from starskip.pinot.logs.log_record import LogRecord
from starskip.pinot.logs.parse_records import parse_records

pytestmark = pytest.mark.slow


@dataclasses.dataclass(frozen=True)
class Values:
    request_id: int
    table: str
    latency_ms: int
    docs: tuple[int, int]
    entries: tuple[int, int]
    segments: tuple[int, int, int]
    exceptions: int
    stats: str
    ip: str
    workload: str
    sql: str


def old(v: Values, segments: str, *, limit: bool = True) -> str:
    """Colon style, 2018 to 0.4.0."""
    group = "groupLimitReached:false, " if limit else ""
    return (
        f"RequestId:{v.request_id}, table:{v.table}, timeMs:{v.latency_ms}, docs:{v.docs[0]}/{v.docs[1]}, "
        f"entries:{v.entries[0]}/{v.entries[1]}, {segments}servers:1/1, {group}exceptions:{v.exceptions}, "
        f"serverStats:{v.stats}, query:{v.sql}"
    )


def new(v: Values, parts: int, middle: str = "", behind: str = "", hash_: str = "", groups: str = "") -> str:
    """Equals style, from 0.5.0 on; ``parts`` of segments besides queried, processed and matched."""
    names = {
        2: "consuming/unavailable",
        4: "consumingQueried/consumingProcessed/consumingMatched/unavailable",
    }[parts]
    segments = "/".join(map(str, v.segments)) + "/0" * parts
    return (
        f"requestId={v.request_id},table={v.table},{hash_}timeMs={v.latency_ms},docs={v.docs[0]}/{v.docs[1]},"
        f"entries={v.entries[0]}/{v.entries[1]},segments(queried/processed/matched/{names}):{segments},"
        f"consumingFreshnessTimeMs=-1,servers=1/1,{groups}exceptions={v.exceptions},serverStats={v.stats},"
        f"{middle}query={v.sql}{behind}"
    )


LIMIT = "groupLimitReached=true,"
REDUCE = LIMIT + "brokerReduceTimeMs=3,"
CPU1 = "offlineThreadCpuTimeNs=5,realtimeThreadCpuTimeNs=0"
FOUR = "(total/thread/sysActivity/resSer):1/2/3/4,"
CPU4 = f"offlineThreadCpuTimeNs{FOUR}realtimeThreadCpuTimeNs{FOUR}"
GROUPS = "groupsTrimmed=false,groupLimitReached=false,groupWarningLimitReached=true,brokerReduceTimeMs=0,"
MEMORY = "(total/thread/resSer):1/2/3,"
END = (
    f"queryEngine=singleStage,offlineMemAllocatedBytes{MEMORY}realtimeMemAllocatedBytes{MEMORY}"
    "pools=[0, 1],rlsFiltersApplied=false,"
)
HASH = "queryHash=01f9d9e501359ca4,"
SEGMENTS = "segments(queried/processed/matched"


def slashed(v: Values) -> str:
    return "/".join(map(str, v.segments))


RENDER = {
    "2016-12": lambda v: (
        f"RequestId: {v.request_id}, table: {v.table}, totalTimeMs: {v.latency_ms}, "
        f"numDocsScanned: {v.docs[0]}, numEntriesScannedInFilter: {v.entries[0]}, "
        f"numEntriesScannedPostFilter: {v.entries[1]}, totalDocs: {v.docs[1]}, "
        f"scatterGatherStats: {v.stats}, query: {v.sql}"
    ),
    "2018-08": lambda v: (
        f"Request {v.request_id}:{v.table}, time:{v.latency_ms}ms, docs:{v.docs[0]}/{v.docs[1]}, "
        f"entries:{v.entries[0]}/{v.entries[1]}, servers:1/1, exceptions:{v.exceptions}, query:{v.sql}"
    ),
    "2018-09": lambda v: old(v, "", limit=False),
    "2018-10": lambda v: old(v, ""),
    "0.1.0": lambda v: old(v, f"{SEGMENTS}):{slashed(v)} "),
    "0.2.0": lambda v: old(v, f"{SEGMENTS}/consuming):{slashed(v)}/0, consumingFreshnessTimeMs:0, "),
    "0.4.0": lambda v: old(
        v, f"{SEGMENTS}/consuming/unavailable):{slashed(v)}/0/0, consumingFreshnessTimeMs:0, "
    ),
    "0.5.0": lambda v: new(v, 2, groups=LIMIT),
    "0.6.0": lambda v: new(v, 2, groups=REDUCE),
    "0.8.0-pql": lambda v: new(v, 2, groups=REDUCE, behind="," + CPU1),
    "0.8.0-sql": lambda v: new(v, 2, CPU1 + ",", groups=REDUCE),
    "0.10.0": lambda v: new(v, 2, CPU4, groups=REDUCE),
    "0.11.0": lambda v: new(v, 4, f"{CPU4}clientIp={v.ip},", groups=REDUCE),
    "1.4.0": lambda v: new(v, 4, f"{CPU4}clientIp={v.ip},{END}", groups=GROUPS),
    "1.5.0": lambda v: new(v, 4, f"{CPU4}clientIp={v.ip},{END}", hash_=HASH, groups=GROUPS),
    "2026-05": lambda v: new(
        v, 4, f"{CPU4}clientIp={v.ip},{END}workloadName={v.workload},", hash_=HASH, groups=GROUPS
    ),
    "1.6.0": lambda v: new(
        v,
        4,
        f"{CPU4}clientIp={v.ip},{END}workloadName={v.workload},approximatedResult=true,",
        hash_=HASH,
        groups=GROUPS,
    ),
    # Commits between 0.12.0 and 1.4.0, and one of the future.
    "later": lambda v: new(
        v, 4, f"{CPU4}clientIp={v.ip},queryEngine=multiStage,mood(a/b):1/2,", groups=REDUCE
    ),
}
NO_SEGMENTS = {"2016-12", "2018-08", "2018-09", "2018-10"}

counts = st.integers(0, 2**53)
names = st.text(st.characters(exclude_characters=",[]\n", codec="utf-8"), min_size=1, max_size=20)
values = st.builds(
    Values,
    request_id=st.integers(-(2**63), 2**63 - 1),
    # A blank before the table would make another message of the line of 2018-08.
    table=names.filter(
        lambda name: name[0] != " " and not name.endswith(("_OFFLINE", "_REALTIME", "_HYBRID"))
    ),
    latency_ms=counts,
    docs=st.tuples(counts, counts),
    entries=st.tuples(counts, counts),
    segments=st.tuples(counts, counts, counts),
    exceptions=counts,
    stats=st.sampled_from(
        [
            "(Server=SubmitDelayMs,ResponseDelayMs,ResponseSize,DeserializationTimeMs,RequestSentDelayMs);"
            "192.0.2.2_O=61,292,266,0,48;192.0.2.3_R=-1,-1,0,0,0",
            "<hostName>_O=0,0,0,7",
            "Unknown",
            "",
        ]
    ),
    ip=st.sampled_from(["unknown", "192.0.2.7", "192.0.2.7;192.0.2.8", "2001:db8::1"]),
    workload=st.sampled_from(["default", "a b", ""]),
    sql=st.lists(
        st.sampled_from(
            [
                ", query:c'",
                ",query=",
                "entries=1/2,",
                ", entries:1/2, ",
                "\n",
                "\r\n",
                "'",
                '"',
                ",",
                "requestId=1,table=t,",
                ",offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):1/2/3/4,",
                "REDACTED",
                "\x00\x1b",
                "東京",
            ]
        )
        | st.text(st.characters(codec="utf-8"), max_size=8),
        max_size=8,
    ).map("".join),
)


@pytest.mark.parametrize("name", RENDER)
@settings(deadline=None)
@given(v=values, suffix=st.sampled_from(["", "_OFFLINE", "_REALTIME", "_HYBRID"]), timed=st.booleans())
def test_values_come_back(name, v, suffix, timed):
    line = RENDER[name](dataclasses.replace(v, table=v.table + suffix))
    prefix = "2026/11/18 08:45:08.326 INFO [QueryLogger] [t-1] " if timed else ""
    record = LogRecord(0, 1, (prefix + line).encode(), None)
    (row,) = next(parse_records([record], "broker.log")).to_pylist()
    segments = (None, None, None) if name in NO_SEGMENTS else v.segments
    exceptions = None if name == "2016-12" else v.exceptions
    assert (row["kind"], row["reason"], row["line_format"]) == ("query", None, name)
    assert row["query_text"] == v.sql
    assert row["table"] == v.table
    assert (row["request_id"], row["latency_ms"], row["exceptions"]) == (
        v.request_id,
        v.latency_ms,
        exceptions,
    )
    assert (row["rows_scanned"], row["rows_total"]) == v.docs
    assert (row["entries_scanned_in_filter"], row["entries_scanned_post_filter"]) == v.entries
    assert (row["segments_queried"], row["segments_processed"], row["segments_matched"]) == segments
    assert (row["logged_at"] is not None) == timed


def test_every_shape_with_counters_is_rendered():
    assert set(RENDER) == {form.name for form in (*FORMATS, LATER_RELEASE) if form.reason is None}


@pytest.mark.parametrize("name", RENDER)
@settings(deadline=None)
@given(v=values)
def test_no_two_exact_shapes_fit_one_line(name, v):
    line = RENDER[name](v).encode()
    assert [form.name for form in FORMATS if form.pattern.match(line)] == [name][: name != "later"]
