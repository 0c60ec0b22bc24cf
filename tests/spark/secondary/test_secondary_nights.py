"""The stage refresh_secondary_indexes on Spark: built, refreshed, deleted, judged by its gate."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from gate_checks import failed_checks, import_great_expectations
from pyspark.sql import SparkSession
from skipping_nights import DAY, FILES, SkippingNights
from skipping_tables import aged
from starskip.errors import SourceError, StorageError
from starskip.indexes.secondary import collect_entries, open_table, run_files
from starskip.indexes.secondary import refresh_secondary_indexes as refresh_module
from starskip.indexes.secondary.check_entries import ENTRIES
from starskip.indexes.secondary.lifecycle import create_indexes, describe_indexes
from starskip.indexes.secondary.refresh_secondary_indexes import ADVICE, BUILDS, refresh_secondary_indexes
from starskip.run.night import Night, StageResult
from starskip.storage.lake_schemas import SECONDARY_ADVICE
from starskip.storage.manifest import Part

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality]
NEXT = DAY + timedelta(days=1)


@pytest.fixture(scope="module", autouse=True)
def _great_expectations() -> None:
    import_great_expectations()


@pytest.fixture
def nights(spark: SparkSession, tmp_path: Path) -> SkippingNights:
    found = SkippingNights(tmp_path, spark)
    found.write_files()
    return found


def advised(nights: SkippingNights, *indexes: str, day: date = DAY, note: str | None = None) -> Night:
    """Return a night whose advice is these indexes."""
    night = nights.night(day)
    rows = [
        {"table": "sales", "verdict": "chosen", "rank": rank, "index": each, "size_bytes": 1_000}
        for rank, each in enumerate(indexes, start=1)
    ]
    aside = night.store.staged_write(ADVICE, night.date_text)
    part = Part(aside.write("sales", pa.Table.from_pylist(rows, schema=SECONDARY_ADVICE)), {"note": note})
    night.publish("table_facts", {"sales": Part(())})
    night.publish(ADVICE, {"sales": part})
    return night


def built(nights: SkippingNights, night: Night) -> StageResult:
    return refresh_secondary_indexes(nights.engine, night)


def outcomes(nights: SkippingNights, night: Night) -> dict[str, str]:
    return {row["index"]: row["outcome"] for row in nights.rows(BUILDS, night)}


def test_chosen_indexes_are_built_refreshed_and_deleted(nights: SkippingNights) -> None:
    first = advised(nights, "btree:customer", "ngram:note:1")
    assert built(nights, first).counts["created"] == 2
    rows = {row["index"]: row for row in nights.rows(BUILDS, first)}
    assert {row["files_known"] for row in rows.values()} == {FILES}
    assert {row["estimated_bytes"] for row in rows.values()} == {1_000}
    assert min(row["size_bytes"] for row in rows.values()) > 0, rows
    assert failed_checks(first, "refresh_secondary_indexes", "sales") == []
    answer = open_table(str(nights.lake)).answer("customer = 4711 AND note LIKE '%n%'", is_count=True)
    assert answer.count == open_table(str(nights.lake)).answer("customer = 4711", path=["scan"]).count

    nights.write_files(FILES, 1)
    second = advised(nights, "btree:customer", day=NEXT)
    result = built(nights, second)
    assert outcomes(nights, second) == {"btree:customer": "refreshed", "ngram:note:1": "deleted"}
    assert nights.properties(BUILDS, second)["files_read"] == 1
    assert result.warnings == ()
    assert failed_checks(second, "refresh_secondary_indexes", "sales") == []

    again = advised(nights, "btree:customer", day=NEXT + timedelta(days=1))
    built(nights, again)
    assert outcomes(nights, again) == {"btree:customer": "unchanged"}


def test_what_somebody_made_by_hand_stays_and_is_refreshed(nights: SkippingNights) -> None:
    create_indexes(str(nights.lake), ["btree:customer"])
    nights.write_files(FILES, 1)
    night = advised(nights)
    built(nights, night)
    assert outcomes(nights, night) == {"btree:customer": "by_hand"}
    assert describe_indexes(str(nights.lake))["files"] == FILES + 1


def test_a_day_without_advice_takes_nothing_away(nights: SkippingNights) -> None:
    built(nights, advised(nights, "btree:customer"))
    night = advised(nights, day=NEXT, note="no Spark event logs are configured")
    built(nights, night)
    assert outcomes(nights, night) == {"btree:customer": "unchanged"}


def test_a_damaged_file_is_named_and_the_rest_is_indexed(
    nights: SkippingNights, caplog: pytest.LogCaptureFixture
) -> None:
    (nights.lake / "part-003.parquet").write_bytes(b"PAR1 no parquet PAR1")
    aged(nights.lake)
    night = advised(nights, "btree:customer")
    built(nights, night)
    assert outcomes(nights, night) == {"btree:customer": "created"}
    assert "part-003.parquet" in caplog.text
    with pytest.raises(SourceError, match=r"part-003.parquet: cannot be read"):
        open_table(str(nights.lake)).query("customer = 1")


@pytest.mark.parametrize("index", ["btree:nowhere", "ngram:customer"])
def test_an_index_that_the_table_cannot_have_is_one_line(nights: SkippingNights, index: str) -> None:
    night = advised(nights, index)
    result = built(nights, night)
    assert outcomes(nights, night) == {index: "failed"}
    assert index in result.warnings[0]
    assert len(failed_checks(night, "refresh_secondary_indexes", "sales")) == 1


def test_a_night_that_only_advises_builds_nothing(nights: SkippingNights) -> None:
    built(nights, advised(nights, "btree:customer", day=NEXT))
    night = advised(nights, "ngram:note:1")
    built(nights, night)
    assert outcomes(nights, night) == {"ngram:note:1": "not_built"}
    assert "only the newest night builds" in nights.rows(BUILDS, night)[0]["detail"]


def _first_row_missing(rows: pa.Table) -> pa.Table:
    return rows.slice(1)


def _first_row_doubled(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows.slice(0, 1), rows]).combine_chunks()


def _keys_falling(rows: pa.Table) -> pa.Table:
    return rows.take(pa.array(range(rows.num_rows - 1, -1, -1)))


def _box_too_small(blocks: pa.Table) -> pa.Table:
    at = blocks.column_names.index("high_x")
    return blocks.set_column(at, "high_x", blocks["low_x"])


@pytest.mark.parametrize(
    ("index", "rows_or_blocks", "change", "check"),
    [
        ("btree:customer", "rows", _first_row_missing, "live rows without an entry"),
        ("ngram:note:1", "rows", _first_row_missing, "live rows without an entry"),
        ("rtree:x,y", "rows", _first_row_missing, "live rows without an entry"),
        ("btree:customer", "rows", _first_row_doubled, "entries beyond one a row"),
        ("rtree:x,y", "rows", _first_row_doubled, "entries beyond one a row"),
        ("btree:customer", "rows", _keys_falling, "blocks whose keys are not in order"),
        ("ngram:note:1", "rows", _keys_falling, "blocks whose keys are not in order"),
        ("rtree:x,y", "blocks", _box_too_small, "blocks with keys or points outside their bounds"),
    ],
)
def test_the_gate_refuses_a_planted_fault(
    nights: SkippingNights,
    monkeypatch: pytest.MonkeyPatch,
    index: str,
    rows_or_blocks: str,
    change: Callable[[pa.Table], pa.Table],
    check: str,
) -> None:
    for path in sorted(nights.lake.glob("*.parquet")):
        rows = pq.read_table(path)
        points = {name: rows["customer"].cast(pa.float64()) for name in ("x", "y")}
        pq.write_table(pa.table({**dict(zip(rows.column_names, rows.columns, strict=True)), **points}), path)
    aged(nights.lake)
    write, blocks_of = run_files.write_run, run_files.blocks_of
    with monkeypatch.context() as patch:
        if rows_or_blocks == "rows":
            patch.setattr(
                collect_entries, "write_run", lambda aside, of, rows: write(aside, of, change(rows))
            )
        else:
            patch.setattr(run_files, "blocks_of", lambda *of: change(blocks_of(*of)))
        create_indexes(str(nights.lake), [index])
    night = advised(nights)
    built(nights, night)
    # The tasks of the stage have read the entries.
    faults = nights.properties(BUILDS, night)[ENTRIES]["faults"][index]
    assert sum(faults.values()) > 0
    assert nights.properties(BUILDS, night)[ENTRIES]["sound"] == {}
    failed = failed_checks(night, "refresh_secondary_indexes", "sales")
    assert f"secondary indexes of {{table}}: {check}" in failed


def test_the_gate_reads_entries_that_the_stage_could_not(
    nights: SkippingNights, monkeypatch: pytest.MonkeyPatch
) -> None:
    def outage(*_: Any) -> Any:
        raise StorageError("a file is gone or damaged", location="a file")

    monkeypatch.setattr(refresh_module, "check_entries", outage)
    night = advised(nights, "btree:customer")
    built(nights, night)
    assert ENTRIES not in nights.properties(BUILDS, night)
    assert failed_checks(night, "refresh_secondary_indexes", "sales") == []
    with monkeypatch.context() as patch:
        write = run_files.write_run
        patch.setattr(collect_entries, "write_run", lambda aside, of, rows: write(aside, of, rows.slice(1)))
        create_indexes(str(nights.lake), ["ngram:note:1"])
    by_hand = advised(nights, "btree:customer", day=NEXT)
    built(nights, by_hand)
    failed = failed_checks(by_hand, "refresh_secondary_indexes", "sales")
    assert failed == ["secondary indexes of {table}: live rows without an entry"]


def test_runs_found_sound_are_known_in_the_next_night(nights: SkippingNights) -> None:
    first = advised(nights, "btree:customer")
    built(nights, first)
    sound = nights.properties(BUILDS, first)[ENTRIES]["sound"]["btree:customer"]
    assert len(sound) == 1
    nights.write_files(FILES, 1)
    second = advised(nights, "btree:customer", day=NEXT)
    built(nights, second)
    now = nights.properties(BUILDS, second)[ENTRIES]["sound"]["btree:customer"]
    assert len(now) == 2
    assert sound.items() <= now.items()
