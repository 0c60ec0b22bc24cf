"""The files of one report."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.reports.evidence import Evidence
from starskip.reports.render_html import render_html
from starskip.reports.render_json import render_json
from starskip.reports.render_markdown import render_markdown


def report_files(evidence: Evidence) -> Mapping[str, bytes]:
    """Return file name to content, UTF-8: report.json, report.md, report.html."""
    return {
        "report.json": render_json(evidence).encode(),
        "report.md": render_markdown(evidence).encode(),
        "report.html": render_html(evidence).encode(),
    }
