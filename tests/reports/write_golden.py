"""Write tests/data/reports anew: ``.venv/bin/python tests/reports/write_golden.py``; then read the diff.

SVG pictures are left out of the golden pages: their text hangs on vl-convert's version and on the machine's
fonts. test_charts.py looks at what is in them instead.
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "data" / "reports"
NAMES = ("lineitem", "milliseconds", "nothing_to_recommend", "stopped_by_gate", "empty_log", "without_log")


def golden_files(name: str) -> dict[str, str]:
    """Return what the golden folder should hold for one case, file name to text."""
    import runpy

    from starskip.reports.report_files import report_files

    cases = runpy.run_path(str(Path(__file__).with_name("report_cases.py")))["CASES"]
    return {
        name + Path(file).suffix: without_pictures(content.decode())
        for file, content in report_files(cases[name]()).items()
    }


def without_pictures(page: str) -> str:
    """Return the page with a mark in place of each picture."""
    return re.sub(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", "data:PICTURE", page)


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    for case in NAMES:
        for file, text in golden_files(case).items():
            (FOLDER / file).write_text(text, encoding="utf-8")
