"""Counting batch by batch gives what the whole table gives, and holds no more than a few batches."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from counted_memory import counted_memory
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.run.gate import Counts, Measure
from starskip.advisor.run.night import Night
from starskip.errors import StorageError
from starskip.execution.local_engine import LocalEngine
from starskip.night.quality import count_rows as count_rows_module
from starskip.night.quality.check_stage import check_stage
from starskip.night.quality.count_rows import (
    ROWS_A_BATCH,
    count,
    count_missing,
    counted,
    exact_sum,
    publish_counts,
    sum_of,
)
from starskip.night.quality.queries_gate import QUERIES_GATE
from starskip.settings import Settings
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.schemas import QUERIES_COUNTS
from starskip.storage.snapshot import Snapshot
from starskip.storage.storage_for import storage_for

pytestmark = pytest.mark.quality
NIGHT = date(2026, 11, 19)
ROWS_A_FILE, TEXT_BYTES = 60_000, 300
SCHEMA = pa.schema([("table", pa.string()), ("key", pa.string()), ("number", pa.int64())])


def counts_of(root: Path, rows: list[dict[str, object]], counts: Counts, *, files: int = 3):
    """Return what is counted of the rows, published in some files as the part of table t."""
    schemas = {"things": SCHEMA, "things_counts": QUERIES_COUNTS}
    store = ArtefactStore(storage_for(str(root)), schemas)
    night = Night(NIGHT, store, Settings(), datetime(2026, 11, 20, tzinfo=UTC), "test", frozenset(["t"]))
    aside = store.staged_write("things", night.date_text)
    cuts = [rows[start::files] for start in range(files)]
    written = [file for cut in cuts for file in aside.write("t", pa.Table.from_pylist(cut, schema=SCHEMA))]
    night.publish("things", {"t": Part(tuple(written))})
    publish_counts(LocalEngine(), night, "things", "parse_query_logs", counts)
    return counted(night, "things", "t")


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
    number = pc.field("number")
    measures = {
        "rows": Measure(pc.scalar(1), "sum"),
        "least": Measure(number, "min"),
        "greatest": Measure(number, "max"),
        "negative": count(number < 0),
        "missing": count_missing("number"),
        **exact_sum("number"),
    }
    of_all = Counts(measures, key=["number"])
    found, _ = counts_of(tmp_path_factory.mktemp("store"), rows, of_all)
    if not rows:
        assert found == []
        return
    (found,) = found
    numbers = [row["number"] for row in rows if row["number"] is not None]
    assert found["rows"] == len(rows)
    assert found["least"] == min(numbers, default=None)
    assert found["greatest"] == max(numbers, default=None)
    assert found["negative"] == sum(value < 0 for value in numbers)
    assert found["missing"] == len(rows) - len(numbers)
    assert found["other_tables"] == sum(row["table"] != "t" for row in rows)
    assert sum_of(found, "number") == sum(numbers)

    groups, _ = counts_of(tmp_path_factory.mktemp("store"), rows, replace(of_all, by=["key"]))
    keys = [row["key"] for row in rows]
    assert {group["key"]: group["rows"] for group in groups} == {key: keys.count(key) for key in keys}


@settings(max_examples=40, deadline=None)
@given(rows=ROWS, keys_a_bucket=st.integers(1, 40))
def test_duplicates_in_any_number_of_buckets(tmp_path_factory, rows, keys_a_bucket):
    distinct = {(row["key"], row["number"]) for row in rows}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(count_rows_module, "_KEYS_A_BUCKET", keys_a_bucket)
        _, duplicates = counts_of(tmp_path_factory.mktemp("store"), rows, Counts({}, key=["key", "number"]))
    assert duplicates == len(rows) - len(distinct)


def test_a_table_whose_file_is_damaged_is_named_and_the_others_are_counted(tmp_path):
    night = many_queries(tmp_path, 2)
    (file, _) = night.store.snapshot("queries", night.date_text).parts()["t"].files
    (tmp_path / file.name).write_bytes(b"damaged")
    other = night.store.staged_write("queries", night.date_text)
    row = {field.name: None for field in other.schema} | {"table": "u", "source_position": 1}
    written = other.write("u", pa.Table.from_pylist([row], schema=other.schema))
    night = replace(night, tables=frozenset(["t", "u"]))
    night.publish("queries", {"u": Part(written)})
    publish_counts(LocalEngine(), night, "queries", "parse_query_logs", QUERIES_GATE.counts(night))
    with pytest.raises(StorageError, match="is damaged"):
        counted(night, "queries", "t")
    assert counted(night, "queries", "u")[0][0]["queries"] == 1


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
        publish_counts(LocalEngine(), night, "queries", "parse_query_logs", QUERIES_GATE.counts(night))
        (verdict,) = check_stage(night, "parse_query_logs")
    assert verdict.passed, [check for check in verdict.checks if not check.success]
    return pool.max_memory()


def test_a_large_artefact_goes_by_in_batches(tmp_path, monkeypatch):
    seen: list[int] = []
    batches = Snapshot.batches

    def spy(snapshot, *arguments):
        for batch in batches(snapshot, *arguments):
            seen.extend([batch.num_rows] if snapshot.artefact == "queries" else [])
            yield batch

    monkeypatch.setattr(Snapshot, "batches", spy)
    files = 20
    night = many_queries(tmp_path, files)
    peak = peak_bytes(night)
    # Once for the measures, and once for the keys.
    assert sum(seen) == 2 * files * ROWS_A_FILE
    assert max(seen) <= ROWS_A_BATCH
    # About 3 files at a time, whether there are 3 of them or 40: 55 to 73 MiB were seen.
    assert peak < files * ROWS_A_FILE * TEXT_BYTES / 2
