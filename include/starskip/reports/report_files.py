"""Render a report to its files: JSON, Markdown and HTML."""

from __future__ import annotations

from collections.abc import Mapping

from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import evidence_to_json
from starskip.reports.masked_evidence import masked_evidence
from starskip.reports.render_html import render_html
from starskip.reports.render_markdown import render_markdown


def render_json(evidence: Evidence) -> str:
    """Return the report as one ASCII JSON document."""
    return evidence_to_json(masked_evidence(evidence))


def report_files(evidence: Evidence) -> Mapping[str, bytes]:
    """Return file name to content, UTF-8: report.json, report.md, report.html."""
    return {
        "report.json": render_json(evidence).encode(),
        "report.md": render_markdown(evidence).encode(),
        "report.html": render_html(evidence).encode(),
    }
