"""The note of a pull says in words how much it is a sample of, and goes with the segments."""

from __future__ import annotations

from pathlib import Path

import pytest
from starskip.pinot.segments.pulled_note import NOTE_FILE, PulledNote, pulled_words
from starskip.pinot.segments.segment_files import SegmentFile


@pytest.mark.parametrize(
    ("note", "words"),
    [
        (PulledNote("t_OFFLINE", 1, 1, 4, 1, 4), "1 segment, and all 4 rows of them"),
        (PulledNote("t_OFFLINE", 4, 4, 9_000, 4, 1_000), "4 segments, and 1,000 of their 9,000 rows"),
        (
            PulledNote("t_OFFLINE", 1_000, 1_204, 9_000_000, 32, 131_072),
            "1,000 of 1,204 segments, and 131,072 of their 9,000,000 rows, in 32 of them",
        ),
    ],
)
def test_words(note: PulledNote, words: str) -> None:
    assert note.words == f"t_OFFLINE was pulled from a live Pinot: {words}"


def test_a_folder_without_a_note_or_with_another_file_has_no_words(tmp_path: Path) -> None:
    files = []
    for table in ("pulled", "own", "odd"):
        (tmp_path / table).mkdir()
        files.append(SegmentFile(table, "s", f"{tmp_path}/{table}/s.tar.gz", 1))
    (tmp_path / "pulled" / NOTE_FILE).write_text(PulledNote("pulled_OFFLINE", 1, 1, 4, 1, 4).to_json())
    (tmp_path / "odd" / NOTE_FILE).write_text('{"table": "x"}')
    assert pulled_words(files).keys() == {"pulled"}
