"""Weights of sampled queries: a simulated broker whose full workload is known, and the window's edges."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.pinot.logs import parse_records as of_records
from starskip.pinot.logs.log_record import LogRecord
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.parse_records import parse_records, parse_split
from starskip.pinot.logs.sampling_weights import (
    SamplingSummary,
    dropped_lines,
    sampled_weight,
    sampling_summary,
    with_sampling_weights,
)

pytestmark = pytest.mark.slow

ERAS = ("0.11", "1.4", "1.5")
RATES = {"busy all the time": lambda second: 200, "two short bursts": lambda s: 600 if s % 20 < 5 else 20}


def rows_of(path: Path, split_bytes: int = 1 << 30) -> list[dict[str, Any]]:
    splits = log_splits([str(path)], split_bytes)
    return pa.Table.from_batches([b for split in splits for b in parse_split(split)]).to_pylist()


def queries_of(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [row for row in rows if row["kind"] == "query"]


def mixed(broker: ModuleType) -> Any:
    """Mostly quick queries; some near a second, and a few that are always logged."""

    def draw(randoms: random.Random, second: float) -> Any:
        kind = randoms.choices(["quick", "middle", "slow", "failed", "groups"], [90, 6, 2, 1, 1])[0]
        low, high = {"middle": (300, 500), "slow": (1001, 3000)}.get(kind, (1, 40))
        return broker.Query(
            second,
            randoms.randint(low, high),
            kind,
            exceptions=int(kind == "failed"),
            group_limit=kind == "groups",
        )

    return draw


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("era", ERAS)
def test_weighted_counts_are_those_of_the_whole_workload(simulated_broker, tmp_path, era, rate):
    truth, logged, estimated = Counter(), Counter(), Counter()
    for seed in range(4):
        queries = simulated_broker.poisson_queries(seed, 60, RATES[rate], mixed(simulated_broker))
        path = tmp_path / f"{seed}.log"
        path.write_text("".join(simulated_broker.Broker(era).run(queries)))
        truth.update(query.sql for query in queries)
        for row in queries_of(rows_of(path)):
            logged[row["query_text"]] += 1
            estimated[row["query_text"]] += row["weight"]
    assert estimated["quick"] == pytest.approx(truth["quick"], rel=0.03)
    assert estimated["middle"] == pytest.approx(truth["middle"], rel=0.2)  # few, and told by fewer
    assert logged["quick"] < 0.4 * truth["quick"], "as logged, most of the workload is missing"
    for kind in ("slow", "failed", "groups"):
        assert estimated[kind] == logged[kind] == truth[kind], "always logged"


@pytest.mark.parametrize("split_bytes", [50_000, 200_000, 1 << 30])
def test_weights_add_up_to_what_was_logged_and_dropped(simulated_broker, tmp_path, split_bytes):
    queries = simulated_broker.poisson_queries(1, 30, lambda s: 150, mixed(simulated_broker))
    broker = simulated_broker.Broker()
    (tmp_path / "a.log").write_text("".join(broker.run(queries)))
    rows = rows_of(tmp_path / "a.log", split_bytes)
    weights = [row["weight"] for row in queries_of(rows)]
    assert broker.said > 2_000
    assert sum(weights) == pytest.approx(len(weights) + broker.said, rel=1e-9)
    summary = sampling_summary(pa.RecordBatch.from_pylist(rows, parsed_schema()))
    assert summary.dropped_lines == broker.said
    assert summary.unlogged_queries == pytest.approx(broker.said)
    assert summary.sampled_queries == sum(weight > 1 for weight in weights)


def test_a_log_without_dropped_lines_is_passed_on_untouched(simulated_broker, tmp_path):
    queries = simulated_broker.poisson_queries(1, 30, lambda s: 20, mixed(simulated_broker))
    lines = "".join(simulated_broker.Broker().run(queries))
    (tmp_path / "a.log").write_text(lines)
    records = [LogRecord(0, 1, line.encode(), None) for line in lines.splitlines()]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_records, "BATCH_ROWS", 50)
        batches = list(parse_records(records, "a.log"))
    assert all(out is given for out, given in zip(with_sampling_weights(batches), batches, strict=True))
    assert {row["weight"] for row in rows_of(tmp_path / "a.log")} == {1.0}


def line(second: float, what: int | str, *, latency_ms: int = 5) -> str:
    """A query line by its latency, or any other message, ``second`` after ten o'clock."""
    stamp = f"2026/11/18 10:{int(second) // 60:02d}:{second % 60:06.3f}"
    if isinstance(what, str):
        return f"{stamp} WARN [QueryLogger] [t] {what}"
    return (
        f"{stamp} INFO [QueryLogger] [t] requestId={what},table=t,timeMs={latency_ms},docs=1/1,entries=1/1,"
        "segments(queried/processed/matched/consumingQueried/consumingProcessed/consumingMatched/unavailable)"
        ":1/1/1/0/0/0/0,consumingFreshnessTimeMs=0,servers=1/1,groupLimitReached=false,brokerReduceTimeMs=0,"
        "exceptions=0,serverStats=x,offlineThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,"
        "realtimeThreadCpuTimeNs(total/thread/sysActivity/resSer):0/0/0/0,clientIp=unknown,query=SELECT 1"
    )


def parsed_schema() -> pa.Schema:
    return next(parse_records([LogRecord(0, 1, b"x", None)], "f")).schema


def weights(*lines: str, batch_rows: int = 8_192) -> dict[int, float]:
    """Request id -> weight."""
    records = [LogRecord(number, 1, text.encode(), None) for number, text in enumerate(lines)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_records, "BATCH_ROWS", batch_rows)
        batches = list(with_sampling_weights(parse_records(records, "broker.log")))
    rows = [row for batch in batches for row in batch.to_pylist()]
    return {row["request_id"]: row["weight"] for row in rows if row["kind"] == "query"}


DROPPED = "{} logs were dropped. (log max rate per second: 10000.0)"


@pytest.mark.parametrize("batch_rows", [1, 2, 3, 100])
def test_only_the_second_before_shares_what_was_dropped(batch_rows):
    lines = [
        line(1, 1),
        line(9.5, 2),
        line(10, 3),
        line(10.2, 4),
        line(10.3, DROPPED.format(9)),
        line(10.4, 5),
    ]
    assert weights(*lines, batch_rows=batch_rows) == {1: 1.0, 2: 4.0, 3: 4.0, 4: 4.0, 5: 1.0}


def test_where_lines_are_rare_the_time_since_the_line_before_counts():
    lines = [line(1, 1), line(30, 2), line(59, 3), line(59, DROPPED.format(9))]
    assert weights(*lines) == {1: 1.0, 2: 1.0, 3: 10.0}


def test_windows_do_not_overlap():
    lines = [line(1, 1), line(1, DROPPED.format(1)), line(1.1, 2), line(1.2, 3), line(1.2, DROPPED.format(2))]
    assert weights(*lines) == {1: 2.0, 2: 2.0, 3: 2.0}


def test_what_was_dropped_while_only_slow_queries_came_through_waits_for_a_sampled_one():
    slow = {"latency_ms": 1001}
    lines = [line(1, 1, **slow), line(1, DROPPED.format(4)), line(2.5, 2, **slow), line(2.6, 3)]
    assert weights(*lines, line(2.6, DROPPED.format(5))) == {1: 1.0, 2: 1.0, 3: 10.0}
    assert weights(line(1, 1, **slow), line(1, DROPPED.format(4))) == {1: 1.0}, "nothing to carry it"


def test_a_second_is_not_always_logged():
    lines = [line(1, 1, latency_ms=1000), line(1, 2, latency_ms=1001), line(1, DROPPED.format(1))]
    assert weights(*lines) == {1: 2.0, 2: 1.0}


def test_lines_without_a_time_share_what_was_dropped_before():
    bare = [text[text.index("requestId") :] for text in (line(1, 1), line(1, 2))]
    assert weights(*bare, DROPPED.format(6)) == {1: 4.0, 2: 4.0}


def test_a_clock_that_is_set_back_does_not_widen_the_window():
    lines = [line(3000 + n, n) for n in range(50)] + [line(100, 50), line(100.5, 51)]
    found = weights(*lines, line(100.5, DROPPED.format(10)))
    assert found == {**dict.fromkeys(range(50), 1.0), 50: 6.0, 51: 6.0}


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ("2026/11/18 10:00:00.000 WARN [QueryLogger] [t] 42 logs were dropped. (log max", 42),
        ("2021/11/18 10:00:00.000 INFO [BaseBrokerRequestHandler] [t] 7 logs were dropped. (", 7),
        ("7 logs were dropped", 7),
        ("2026/11/18 10:00:00.000 INFO [QueryScheduler] [pqr-1] 42 logs were dropped. (log max", 0),
        ("2026/11/18 10:00:00.000 INFO [ServerQueryLogger] [pqr-1] 42 logs were dropped. (log", 0),
        ("-7 logs were dropped", 7),
        ("1000000001 logs were dropped", 0),
        ("9" * 500_000 + " logs were dropped", 0),
        ("logs were dropped", 0),
        (None, 0),
    ],
)
def test_lines_of_a_broker_that_it_dropped(text, dropped):
    assert dropped_lines(text) == dropped


counts = st.integers(0, 10**6)


@given(sampled=st.integers(1, 10**6), always=counts, before=counts, dropped=counts, on_arrival=st.booleans())
def test_a_weight_is_at_least_one_and_at_most_all_that_was_dropped(
    sampled, always, before, dropped, on_arrival
):
    weight = sampled_weight(sampled, always, before, dropped, on_arrival=on_arrival)
    assert 1.0 <= weight <= (sampled + dropped) / sampled * (1 + 1e-9)
    if not dropped:
        assert weight == 1.0


@given(allowed=st.integers(1, 10**5), slow=st.integers(0, 10**5), refused_ratio=st.floats(0, 0.99))
def test_refusals_on_arrival_are_told_apart_from_slow_queries_among_them(allowed, slow, refused_ratio):
    """Expected counts: of ``allowed / (1 - d)`` quick and ``slow`` slow queries the share d is refused."""
    quick = allowed / (1 - refused_ratio)
    dropped = round(refused_ratio * (quick + slow))
    weight = sampled_weight(allowed, slow, 0, dropped, on_arrival=True)
    assert weight * allowed == pytest.approx(quick, rel=1e-3, abs=2 + 2 * weight)


def test_a_summary_in_words():
    summary = SamplingSummary(12_345, 5_000, 10_500.0) + SamplingSummary()
    assert summary.words == (
        "the broker dropped 12,345 log lines: 5,000 queries of at most 1 s count 3.1 times each"
    )
    assert SamplingSummary().mean_weight == 1.0
