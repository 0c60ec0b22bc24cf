"""Golden files of the three formats; ``python tests/reports/write_golden.py`` writes them anew."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

WRITER = runpy.run_path(str(Path(__file__).with_name("write_golden.py")))


@pytest.mark.parametrize("name", WRITER["NAMES"])
def test_report_reads_as_its_golden_file(name: str) -> None:
    for file, text in WRITER["golden_files"](name).items():
        assert text == (WRITER["FOLDER"] / file).read_text(encoding="utf-8"), file


def test_no_golden_file_without_a_case() -> None:
    expected = {f"{name}.{ending}" for name in WRITER["NAMES"] for ending in ("json", "md", "html")}
    assert {each.name for each in WRITER["FOLDER"].iterdir()} == expected
