"""The gate behind write_report: three files with the same contents that show nothing forbidden."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from starskip.advisor.run.artefact_rows import published
from starskip.advisor.run.expectations import Expectation, View, between, equal, in_set, none
from starskip.advisor.run.gate import Gate
from starskip.advisor.run.night import Night
from starskip.errors import SourceError
from starskip.night.select_indexes import chosen_columns
from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.page_links import DOCUMENTS
from starskip.settings import Settings
from starskip.storage.manifest import DataFile
from starskip.storage.snapshot import Snapshot

_LOADING = frozenset(
    ("src", "srcset", "srcdoc", "href", "xlink:href", "data", "poster", "background", "action")
)

_INERT = ("data:", "#")

_CSS_LOAD = re.compile(r"@import|url\(\s*['\"]?(?!data:|#)", re.IGNORECASE)


@dataclass(slots=True)
class PageFaults:
    """Numbers of elements of each kind in a page."""

    elements: int = 0
    scripts: int = 0
    event_handlers: int = 0
    loaded_links: int = 0


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.faults = PageFaults()
        self._is_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._is_style = tag == "style"
        self.faults.elements += 1
        self.faults.scripts += tag == "script"
        for name, value in attrs:
            text = (value or "").strip().lower()
            self.faults.event_handlers += name.startswith("on") or text.startswith("javascript:")
            is_loaded = name in _LOADING and not (tag == "a" and name == "href")
            self.faults.loaded_links += bool(is_loaded and text and not text.startswith(_INERT))
            self.faults.loaded_links += bool(name == "style" and _CSS_LOAD.search(text))
            self.faults.loaded_links += tag == "meta" and name == "http-equiv" and text == "refresh"

    def handle_data(self, data: str) -> None:
        if self._is_style:
            self.faults.loaded_links += len(_CSS_LOAD.findall(data))

    def handle_endtag(self, tag: str) -> None:  # noqa: ARG002
        self._is_style = False


_MOST_BYTES = 32 * 1024 * 1024
"""A report is bounded by its shapes and bins; a larger file is not read."""


def _views(night: Night, table: str) -> Mapping[str, View]:
    reports = published(night, "reports")
    files = reports.parts()[table].files
    evidence = _evidence(_content(reports, files, "report.json"))
    page = _content(reports, files, "report.html").decode("utf-8", "replace")
    faults = html_safety_checks(page) if page else PageFaults()
    advised = published(night, "recommendations").read_table([table]).to_pylist()
    wanted = {
        "table": table,
        "date": night.date_text,
        "columns": ", ".join(chosen_columns(advised)),
    }
    view: dict[str, Any] = {
        "is_evidence": evidence is not None,
        "elements": faults.elements,
        "scripts": faults.scripts,
        "event_handlers": faults.event_handlers,
        "loaded_links": faults.loaded_links,
        **{f"wanted_{name}": value for name, value in wanted.items()},
        # If a file is no evidence, one check that says so is enough.
        **wanted,
    }
    if evidence is not None:
        view |= {
            "table": evidence.table,
            "date": evidence.run_date.isoformat(),
            "columns": ", ".join(column for index in evidence.chosen for column in index.columns),
            "shows_literals": evidence.show_literals
            or any(s.full_text is not None for s in evidence.shapes.top),
        }
    names = [name for file in files for name in DOCUMENTS if file.file_name == name]
    view |= {"files": len(files), "kinds_of_files": len(set(names))}
    sizes = [{"file": file.file_name, "size_bytes": file.size_bytes} for file in files]
    return {"report": View([view]), "files": View(sizes, "file")}


def _content(reports: Snapshot, files: Sequence[DataFile], name: str) -> bytes:
    found = [file for file in files if file.file_name == name and file.size_bytes <= _MOST_BYTES]
    return reports.read_file(found[0]) if found else b""


def _evidence(content: bytes) -> Evidence | None:
    try:
        return evidence_from_json(content, "report.json")
    except SourceError:
        return None


def _expectations(settings: Settings) -> Sequence[Expectation]:
    return (
        between("report", "files", "report of {table}: files", len(DOCUMENTS), len(DOCUMENTS)),
        between(
            "report",
            "kinds_of_files",
            "report of {table}: JSON, Markdown and HTML",
            len(DOCUMENTS),
            len(DOCUMENTS),
        ),
        between("files", "size_bytes", "files of the report of {table}: bytes", 1, _MOST_BYTES),
        in_set("report", "is_evidence", "report.json of {table}: whether it reads back as evidence", [True]),
        equal("report", "table", "wanted_table", "report.json of {table}: its table", "the table"),
        equal("report", "date", "wanted_date", "report.json of {table}: its date", "the night's"),
        equal(
            "report",
            "columns",
            "wanted_columns",
            "report.json of {table}: chosen columns, and advised columns",
            "equal",
        ),
        *(
            ()
            if settings.reports.show_literals
            else (
                in_set(
                    "report", "shows_literals", "report.json of {table}: whether it shows literals", [False]
                ),
            )
        ),
        between("report", "elements", "report.html of {table}: elements", 1),
        none("report", "scripts", "report.html of {table}: scripts"),
        none("report", "event_handlers", "report.html of {table}: handlers of events"),
        none("report", "loaded_links", "report.html of {table}: links loaded from elsewhere"),
    )


REPORTS_GATE = Gate(_views, _expectations)


def html_safety_checks(html: str) -> PageFaults:
    """Return the faults of a page; a link that loads only after a click is none."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.faults
