"""Facts that are taken over from a former night, and those that must not be."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from starskip.advisor.run.table_by_table import FAILED
from starskip.errors import SourceOutage, StorageOutage
from starskip.lake.lake_table import LakeTable
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


def failures(lab: Any, night: Any = None) -> dict[str, str]:
    """Return why the stage failed, by table."""
    night = night or lab.night()
    snapshot = night.store.snapshot("table_facts", night.date_text)
    parts = snapshot.parts().items()
    return {table: part.properties[FAILED] for table, part in parts if FAILED in part.properties}


def test_bytes_that_cannot_be_read_damage_one_segment(aged: Any) -> None:
    # A file that opens, and whose first byte cannot be read: EIO.
    (aged.segments / "lineitem" / "lineitem_1.tar.gz").symlink_to("/proc/self/mem")
    assert read(aged, 0) == 5
    assert "lineitem_1.tar.gz: unreadable_file (cannot be read: Input/output error)" in aged.warnings


@pytest.mark.parametrize("lake", [{}, {"events": LakeTable("/lake/events")}])
def test_half_of_a_hybrid_table_without_a_folder_fails_alone(lake: Any, aged: Any) -> None:
    shutil.move(aged.segments / "airlineStats", aged.segments / "airlineStats_OFFLINE")
    paths = [aged.root / f"airlineStats_{half}.json" for half in ("OFFLINE", "REALTIME")]
    for path in paths:
        path.write_text(json.dumps({"tableName": path.stem, "tableType": path.stem.partition("_")[2]}))
    assert read(aged, 0, table_config_paths=[str(path) for path in paths], lake_tables=lake) == 4
    assert set(aged.published("table_facts")) == {"lineitem", *(path.stem for path in paths), *lake}
    assert list(failures(aged)) == ["airlineStats_REALTIME"]
    assert "unknown table airlineStats_REALTIME: " in aged.warnings


def test_folder_that_may_not_be_listed_fails_its_table(aged: Any, forbid: Callable[[Path], None]) -> None:
    new = aged.segments / "new"
    new.mkdir()
    forbid(new)
    assert read(aged, 0) == 4
    assert failures(aged) == {"new": f"table new: cannot read {new}: Permission denied"}


def test_empty_folder_fails_a_table_that_is_known_and_no_other(aged: Any) -> None:
    for name in ("stray", "configured"):
        (aged.segments / name).mkdir()
    config = aged.root / "configured.json"
    config.write_text(json.dumps({"tableName": "configured_OFFLINE", "tableType": "OFFLINE"}))
    configs = [str(config)]
    assert read(aged, 0, table_config_paths=configs) == 4
    assert set(failures(aged)) == {"configured"}
    assert "table stray has no segments" in aged.warnings
    for path in (aged.segments / "lineitem").iterdir():
        path.unlink()
    tonight = aged.night(run_date=date(2026, 11, 21))
    aged.run(tonight, stages=("collect_segment_metadata",))
    assert set(failures(aged, tonight)) == {"lineitem"}
    # A rerun knows the table by what the night itself has published.
    assert read(aged, 1) == 0
    assert set(failures(aged)) == {"lineitem"}
