"""Faults of a report page."""

from __future__ import annotations

import pytest
from starskip.reports.reports_gate import html_safety_checks

pytestmark = pytest.mark.quality


@pytest.mark.parametrize(
    "html, field",
    [
        ("<SCRIPT>1</SCRIPT>", "scripts"),
        ("<svg><script href='data:x'/></svg>", "scripts"),
        ("<p ONCLICK=x>", "event_handlers"),
        ("<a href=' JavaScript:x'>", "event_handlers"),
        ("<img src=http://example.org/a>", "loaded_links"),
        ("<img src=//example.org/a>", "loaded_links"),
        ("<img srcset='https://example.org/a 2x'>", "loaded_links"),
        ("<link rel=stylesheet href=a.css>", "loaded_links"),
        ("<svg><use xlink:href='https://example.org/a#b'/></svg>", "loaded_links"),
        ("<iframe srcdoc='<p>'>", "loaded_links"),
        ("<meta http-equiv=Refresh content='0;url=https://example.org'>", "loaded_links"),
        ("<style>@import 'a.css';</style>", "loaded_links"),
        ("<style>p { background: url( 'https://example.org/a' ) }</style>", "loaded_links"),
        ("<p style='background: url(a.png)'>", "loaded_links"),
    ],
)
def test_a_fault(html, field):
    faults = html_safety_checks(html)
    found = {n: getattr(faults, n) for n in ("scripts", "event_handlers", "loaded_links")}
    assert found == {**dict.fromkeys(found, 0), field: 1}


@pytest.mark.parametrize(
    "html",
    [
        "<a href='https://example.org'>a link to click</a>",
        "<img src='data:image/svg+xml;base64,AAAA'>",
        "<a href='#top'>up</a>",
        "<p>url(https://example.org) @import</p>",
        "<style>p { background: url(data:image/png;base64,AAAA) }</style>",
        "<p>&lt;script&gt;</p>",
    ],
)
def test_no_fault(html):
    faults = html_safety_checks(html)
    assert (faults.scripts, faults.event_handlers, faults.loaded_links) == (0, 0, 0)
    assert faults.elements >= 1
