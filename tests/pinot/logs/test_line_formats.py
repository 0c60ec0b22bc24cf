"""The samples of all shapes, their exclusion, and the lines re-rendered in the shapes of releases."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pytest
from starskip.pinot.logs.line_formats import FORMATS, LATER_RELEASE
from starskip.pinot.logs.log_splits import LogSplit
from starskip.pinot.logs.parse_records import parse_split
from starskip.pinot.logs.record_start import PREFIX

DATA = Path(__file__).parents[2] / "data" / "logs"
PREFIXES = [
    b"",
    b"INFO ",
    b"2026/11/18 08:45:08.326 INFO [QueryLogger] [jersey-server-managed-async-executor-3] ",
    b"[2024-01-10 16:19:53.939] INFO [QueryScheduler] [pqr-2] ",
    b"2021-04-15T10:00:00,123Z [t, 1] WARN  org.apache.pinot.broker.QueryLogger - ",
]
# Release of the re-rendered file -> the shape that reads it; 0.12.0 changed only the logger's name.
SHAPE = {"0.12.0": "0.11.0"}


def rows_of(file: Path) -> list[dict]:
    batches = list(parse_split(LogSplit(str(file), 0, None, "none")))
    return pa.Table.from_batches(batches).to_pylist()


@pytest.mark.parametrize(
    "form", [*FORMATS, LATER_RELEASE], ids=lambda form: f"{form.name}:{form.sample[:30]}"
)
@pytest.mark.parametrize("prefix", PREFIXES)
def test_sample_fits_its_own_shape_and_no_other(form, prefix):
    record = prefix + form.sample.encode()
    start = PREFIX.match(record).end()
    assert [other.name for other in FORMATS if other.pattern.match(record, start)] == [form.name][
        : form is not LATER_RELEASE
    ]
    assert form.pattern.match(record, start)


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: f"{form.name}:{form.sample[:30]}")
def test_opening_begins_the_sample(form):
    assert re.match(form.opening, form.sample.encode())


def test_names_are_unique_among_shapes_with_counters():
    names = [form.name for form in FORMATS if form.reason is None]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("file", sorted((DATA / "formats").glob("*.log")), ids=lambda file: file.stem)
def test_all_releases_say_the_same(file):
    expected = json.loads((DATA / "queries.json").read_text(encoding="utf8"))
    queries = [row for row in rows_of(file) if row["kind"] == "query"]
    assert {row["line_format"] for row in queries} == {SHAPE.get(file.stem, file.stem)}
    for row in queries:
        row["logged_at"] = row["logged_at"].isoformat(" ", "milliseconds")
    assert [{key: row[key] for key in expected[0]} for row in queries] == expected


@pytest.mark.parametrize("release", ["1.4.0", "1.5.0"])
def test_lines_before_a_query_have_no_counters(release):
    others = [row for row in rows_of(DATA / "formats" / f"{release}.log") if row["kind"] != "query"]
    assert [(row["kind"], row["reason"]) for row in others] == [("other", "sql_before_query")] * 15
