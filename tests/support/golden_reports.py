"""The golden files of the reports: which there are, and what they should hold.

Two nights stand whole. In the page and the JSON of each other night, a part that one of the two also has is a
mark with that night's name. A part that comes or goes is seen nevertheless. The style sheet is a mark, too,
where it stands to the letter: report.css is read by itself.

SVG pictures are left out of the golden pages: their text hangs on vl-convert's version and on the machine's
fonts. test_charts.py looks at what is in them instead.
"""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from report_cases import CASES
from starskip.reports.report_files import report_files
from starskip.reports.template_environment import template_text

FOLDER = Path(__file__).parents[1] / "data" / "reports"
NAMES = tuple(name for name in CASES if name != "long_names")
_WHOLE = ("lineitem", "milliseconds")
_STYLE = "report.css"


def golden_files(name: str) -> dict[str, str]:
    """Return what the golden folder should hold for one case, file name to text."""
    found = _files(name)
    if name not in _WHOLE:
        found = {**found, ".html": _marked_page(found[".html"]), ".json": _marked_json(found[".json"])}
    return {name + ending: text for ending, text in found.items()}


@cache
def _files(name: str) -> dict[str, str]:
    return {
        Path(file).suffix: _without_pictures(content.decode()).replace(template_text(_STYLE), f"{_STYLE}\n")
        for file, content in report_files(CASES[name]()).items()
    }


def _without_pictures(page: str) -> str:
    """Return the page with a mark in place of each picture."""
    return re.sub(r"data:image/svg\+xml;base64,[A-Za-z0-9+/=]+", "data:PICTURE", page)


def _parts(page: str) -> list[str]:
    """Cut a page in front of its body, in front of each section and behind each."""
    return re.split(r"(?=<body)|(?=<section)|(?<=</section>\n)", page)


def _marked_page(page: str) -> str:
    whole = {part: night for night in reversed(_WHOLE) for part in _parts(_files(night)[".html"])}
    return "".join(
        f"<!-- {part.splitlines()[0]} as in {whole[part]} -->\n" if part in whole else part
        for part in _parts(page)
    )


def _marked_json(document: str) -> str:
    whole = {night: json.loads(_files(night)[".json"]) for night in _WHOLE}

    def marked(name: str, value: Any) -> Any:
        alike = (f"as in {night}" for night in _WHOLE if name in whole[night] and whole[night][name] == value)
        return next(alike, value)

    values = {name: marked(name, value) for name, value in json.loads(document).items()}
    return json.dumps(values, indent=2) + "\n"
