"""The stage refresh_secondary_indexes on Spark: built, refreshed, deleted, judged by its gate."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from gate_checks import failed_checks
from pyspark.sql import SparkSession
from skipping_nights import DAY, FILES, SkippingNights
from skipping_tables import aged
from starskip.advisor.families.secondary.refresh_secondary_indexes import (
    ADVICE,
    BUILDS,
    refresh_secondary_indexes,
)
from starskip.advisor.run.night import Night, StageResult
from starskip.errors import SourceError
from starskip.secondary import collect_entries, open_table, run_files
from starskip.secondary.lifecycle import create_indexes, describe_indexes
from starskip.storage.lake_schemas import SECONDARY_ADVICE
from starskip.storage.manifest import Part

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.quality]
NEXT = DAY + timedelta(days=1)


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


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (_first_row_missing, "live rows without an entry"),
        (_first_row_doubled, "entries beyond one a row"),
    ],
)
def test_the_gate_counts_entries_against_rows(
    nights: SkippingNights,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[pa.Table], pa.Table],
    check: str,
) -> None:
    write = run_files.write_run
    with monkeypatch.context() as patch:
        patch.setattr(collect_entries, "write_run", lambda aside, of, rows: write(aside, of, change(rows)))
        create_indexes(str(nights.lake), ["btree:customer"])
    night = advised(nights)
    built(nights, night)
    failed = failed_checks(night, "refresh_secondary_indexes", "sales")
    assert failed == [f"secondary indexes of {{table}}: {check}"]


@pytest.mark.parametrize("file_name", [run_files.ROWS, run_files.BLOCKS])
def test_a_run_without_its_end_fails_the_gate(nights: SkippingNights, file_name: str) -> None:
    night = advised(nights, "btree:customer")
    built(nights, night)
    path = next((nights.lake / "_starskip").rglob(f"*{file_name}"))
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-9])
    failed = failed_checks(night, "refresh_secondary_indexes", "sales")
    assert failed == ["secondary_builds of {table}: state"]
