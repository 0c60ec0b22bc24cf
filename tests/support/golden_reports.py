"""The golden files of the reports: which there are, and what they should hold.

Two nights stand whole. Of each other night only those parts of its page and of its JSON stand that neither of
the two has, which are the parts that the night is about.

SVG pictures are left out of the golden pages: their text hangs on vl-convert's version and on the machine's
fonts. test_charts.py looks at what is in them instead.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

from report_cases import CASES
from starskip.reports.report_files import report_files

FOLDER = Path(__file__).parents[1] / "data" / "reports"
NAMES = tuple(name for name in CASES if name != "long_names")
_WHOLE = ("lineitem", "milliseconds")


def golden_files(name: str) -> dict[str, str]:
    """Return what the golden folder should hold for one case, file name to text."""
    found = _files(name)
    if name not in _WHOLE:
        whole = [_files(each) for each in _WHOLE]
        known = {part for each in whole for part in _parts(each[".html"])}
        found = {
            **found,
            ".html": "".join(part for part in _parts(found[".html"]) if part not in known),
            ".json": _values_unlike(found[".json"], [each[".json"] for each in whole]),
        }
    return {name + ending: text for ending, text in found.items()}


@cache
def _files(name: str) -> dict[str, str]:
    return {
        Path(file).suffix: _without_pictures(content.decode())
        for file, content in report_files(CASES[name]()).items()
    }


def _without_pictures(page: str) -> str:
    """Return the page with a mark in place of each picture."""
    return re.sub(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", "data:PICTURE", page)


def _parts(page: str) -> list[str]:
    """Cut a page in front of its body, in front of each section and behind each."""
    return re.split(r"(?=<body)|(?=<section)|(?<=</section>\n)", page)


def _values_unlike(document: str, others: list[str]) -> str:
    known = [json.loads(each) for each in others]
    unlike = {
        name: value
        for name, value in json.loads(document).items()
        if all(name not in each or each[name] != value for each in known)
    }
    return json.dumps(unlike, indent=2) + "\n"
