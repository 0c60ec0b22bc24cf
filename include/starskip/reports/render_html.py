"""Render the report as one self-contained HTML page: no script, no request, charts as ``data:`` images."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from starskip.advisor.families.family_section import FamilySection
from starskip.reports.charts import (
    Chart,
    k_curve_chart,
    latency_chart,
    missing_pictures,
    pairs_chart,
    shapes_chart,
)
from starskip.reports.config_block import config_block, config_diff, whole_config_block
from starskip.reports.decision import decision
from starskip.reports.evidence import Evidence
from starskip.reports.family_sections import family_sections, rendered_sections
from starskip.reports.masked_evidence import masked_evidence
from starskip.reports.template_environment import compiled, template_environment, template_text

_BEFORE = (
    "section_change.html.j2",
    "section_shapes.html.j2",
    "section_applied.html.j2",
    "section_savings.html.j2",
    "section_past.html.j2",
)
_BEHIND = (
    "section_latency.html.j2",
    "section_refusals.html.j2",
    "section_data_quality.html.j2",
    "section_settings.html.j2",
)
"""Sections in the order of the page; the families' sections stand between them, in the families' order."""

_HEAD = re.compile(r'<section id="(?P<anchor>[a-z-]+)">\s*<h2>(?P<title>[A-Za-z ,?-]+)</h2>')

_OF_THE_LAKE = frozenset({"section_data_quality.html.j2", "section_settings.html.j2"})


def render_html(evidence: Evidence) -> str:
    """Return the page; safe to serve or to open from a file under ``content_security_policy``."""
    environment = _environment()
    evidence = masked_evidence(evidence)
    parts = {
        "evidence": evidence,
        **change_values(evidence),
        "charts": _charts(evidence),
    }

    def pages(names: Sequence[str]) -> list[str]:
        shown = [name for name in names if not evidence.lake_only or name in _OF_THE_LAKE]
        return [environment.get_template(name).render(parts) for name in shown]

    def of_family(section: FamilySection, values: Any) -> str:
        if evidence.lake_only and not section.is_of_lake:
            return ""
        return compiled(environment, section.html).render(
            evidence=evidence,
            section=values,
            kinds=section.kinds,
            chart=pairs_chart(section.picture(values)),
        )

    of_families = rendered_sections(evidence, of_family)
    sections = map(_section, [*pages(_BEFORE), *of_families, *pages(_BEHIND)])
    return environment.get_template("report.html.j2").render(
        evidence=evidence,
        sections=list(filter(None, sections)),
        family_figures=[
            figure
            for section, values in family_sections(evidence)
            for figure in section.figures(values, evidence.lake_only)
        ],
        decision=decision(evidence),
        # Our own file. A style element knows no entities, so the file must stay as it is, to the byte of its
        # hash.
        style=Markup(_style()),  # noqa: S704
        content_security_policy=content_security_policy(),
    )


def change_values(evidence: Evidence) -> dict[str, Any]:
    """Return what the template of the change of a table config shows, beside the evidence."""
    return {
        "config_diff": config_diff(evidence),
        "config_block": config_block(evidence),
        "whole_config": whole_config_block(evidence),
    }


@cache
def _environment() -> Environment:
    """Return the environment of all pages of this process, which keeps their compiled templates."""
    environment = template_environment(autoescape=True)
    environment.globals |= {"missing_pictures": missing_pictures}
    return environment


@dataclass(frozen=True, slots=True)
class _Section:
    """A rendered section with its anchor and title, and its ``body`` below the title."""

    anchor: str
    title: str
    html: Markup
    body: Markup


def _section(html: str) -> _Section | None:
    """Return a section of its own template, which begins with anchor and title; None if it is empty."""
    found, whole = _HEAD.search(html), html.strip()
    if not found:
        return None
    body = html[found.end() :].strip().removesuffix("</section>").strip()
    # It was escaped when it was rendered.
    return _Section(found["anchor"], found["title"], Markup(whole), Markup(body))  # noqa: S704


def content_security_policy() -> str:
    """Return the policy that the page carries; a server of the page can send the same one as a header."""
    digest = base64.b64encode(hashlib.sha256(_style().encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


def keeps_policy(page: bytes) -> bool:
    """Return whether a stored page carries today's policy; a page of another version has another style."""
    return str(escape(content_security_policy())).encode() in page[:4_000]


def _style() -> str:
    return template_text("report.css")


def _charts(evidence: Evidence) -> dict[str, Chart | None]:
    return {
        "k_curve": k_curve_chart(evidence),
        "shapes": shapes_chart(evidence),
        "latency": latency_chart(evidence),
    }
