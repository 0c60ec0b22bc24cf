"""Texts that the broker cut: found by their length, in logs of any queries; whole logs lose nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from law_cases import law_cases
from starskip.advisor.workload.count_shapes import count_shapes
from starskip.advisor.workload.cut_texts import (
    TextLengths,
    cut_lengths,
    text_lengths,
    text_lengths_of,
    with_greatest_lengths,
)
from starskip.advisor.workload.shape_workload import workload_shapes
from starskip.pinot.logs.parse_records import parse_records
from starskip.pinot.logs.record_reader import LogRecord

LINE = "requestId=1,table=t,timeMs=2,docs=3/4,entries=5/6,exceptions={},query={}"
AIRPORTS = ("SFO", "LAX", "JFK", "ORD")
TEMPLATE = "SELECT COUNT(*) FROM airlineStats WHERE Origin = '{}' AND Dest = '{}'"
ROUTES = [TEMPLATE.format(a, b) for a in AIRPORTS for b in AIRPORTS]
SHORT = ["SELECT * FROM airlineStats", "SELECT COUNT(*) FROM airlineStats WHERE Carrier = 'AA'"]


def logged(texts: Sequence[str], exceptions: int = 0) -> pa.RecordBatch:
    lines = [LINE.format(exceptions, text).encode() for text in texts]
    (batch,) = parse_records([LogRecord(n, 1, line, None) for n, line in enumerate(lines)], "broker.log")
    return with_greatest_lengths(batch)


def found(texts: Sequence[str]) -> tuple[int, ...]:
    return cut_lengths(0, [text_lengths(logged(texts))])


def cut_at(length: int, texts: Sequence[str]) -> list[str]:
    """Return the texts as a broker logs them: it counts the units of UTF-16."""
    return [text.encode("utf-16-le")[: 2 * length].decode("utf-16-le", "replace") for text in texts]


@pytest.mark.parametrize(
    "length",
    [
        pytest.param(len("SELECT COUNT(*) FROM airlineStats WHERE Origin = 'SFO' AND De"), id="half a name"),
        pytest.param(len("SELECT COUNT(*) FROM airlineStats WHERE Origin = 'SFO' AND Dest"), id="a name"),
        pytest.param(
            len("SELECT COUNT(*) FROM airlineStats WHERE Origin = 'SFO' AND Dest ="), id="an operator"
        ),
        pytest.param(
            len("SELECT COUNT(*) FROM airlineStats WHERE Origin = 'SFO' AND Dest = 'L"), id="a literal"
        ),
        pytest.param(
            len("SELECT COUNT(*) FROM airlineStats WHERE Origin = 'S"), id="all of one text but for it"
        ),
        pytest.param(len("SELECT COU"), id="before FROM"),
    ],
)
def test_cut_texts_of_one_form(length: int) -> None:
    routes = cut_at(length, ROUTES)
    if len(set(routes)) < 2:
        routes += cut_at(
            length, ["SELECT MAX(ArrDelay) FROM airlineStats", "SELECT Carrier FROM airlineStats"]
        )
    assert found([*cut_at(length, SHORT), *routes]) == (length,)


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param(ROUTES + SHORT, id="literals of one length"),
        pytest.param(["SELECT a FROM t WHERE b = 1"] * 50, id="one text"),
        pytest.param(["SELECT a FROM t WHERE b = 1", "SELECT b FROM t WHERE a = 1"], id="two texts"),
        pytest.param(
            [f"SELECT a FROM t WHERE Origin = '{a}' AND isLate" for a in AIRPORTS]
            + ["SELECT a FROM t WHERE isLate"],
            id="a boolean column",
        ),
        pytest.param([f"{text} AND c BETWEEN 2 AND 4" for text in ROUTES], id="a number behind BETWEEN"),
        pytest.param([f"{text} AND c BETWEEN 'a' AND d" for text in ROUTES], id="a column behind BETWEEN"),
        pytest.param([f"EXPLAIN PLAN FOR {text}" for text in ROUTES], id="explained"),
        pytest.param([f"{text} AND c[1:2] = 3" for text in ROUTES], id="not understood before its end"),
        pytest.param([f"{text} OPTION(timeoutMs=10)" for text in ROUTES], id="options behind"),
        pytest.param([f"{text} -- isn't (cut" for text in ROUTES], id="a comment behind"),
        pytest.param(
            ["SELECT a FROM t WHERE b = 'é漢😀)(' LIMIT 1", "SELECT a FROM t WHERE b = '--\"/*`' LIMIT 1"],
            id="signs",
        ),
        pytest.param(["REDACTED"] * 9, id="redacted"),
        pytest.param([], id="nothing"),
    ],
)
def test_whole_texts(texts: list[str]) -> None:
    assert found(texts) == () if texts else cut_lengths(0, []) == ()


def test_a_known_boolean_column_may_end_all_texts() -> None:
    lengths = [text_lengths(logged([f"{text} AND NOT a.isLate" for text in ROUTES]))]
    assert cut_lengths(0, lengths, {"IsLate"}) == ()
    assert cut_lengths(0, lengths, {"isLatest"}) != ()


def test_a_query_that_failed_may_be_unfinished() -> None:
    broken = logged(["SELECT a FROM t WHERE b = 'x", "SELECT a FROM t WHERE b IN (1"], exceptions=1)
    assert cut_lengths(0, [text_lengths(broken), text_lengths(logged(SHORT))]) == ()


def test_lengths_are_those_of_java() -> None:
    texts = [f"SELECT a FROM t WHERE b = '{'😀' * n}{'x' * (40 - 2 * n)}' AND c = 7" for n in range(9)]
    assert found(cut_at(60, texts)) == (60,)


def test_brokers_cut_at_lengths_of_their_own_and_the_files_of_one_count_together() -> None:
    files = [cut_at(66, ROUTES[:1]), cut_at(66, ROUTES[5:6]), cut_at(52, [*SHORT, *ROUTES])]
    assert cut_lengths(0, [text_lengths(logged(texts)) for texts in files]) == (52, 66)


def test_the_setting_says_it() -> None:
    assert cut_lengths(40, [text_lengths(logged(ROUTES))]) == (40,)
    assert cut_lengths((1 << 31) - 1, [text_lengths(logged(cut_at(66, ROUTES)))]) == ()


def test_cut_queries_are_not_understood(record: Callable[..., Any], batch: Callable[..., Any]) -> None:
    length = len("SELECT COUNT(*) FROM airlineStats WHERE Origin = 'SFO' AND De")
    texts = [*cut_at(length, ROUTES), *SHORT]
    counted = count_shapes(
        [batch([record(text) for text in texts])], instances_per_shape=4, cut_lengths=found(texts)
    )
    shapes = {shape.shape_id: shape for rows in counted for shape in workload_shapes(rows)}
    assert shapes["unparsed:cut"].queries == len(ROUTES)
    assert sum(shape.is_parsed for shape in shapes.values()) == len(SHORT)


TEXTS = [
    query["sql"]
    for table in ("airlineStats", "lineitem")
    for query in json.loads((Path(__file__).parents[2] / "data" / "truth" / f"{table}.json").read_text())[
        "queries"
    ]
]
WORKLOADS = st.lists(st.sampled_from(TEXTS), min_size=2, max_size=40)


@pytest.mark.law
@given(WORKLOADS)
@settings(max_examples=law_cases("STARSKIP_CUT_LOGS", 100), deadline=None)
def test_whole_logs_lose_nothing(texts: list[str]) -> None:
    assert found(texts) == ()


@pytest.mark.law
@given(WORKLOADS, st.integers(40, 200), st.integers(1, 5))
@settings(max_examples=law_cases("STARSKIP_CUT_LOGS", 100), deadline=None)
def test_every_cut_text_is_recognised(texts: list[str], length: int, parts: int) -> None:
    """However the log lies in batches and files: where one of the cut texts shows that it is cut."""
    long = {text[:length] for text in texts if len(text) > length}
    assume(len(long) > 1 and any(text.count("'") % 2 or text.count("(") > text.count(")") for text in long))
    batches = [logged(cut_at(length, texts)[part::parts]) for part in range(parts) if texts[part::parts]]
    seen = [text_lengths_of(json.loads(json.dumps(text_lengths(each).to_json()))) for each in batches]
    assert sum(seen, start=TextLengths()).cut() == length
    assert length in cut_lengths(0, seen)
