"""The golden files of the reports: which there are, and what they should hold.

SVG pictures are left out of the golden pages: their text hangs on vl-convert's version and on the machine's
fonts. test_charts.py looks at what is in them instead.
"""

from __future__ import annotations

import re
from pathlib import Path

from report_cases import CASES
from starskip.reports.report_files import report_files

FOLDER = Path(__file__).parents[1] / "data" / "reports"
NAMES = tuple(name for name in CASES if name != "long_names")


def golden_files(name: str) -> dict[str, str]:
    """Return what the golden folder should hold for one case, file name to text."""
    return {
        name + Path(file).suffix: without_pictures(content.decode())
        for file, content in report_files(CASES[name]()).items()
    }


def without_pictures(page: str) -> str:
    """Return the page with a mark in place of each picture."""
    return re.sub(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", "data:PICTURE", page)
