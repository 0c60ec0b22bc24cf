"""The note of what the store holds, which the calendar of nights shows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from settings_with import settings_with
from starskip.advisor.run.night import Night
from starskip.errors import StorageError
from starskip.night.stored_note import note_stored, stored_note, stored_words
from starskip.settings import Settings
from starskip.storage.artefact_store import CURRENT, ArtefactStore
from starskip.storage.manifest import Part
from starskip.storage.storage_for import storage_for


def night_of(root: Path, day: str = "2026-11-20") -> Night:
    settings = settings_with(Settings(), query_days=7, nights=9)
    store = ArtefactStore(storage_for(str(root)))
    return Night(date.fromisoformat(day), store, settings, datetime.now(UTC), "test")


def publish(night: Night, artefact: str, content: bytes, run_date: str) -> None:
    file = night.store.staged_write(artefact, run_date).write_file("t", "f", content)
    created = {"created_at": night.started_at, "created_by": "test"}
    night.store.publish(artefact, run_date, {"t": Part((file,))}, replace="all", **created)


def test_what_the_store_holds_is_noted_by_artefact_the_largest_first(tmp_path: Path) -> None:
    night = night_of(tmp_path)
    assert stored_note(night) is None
    publish(night, "queries", b"x" * 50_000, "2026-11-20")
    publish(night, "reports", b"x" * 900, "2026-11-19")
    publish(night, "reports", b"x" * 900, "2026-11-20")
    publish(night, "star_trees", b"x" * 90_000, CURRENT)
    assert stored_words(night)[0].startswith("the store holds 14")
    note = stored_note(night)
    assert note is not None
    assert note.run_date == "2026-11-20"
    assert [each.artefact for each in note.artefacts] == ["star_trees", "queries", "reports"]
    assert note.kept == ["the newest", "7 days", "9 nights"]
    assert [each.nights for each in note.artefacts] == [1, 1, 2]
    assert note.size_bytes == sum(each.size_bytes for each in note.artefacts) > 141_800


def test_each_night_notes_it_anew(tmp_path: Path) -> None:
    for day in ("2026-11-20", "2026-11-21"):
        publish(night_of(tmp_path, day), "reports", b"x", day)
        note_stored(night_of(tmp_path, day))
    note = stored_note(night_of(tmp_path))
    assert note is not None
    assert (note.run_date, [each.artefact for each in note.artefacts]) == (
        "2026-11-21",
        ["reports", "storage"],
    )


def test_a_note_of_another_version_is_told_in_words(tmp_path: Path) -> None:
    night = night_of(tmp_path)
    part = Part((), {"run_date": "2026-11-20", "artefacts": [{"artefact": "queries"}]})
    created = {"created_at": night.started_at, "created_by": "test"}
    night.store.publish("storage", CURRENT, {"-": part}, replace="all", **created)
    with pytest.raises(StorageError, match="storage is of another version: run a night"):
        stored_note(night)
