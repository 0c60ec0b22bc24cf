"""Render the page of two nights of one table side by side."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from starskip.reports.compare_nights import compare_nights
from starskip.reports.evidence import Evidence
from starskip.reports.masked_evidence import masked_evidence
from starskip.reports.page_links import PageLinks
from starskip.reports.page_template import rendered_page


def render_compare(links: PageLinks, first: Evidence, second: Evidence, nights: Sequence[date]) -> str:
    """Return the page; ``nights``: the nights to choose from, newest first."""
    first, second = masked_evidence(first), masked_evidence(second)
    return rendered_page(
        "page_compare.html.j2",
        links=links,
        table=second.table,
        found=compare_nights(first, second),
        nights=sorted({*nights, first.run_date, second.run_date}, reverse=True),
    )
