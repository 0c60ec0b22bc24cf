"""Facts that are taken over from a former night, and those that must not be."""

from __future__ import annotations

import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starskip.errors import SourceOutage, StorageOutage
from starskip.night import collect_segment_metadata as stage

START = datetime(2026, 11, 21, 2, tzinfo=UTC)


def read(lab: Any, hours: int, **changes: Any) -> int:
    """Run the stage that many hours later and return how many segments it read."""
    night = lab.night(started_at=START + timedelta(hours=hours), **changes)
    lab.run(night, stages=("collect_segment_metadata",))
    counts = lab.results["collect_segment_metadata"].counts
    assert counts["segments_read"] + counts["segments_taken_over"] == counts["segment_files"]
    return int(counts["segments_read"])


@pytest.fixture
def aged(lab: Any) -> Any:
    """Segments that are a day older than the first night."""
    for path in lab.segments.rglob("*.tar.gz"):
        os.utime(path, (START.timestamp() - 86_400,) * 2)
    return lab


def test_file_written_as_it_was_read_is_read_again_whatever_ran_in_between(aged: Any) -> None:
    path = aged.segments / "lineitem" / "lineitem_0.tar.gz"
    os.utime(path, (START.timestamp() - 0.5,) * 2)
    assert read(aged, 0) == 4
    assert read(aged, 1, tables=frozenset({"airlineStats"})) == 0
    assert read(aged, 2) == 1
    assert read(aged, 3) == 0


def test_former_facts_with_a_damaged_page_are_passed_over(aged: Any) -> None:
    assert read(aged, 0) == 4
    before = aged.published("damaged_segments"), rows_of(aged)
    for path in (aged.root / "artefacts" / "table_facts").rglob("*.parquet"):
        content = path.read_bytes()
        path.write_bytes(content[:4] + b"\xff" * 40 + content[44:])
    assert read(aged, 1) == 4
    assert "all segments were read again: table_facts/2026-11-20/" in aged.warnings
    assert ": is damaged; " in aged.warnings
    assert (aged.published("damaged_segments"), rows_of(aged)) == before
    assert read(aged, 2) == 0


def rows_of(lab: Any) -> list[str]:
    rows = lab.night().store.snapshot("table_facts", "2026-11-20").read_table().to_pylist()
    return sorted(map(str, rows))


def test_store_that_does_not_answer_is_neither_an_empty_table_nor_a_night_without_facts(
    aged: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(aged, 0) == 4
    listed = stage.possible_segments

    def silent(table: str, folder: str) -> Any:
        if table == "lineitem":
            raise SourceOutage("s3://night/lineitem: the store does not answer", source="lineitem")
        return listed(table, folder)

    with monkeypatch.context() as patch:
        patch.setattr(stage, "possible_segments", silent)
        with pytest.raises(SourceOutage):
            read(aged, 1)

    def gone(*_: Any) -> Any:
        raise StorageOutage("s3://night/artefacts: the store does not answer", location="artefacts")

    monkeypatch.setattr("starskip.storage.artefact_store.ArtefactStore.snapshot", gone)
    with pytest.raises(StorageOutage):
        read(aged, 2)


def test_facts_are_no_part_of_a_folder_that_somebody_copied_there(aged: Any) -> None:
    assert read(aged, 0) == 4
    Path(aged.root / "artefacts" / "table_facts" / "2027-01-01" / "copies").mkdir(parents=True)
    (aged.root / "artefacts" / "table_facts" / "2027-01-01" / "copies" / "x.json").write_text("{}")
    assert aged.night().store.run_dates("table_facts") == ("2026-11-20",)


def test_facts_of_a_table_come_from_the_nearest_night_that_has_some(aged: Any) -> None:
    assert read(aged, 0) == 4
    # The next night is run for one table first, as where two configurations share a store.
    some = {"run_date": date(2026, 11, 21), "tables": frozenset({"airlineStats"})}
    assert read(aged, 24, **some) == 0
    assert read(aged, 25, run_date=date(2026, 11, 21)) == 0
    # A backfill of a day before all others knows the segments, too.
    assert read(aged, 26, run_date=date(2026, 11, 10)) == 0
