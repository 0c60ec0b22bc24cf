"""The examples of docs/skipping.md: an index type and a mapped function of a user's own modules."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pytest
from skipping_law.files_metadata import Collected, Files, collected, files_matching, files_read
from starskip.predicates.expression import Call, Column, Literal
from starskip.skipping.registry import index_from_specification, load_modules

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples" / "skipping"


@pytest.fixture
def examples(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    load_modules(["length_range", "same_day", "word_count"])


def test_an_index_type_of_ones_own(examples):
    index = index_from_specification("length:body")
    assert index.aggregates(["`body`"]) == {"longest": "max(length(`body`))"}
    metadata = Collected(4, {"length:body": index.finish(pa.table({"longest": [3, 200, None, 100]}))})
    length = Call("Length", (Column(("body",), "string"),))
    longer = Call("GreaterThan", (length, Literal(pa.scalar(100, pa.int32()))))
    assert files_read(longer, [index], metadata) == [False, True, True, False]
    assert files_read(Call("Not", (longer,)), [index], metadata) == [True] * 4


def test_an_index_type_that_is_collected_by_arrow(examples):
    from word_count import word_count

    index = index_from_specification("words:c")
    files = Files.of(pa.string(), ["a b", None, "a b c d", "a"], ["", "a"], [None], [])
    count = Call("udf:word_count", (Column(("c",), "string"),))
    more = Call("GreaterThan", (count, Literal(pa.scalar(1, pa.int32()))))
    assert files_read(more, [index], collected([index], files)) == [True, False, False, False]
    assert [any((word_count(r["c"]) or 0) > 1 for r in rows) for rows in files.rows] == [
        True,
        False,
        False,
        False,
    ]


def test_a_function_of_ones_own_by_a_range_of_its_column(examples):
    from same_day import same_day

    index = index_from_specification("minmax:c")
    days = [[dt.datetime(2026, 11, day, 12)] for day in (20, 21, 22)]
    files = Files.of(pa.timestamp("us"), *days)
    day = Call("udf:same_day", (Column(("c",), "timestamp_ntz"), Literal(pa.scalar("2026-11-21"))))
    assert files_read(day, [index], collected([index], files)) == [False, True, False]
    assert files_matching(day, files, {"udf:same_day": same_day}) == [False, True, False]
    assert files_read(Call("Not", (day,)), [index], collected([index], files)) == [True] * 3
