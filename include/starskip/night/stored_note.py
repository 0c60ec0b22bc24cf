"""Note at the end of a night what the store holds, for the calendar of nights: artefact ``storage``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from starskip.advisor.run.night import NO_TABLE, Night
from starskip.errors import StorageError
from starskip.night.expire_snapshots import kept_days
from starskip.number_text import size
from starskip.settings import Settings
from starskip.storage.artefact_store import CURRENT
from starskip.storage.stored_artefacts import STORAGE, StoredArtefact, stored_artefacts


@dataclass(frozen=True, slots=True)
class StoredNote:
    """Artefacts of the store at the end of a night, the largest first; ``kept``: how long, in words."""

    run_date: str
    artefacts: Sequence[StoredArtefact]
    kept: Sequence[str]

    @property
    def size_bytes(self) -> int:
        """Bytes of all artefacts."""
        return sum(each.size_bytes for each in self.artefacts)


def kept_words(artefact: StoredArtefact, settings: Settings) -> str:
    """Return for how long the nights of an artefact are kept."""
    if artefact.newest == CURRENT:
        return "the newest"
    days = kept_days(settings).get(artefact.artefact)
    return f"{settings.retention.nights:,} nights" if days is None else f"{days:,} days"


def note_stored(night: Night) -> StoredNote:
    """Publish what the store holds, and return it; raises StorageError."""
    found = sorted(stored_artefacts(night.store), key=lambda each: -each.size_bytes)
    note = StoredNote(night.date_text, found, [kept_words(each, night.settings) for each in found])
    rows = [asdict(each) | {"kept": words} for each, words in zip(found, note.kept, strict=True)]
    night.publish_note(STORAGE, CURRENT, {"run_date": night.date_text, "artefacts": rows})
    return note


def stored_words(night: Night) -> list[str]:
    """Note what the store holds at the end of a night; return a sentence on it, or why it was not noted."""
    try:
        return [f"the store holds {size(note_stored(night).size_bytes)}"]
    except StorageError as error:
        return [f"what the store holds was not noted: {error}"]


def stored_note(night: Night) -> StoredNote | None:
    """Return what the last night has noted; None if none has. Raises StorageError."""
    snapshot = night.store.snapshot(STORAGE, CURRENT)
    part = snapshot.parts().get(NO_TABLE) if snapshot else None
    if part is None:
        return None
    try:
        rows = [dict(row) for row in part.properties["artefacts"]]
        kept = [str(row.pop("kept")) for row in rows]
        return StoredNote(part.properties["run_date"], [StoredArtefact(**row) for row in rows], kept)
    except (KeyError, TypeError, ValueError) as error:
        raise StorageError(f"{STORAGE} is of another version: run a night", location=STORAGE) from error
