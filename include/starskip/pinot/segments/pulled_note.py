"""The note that a pull from a live Pinot leaves beside a table's segments: what they are a sample of."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from starskip.storage.files.open_file import read_small_file

NOTE_FILE = "pulled.json"


@dataclass(frozen=True, slots=True)
class PulledNote:
    """What was pulled of one table, whose name has its type.

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
        part = "" if self.segments == self.all_segments else f" of {self.all_segments:,}"
        return (
            f"{self.table} was pulled from a live Pinot: {self.segments:,}{part} segments, and"
            f" {self.pulled_rows:,} of their {self.rows:,} rows, from {self.sampled_segments:,} of them"
        )


def pulled_note(folder: str) -> PulledNote | None:
    """Return the note in a folder of segments, None if they were not pulled."""
    try:
        found = json.loads(read_small_file(f"{folder.rstrip('/')}/{NOTE_FILE}"))
        return PulledNote(**found)
    except (OSError, ValueError, TypeError):
        return None
