"""The note that a pull from a live Pinot leaves beside a table's segments: what they are a sample of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from starskip.pinot.segments.segment_files import SegmentFile
from starskip.storage.files.open_file import read_small_file

NOTE_FILE = "pulled.json"
PULLED = "pulled"
"""Property of a table's facts: what was pulled, as a sentence."""


@dataclass(frozen=True, slots=True)
class PulledNote:
    """Sizes of what was pulled of one table, whose name has its type.

    ``rows`` are those of the ``segments`` that were pulled, of ``all_segments``. ``pulled_rows``: how many of
    them were read, from ``sampled_segments``. ``tiers``: those of storage that have indexes of their own.
    """

    table: str
    segments: int
    all_segments: int
    rows: int
    sampled_segments: int
    pulled_rows: int
    tiers: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the file's content."""
        return json.dumps(asdict(self), indent=2)

    @property
    def words(self) -> str:
        """Return the note as a sentence."""
        segments = _counted(self.segments, self.all_segments, "segment")
        if self.pulled_rows == self.rows:
            return (
                f"{self.table} was pulled from a live Pinot: {segments}, and all {self.rows:,} rows of them"
            )
        some = f", in {self.sampled_segments:,} of them" if self.sampled_segments < self.segments else ""
        return (
            f"{self.table} was pulled from a live Pinot: {segments}, and {self.pulled_rows:,} of their"
            f" {self.rows:,} rows{some}"
        )


def _counted(some: int, whole: int, noun: str) -> str:
    part = f"{some:,} of {whole:,}" if some < whole else f"{whole:,}"
    return f"{part} {noun}{'' if whole == 1 else 's'}"


def pulled_words(files: Iterable[SegmentFile]) -> dict[str, str]:
    """Return, for each pulled table, the sentence of the note beside its segments."""
    folders = {file.table: file.path.rpartition("/")[0] for file in files}
    notes = {table: _note(folder) for table, folder in folders.items()}
    return {table: note.words for table, note in notes.items() if note is not None}


def _note(folder: str) -> PulledNote | None:
    try:
        found = json.loads(read_small_file(f"{folder}/{NOTE_FILE}"))
        return PulledNote(**found)
    except (OSError, ValueError, TypeError):
        return None
