"""Golden files of the three formats; ``python tests/reports/write_golden.py`` writes them anew."""

from __future__ import annotations

import pytest
from golden_reports import FOLDER, NAMES, golden_files


@pytest.mark.parametrize("name", NAMES)
def test_report_reads_as_its_golden_file(name: str) -> None:
    for file, text in golden_files(name).items():
        assert text == (FOLDER / file).read_text(encoding="utf-8"), file


def test_no_golden_file_without_a_case() -> None:
    expected = {f"{name}.{ending}" for name in NAMES for ending in ("json", "md", "html")}
    assert {each.name for each in FOLDER.iterdir()} == expected
