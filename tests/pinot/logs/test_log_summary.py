"""The counts of a log."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.pinot.logs.log_splits import log_splits
from starskip.pinot.logs.log_summary import LogSummary, log_summary
from starskip.pinot.logs.parse_records import parse_split
from starskip.storage.files.log_files import log_files
from starskip.storage.schemas import LOG_RECORDS

FORMATS = Path(__file__).parents[2] / "data" / "logs" / "formats"

reasons = st.dictionaries(st.sampled_from("abc"), st.integers(1, 9), max_size=3)
summaries = st.builds(LogSummary, st.integers(0, 99), st.integers(0, 99), reasons, reasons, reasons)


def batch(*rows: tuple[str, str | None, int]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"kind": kind, "reason": reason, "source_lines": lines} for kind, reason, lines in rows], LOG_RECORDS
    )


def test_counts_of_a_batch():
    rows = batch(
        ("query", None, 3), ("other", "b", 1), ("other", "a", 1), ("other", "b", 1), ("rejected", "a", 9)
    )
    assert log_summary(rows).to_json() == {
        "lines": 15,
        "records": 5,
        "queries": 1,
        "other": {"a": 1, "b": 2},
        "rejected": {"a": 1},
        "wrapped": {},
    }


def test_empty_day_counts_nothing():
    nothing = {"lines": 0, "records": 0, "queries": 0, "other": {}, "rejected": {}, "wrapped": {}}
    assert log_summary(batch()).to_json() == LogSummary().to_json() == nothing


@settings(deadline=None)
@given(a=summaries, b=summaries, c=summaries)
def test_merge_is_associative_with_a_zero(a, b, c):
    assert ((a + b) + c).to_json() == (a + (b + c)).to_json()
    assert (a + LogSummary()).to_json() == (LogSummary() + a).to_json() == {**a.to_json()}


@settings(deadline=None, max_examples=25)
@given(split_bytes=st.integers(500, 40_000))
def test_lines_and_records_of_files_add_up_whatever_the_splits(split_bytes):
    files = log_files([str(FORMATS)])
    total = LogSummary()
    for split in log_splits(files, split_bytes):
        for rows in parse_split(split):
            total += log_summary(rows)
    assert total.to_json() == {
        "lines": sum(Path(file).read_bytes().count(b"\n") for file in files),
        "records": 11 * 15 + 2 * 15,
        "queries": 11 * 15,
        "other": {"sql_before_query": 2 * 15},
        "rejected": {},
        "wrapped": {},
    }
    assert total.lines >= total.records
