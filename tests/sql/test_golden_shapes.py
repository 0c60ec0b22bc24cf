"""Golden files of shapes; ``python tests/sql/write_golden.py`` writes them anew."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

WRITER = runpy.run_path(str(Path(__file__).with_name("write_golden.py")))


@pytest.mark.parametrize("path", sorted(WRITER["FOLDER"].glob("*.txt")), ids=lambda path: path.stem)
def test_queries_read_as_their_golden_file(path: Path) -> None:
    text = path.read_text()
    assert WRITER["golden_file"](text) == text
    assert len(WRITER["queries_of"](text)) >= 10
