"""Reducing batch by batch gives what the whole table gives, and holds no more than a few batches."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from counted_memory import counted_memory
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.run.artefact_rows import ROWS_A_BATCH
from starskip.advisor.run.night import Night
from starskip.night.quality import duplicate_rows as of_duplicates
from starskip.night.quality import reduce_rows as reduce_rows_module
from starskip.night.quality.check_stage import check_stage
from starskip.night.quality.duplicate_rows import duplicate_rows
from starskip.night.quality.reduce_rows import (
    Measure,
    count,
    count_missing,
    count_unequal,
    exact_sum,
    reduce_rows,
    sum_of,
)
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.snapshot import Snapshot
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.quality
NIGHT = date(2026, 11, 19)
ROWS_A_FILE, TEXT_BYTES = 60_000, 300
SCHEMA = pa.schema([("table", pa.string()), ("key", pa.string()), ("number", pa.int64())])


def published(root: Path, rows: list[dict[str, object]], *, files: int = 3) -> Snapshot:
    store = ArtefactStore(storage_for(str(root)), {"things": SCHEMA})
    aside = store.staged_write("things", "2026-11-19")
    cuts = [rows[start::files] for start in range(files)]
    written = [file for cut in cuts for file in aside.write("t", pa.Table.from_pylist(cut, schema=SCHEMA))]
    now = datetime(2026, 11, 20, tzinfo=UTC)
    store.publish(
        "things", "2026-11-19", {"t": Part(tuple(written))}, replace="all", created_at=now, created_by="x"
    )
    snapshot = store.snapshot("things", "2026-11-19")
    assert snapshot is not None
    return snapshot


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "table": st.sampled_from(["t", "u", None]),
            "key": st.sampled_from(["a", "b", "c", None]),
            "number": st.none() | st.integers(-(2**63), 2**63 - 1),
        }
    ),
    max_size=30,
)


@settings(max_examples=40, deadline=None)
@given(rows=ROWS)
def test_the_measures_of_all_rows(tmp_path_factory, rows):
    things = published(tmp_path_factory.mktemp("store"), rows)
    number = pc.field("number")
    measures = {
        "rows": Measure(pc.scalar(1), "sum"),
        "least": Measure(number, "min"),
        "greatest": Measure(number, "max"),
        "negative": count(number < 0),
        "missing": count_missing("number"),
        "others": count_unequal("table", "t"),
        **exact_sum("number"),
    }
    (found,) = reduce_rows(things, "t", measures)
    numbers = [row["number"] for row in rows if row["number"] is not None]
    assert found["rows"] == len(rows)
    assert found["least"] == min(numbers, default=None)
    assert found["greatest"] == max(numbers, default=None)
    assert found["negative"] == sum(value < 0 for value in numbers)
    assert found["missing"] == len(rows) - len(numbers)
    assert found["others"] == sum(row["table"] != "t" for row in rows)
    assert sum_of(found, "number") == sum(numbers)

    groups = reduce_rows(things, "t", {"rows": measures["rows"]}, by=["key"])
    keys = [row["key"] for row in rows]
    assert {group["key"]: group["rows"] for group in groups} == {key: keys.count(key) for key in keys}


@settings(max_examples=40, deadline=None)
@given(rows=ROWS, keys_at_once=st.integers(1, 40))
def test_duplicates_in_any_number_of_passes(tmp_path_factory, rows, keys_at_once):
    things = published(tmp_path_factory.mktemp("store"), rows)
    distinct = {(row["key"], row["number"]) for row in rows}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(of_duplicates, "_KEYS_AT_ONCE", keys_at_once)
        found = duplicate_rows(things, "t", ["key", "number"])
    assert found == len(rows) - len(distinct)


def many_queries(root: Path, files: int) -> Night:
    """Return a night with ``files`` files of queries, all of them different."""
    store = ArtefactStore(storage_for(str(root)))
    night = Night(NIGHT, store, Settings(), datetime(2026, 11, 20, tzinfo=UTC), "test", frozenset(["t"]))
    aside = store.staged_write("queries", night.date_text)
    schema, written, rows = store.schemas["queries"], [], ROWS_A_FILE
    for number in range(files):
        positions = pa.array(range(number * rows, (number + 1) * rows))
        columns = {field.name: pa.nulls(rows, field.type) for field in schema}
        columns |= {
            "table": pa.array(["t"] * rows),
            "source_file": pa.array(["broker.log"] * rows),
            "source_position": positions,
            "query_text": pc.binary_join_element_wise(positions.cast(pa.string()), "x" * TEXT_BYTES, " "),
            "entries_scanned_in_filter": positions,
        }
        written.extend(aside.write("t", pa.table(columns, schema=schema)))
    log = {"records": files * rows, "queries": files * rows, "rejected": {}}
    night.publish("queries", {"t": Part(tuple(written), {"log": log})})
    night.publish("table_facts", {"t": Part(())})
    return night


def peak_bytes(night: Night) -> int:
    with counted_memory() as pool:
        (verdict,) = check_stage(night, "parse_query_logs")
    assert verdict.passed, [check for check in verdict.checks if not check.success]
    return pool.max_memory()


def test_a_large_artefact_goes_by_in_batches(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a gate read a whole artefact")

    monkeypatch.setattr(Snapshot, "read_table", refuse)
    seen: list[int] = []
    stream = reduce_rows_module.stream_rows

    def spy(*arguments):
        for batch in stream(*arguments):
            seen.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(reduce_rows_module, "stream_rows", spy)
    files = 20
    night = many_queries(tmp_path, files)
    peak = peak_bytes(night)
    assert sum(seen) == files * ROWS_A_FILE
    assert max(seen) <= ROWS_A_BATCH
    # About 3 files at a time, whether there are 3 of them or 40: 55 to 73 MiB were seen.
    assert peak < files * ROWS_A_FILE * TEXT_BYTES / 2
