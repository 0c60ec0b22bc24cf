from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from starskip.errors import SourceError, StorageError
from starskip.reports.export_reports import export_reports
from starskip.storage.artefact_store import ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for
from starskip.storage.vacuum import vacuum

NIGHT = "2026-11-20"


def published(folder: Path, reports: Mapping[str, bytes]) -> ArtefactStore:
    store = ArtefactStore(storage_for(str(folder / "artefacts")))
    aside = store.staged_write("reports", NIGHT)
    parts = {table: Part((aside.write_file(table, "report.md", text),)) for table, text in reports.items()}
    created_at = datetime(2026, 11, 21, tzinfo=UTC)
    store.publish("reports", NIGHT, parts, replace="all", created_at=created_at, created_by="test")
    return store


def test_reports_lie_under_their_tables_own_names(tmp_path: Path) -> None:
    store = published(tmp_path, {"orders": b"of orders", "lineitem": b"of lineitem"})
    exported = export_reports(store, NIGHT, tmp_path / "reports")
    assert exported["orders"] == {"report.md": tmp_path / "reports" / NIGHT / "orders" / "report.md"}
    assert exported["orders"]["report.md"].read_bytes() == b"of orders"
    assert sorted(exported) == ["lineitem", "orders"]


def test_only_the_tables_asked_for_are_written(tmp_path: Path) -> None:
    store = published(tmp_path, {"orders": b"", "lineitem": b""})
    assert list(export_reports(store, NIGHT, tmp_path / "reports", ["orders", "unknown"])) == ["orders"]
    assert [path.name for path in (tmp_path / "reports" / NIGHT).iterdir()] == ["orders"]


def test_a_second_export_replaces_the_first_and_leaves_nothing_beside(tmp_path: Path) -> None:
    export_reports(published(tmp_path, {"orders": b"old"}), NIGHT, tmp_path / "reports")
    exported = export_reports(published(tmp_path, {"orders": b"new"}), NIGHT, tmp_path / "reports")
    path = exported["orders"]["report.md"]
    assert path.read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("table", ["../../climbs", ".hidden", "a/b", "", "x" * 5000, "naïve"])
def test_a_name_that_is_no_plain_folder_name_stays_below_the_folder(tmp_path: Path, table: str) -> None:
    path = export_reports(published(tmp_path, {table: b"text"}), NIGHT, tmp_path / "reports")[table][
        "report.md"
    ]
    assert path.resolve().parents[1] == tmp_path / "reports" / NIGHT
    assert path.parent.name.startswith("t-")


def test_names_that_differ_only_in_case_keep_apart_on_every_disk(tmp_path: Path) -> None:
    exported = export_reports(
        published(tmp_path, {"Orders": b"A", "orders": b"b"}), NIGHT, tmp_path / "reports"
    )
    folders = {paths["report.md"].parent.name.casefold() for paths in exported.values()}
    assert len(folders) == 2


def test_a_night_without_reports_says_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no reports of 2026-11-19: run that night first"):
        export_reports(published(tmp_path, {}), "2026-11-19", tmp_path / "reports")


def test_a_folder_inside_the_store_is_refused_where_a_vacuum_would_take_the_copies(tmp_path: Path) -> None:
    store = published(tmp_path, {"orders": b"of orders"})
    (tmp_path / "link").symlink_to(tmp_path / "artefacts")
    for folder in ("artefacts", "artefacts/reports", "link/copies", "reports/../artefacts"):
        with pytest.raises(StorageError, match="lies in the folder of the artefacts"):
            export_reports(store, NIGHT, tmp_path / folder)
    assert sorted(path.name for path in (tmp_path / "artefacts").iterdir()) == ["reports"]


def test_copies_beside_the_store_outlive_its_vacuum(tmp_path: Path) -> None:
    store = published(tmp_path / "night", {"orders": b"of orders"})
    path = export_reports(store, NIGHT, tmp_path / "night" / "reports")["orders"]["report.md"]
    vacuum(store, now=datetime.now(UTC) + timedelta(days=9), grace=timedelta(hours=24))
    assert path.read_bytes() == b"of orders"


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("a file, not a folder")
    with pytest.raises(StorageError, match=r"report\.md: cannot be written"):
        export_reports(published(tmp_path, {"orders": b""}), NIGHT, tmp_path / "reports")
