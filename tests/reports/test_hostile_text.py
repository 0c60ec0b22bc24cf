"""Text that an attacker writes into logs, tars and configs, in every field, through all renderers."""
# ruff: noqa: E501, SIM905 - the corpus and the elements are lists to be read at a glance

from __future__ import annotations

import base64
import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, date, datetime
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pytest
from charts_drawn_once import charts_drawn_once
from markdown_it import MarkdownIt
from starskip.advisor.families.skipping.report.section import skipping_picture
from starskip.advisor.families.skipping.report.section_data import EvaluatedQueries
from starskip.advisor.families.star_tree.report.section import star_tree_picture
from starskip.errors import printable
from starskip.reports.charts import pairs_chart, shapes_chart
from starskip.reports.evidence import Evidence
from starskip.reports.masked_evidence import masked_evidence
from starskip.reports.overview import Fault, Overview, TableRow
from starskip.reports.overview_files import overview_csv, overview_json
from starskip.reports.overview_filter import OverviewFilter
from starskip.reports.page_links import PageLinks
from starskip.reports.render_html import render_html
from starskip.reports.render_overview import render_overview
from starskip.reports.report_files import render_json, render_markdown, report_files
from starskip.reports.report_summary import ReportSummary, SummaryIndex

DAY, NOW = date(2026, 11, 18), datetime(2026, 11, 19, tzinfo=UTC)
EVENTS = ("onload", "onerror", "onclick", "onmouseover", "onfocus", "ontoggle", "onbegin", "onpointerenter")
ELEMENTS = (
    "script",
    "iframe",
    "object",
    "embed",
    "link",
    "meta",
    "base",
    "form",
    "svg",
    "math",
    "style",
    "template",
)
SCHEMES = (
    "javascript",
    "vbscript",
    "data",
    "http",
    "https",
    "file",
    "JaVaScRiPt",
    "java\tscript",
    "\x01javascript",
)
PAYLOADS = (
    *(f'"><img src=x {event}=alert(1)>' for event in EVENTS),
    *(f"' autofocus {event}='alert(1)" for event in EVENTS),
    *(f"<{element} src=//evil.example/x>alert(1)</{element}>" for element in ELEMENTS),
    *(f"</{element}><b>" for element in (*ELEMENTS, "title", "code", "pre", "td", "table", "section", "details")),
    *(f"[x]({scheme}:alert(1))" for scheme in SCHEMES),
    *(f"![x]({scheme}://evil.example/x)" for scheme in SCHEMES),
    *(f"<{scheme}://evil.example/>" for scheme in SCHEMES),
    *(prefix + "cmd|' /C calc'!A0" for prefix in "=+-@\t\r"),
    *("\x1b" + tail for tail in ("[31m", "[2J", "]0;owned\x07", "]8;;http://evil.example\x07x", "P", "[?1049h")),
    "\r\nSet-Cookie: a=b", "\n2026/11/18 INFO forged", "\n\n# forged", "\n```\n<script>alert(1)</script>",
    "x\n| a | b |\n|---|---|", "|", "||||", "\\|", "\\", "`", "``", "```", "~~~", "` <b> `", "\\`<b>\\`", "a | b",
    "http://evil.example", "https://evil.example/?q=1", "www.evil.example", "mail@evil.example", "//evil.example",
    "[x]: http://evil.example", "[^1]", "<!--", "-->", "<![CDATA[", "]]>", "<?xml?>", "&lt;b&gt;", "&#60;b&#62;",
    "{{ 7*7 }}", "{% raw %}", "{{ self.__init__ }}", "${7*7}", "#{7*7}", "{# x", "%s%n", "%(name)s", "{0.__class__}",
    "url(http://evil.example)", "*/ body{display:none} /*", "expression(alert(1))", "@import '//evil.example'",
    "\u202egnp.exe", "\u2028\u2029", "\ufeff", "\u200b\u200d", "\x00", "\x7f\x80\x9b31m", "\ud800", "a\u0300" * 90,
    "**bold**", "_em_", "# head", "> quote", "- item", "1. item", "---", "<b", "<", "&", '"', "'", "", " ", "\t",
    "{\"mark\": \"bar\"}", "datum.x; alert(1)", "format(1e999)", "../../etc/passwd", "javascript:alert(1)//",
    "</style><script>alert(1)</script>", "' UNION SELECT", "x' style='position:fixed", "NaN", "null", "漢字", "🚀",
)  # fmt: skip
ALLOWED = frozenset(
    "html head meta title style body header nav main footer section h1 h2 h3 p b i code pre a dl div dt dd time ul li "
    "table caption thead tbody tr th td figure figcaption picture source img span details summary svg rect br".split()
)


def test_corpus_is_large_enough() -> None:
    assert len(set(PAYLOADS)) >= 140


def poisoned(value: Any, payload: str) -> Any:
    """Return the evidence with ``payload`` in every text that may come from outside."""
    if isinstance(value, str):
        return payload
    if isinstance(value, Mapping):
        return dict.fromkeys([payload], *(poisoned(each, payload) for each in list(value.values())[:1]))
    if isinstance(value, tuple):
        return tuple(poisoned(each, payload) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        ours = {"unit", "workload"}
        changes = {
            f.name: poisoned(getattr(value, f.name), payload) for f in fields(value) if f.name not in ours
        }
        for name in {"reason", "drift", "drops_withheld", "run_note"} & changes.keys():
            # Without a text a line is left out.
            changes[name] = changes[name] if changes[name].strip() else "x"
        return replace(value, **changes)
    return value


@pytest.fixture(scope="module", autouse=True)
def _charts() -> Iterator[None]:
    # A chart without text from outside is the same for each payload.
    with charts_drawn_once():
        yield


@pytest.fixture(scope="module")
def plain(cases: dict[str, Callable[[], Evidence]]) -> Evidence:
    """A night with something in every field, light enough to be drawn two hundred times."""
    evidence = cases["milliseconds"]()
    shapes = tuple(
        replace(each, entries_scanned_in_filter=0, entries_a_query=0.0) for each in evidence.shapes.top[:2]
    )
    quality = replace(evidence.data_quality, wrapped={"json:log": 1})
    gates = (*quality.gates[:1], replace(quality.gates[0], success=False))
    assert evidence.star_trees is not None
    proved = tuple(replace(each, rows_read_by_scan=None) for each in evidence.star_trees.proved)
    assert evidence.skipping is not None
    indexes = evidence.skipping
    skipping = replace(
        indexes,
        chosen=indexes.chosen[-2:],
        refused=indexes.refused[:1],
        shapes=(indexes.shapes[0], indexes.shapes[-1]),
        replayed=(replace(indexes.replayed[-1], plain_files_read=1.0),),
        evaluated=EvaluatedQueries(1, 1, 1, 1),
        note="no",
        build_note="no",
    )
    return replace(
        evidence,
        star_trees=replace(evidence.star_trees, note="no", proved=proved),
        skipping=skipping,
        settings=evidence.settings[:2],
        k_curve=replace(evidence.k_curve, points=evidence.k_curve.points[:1]),
        shapes=replace(evidence.shapes, top=shapes),
        latency=replace(evidence.latency, accepted=False, reason="no", bins=()),
        refused=evidence.refused[:2],
        data_quality=replace(quality, gates=gates),
    )


@dataclass(frozen=True)
class Frame:
    """Rendering of harmless text: elements of the page, of the Markdown, and its lines."""

    page: list[str]
    markdown: list[str]
    lines: int


@pytest.fixture(scope="module")
def harmless(plain: Evidence) -> Frame:
    evidence = poisoned(plain, "x")
    markdown = render_markdown(evidence)
    return Frame(Page(render_html(evidence)).frame, markdown_tags(markdown), markdown.count("\n"))


class Page(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.pictures: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ALLOWED, tag
        self.tags.append(tag)
        for name, value in attrs:
            assert not name.startswith("on") and name not in ("style", "action", "srcdoc"), (name, value)
            if name == "href":
                assert value is not None and re.fullmatch("#[a-z-]+", value), value
            if name in ("src", "srcset"):
                assert value is not None and value.startswith("data:image/svg+xml;base64,"), value
                self.pictures.append(base64.b64decode(value.split(",", 1)[1]).decode())
            if name == "http-equiv":
                assert value == "Content-Security-Policy"

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data: str) -> None:
        raise AssertionError(f"an instruction: {data}")

    @property
    def frame(self) -> list[str]:
        """The elements without code, which stands where text needs it."""
        return [tag for tag in self.tags if tag != "code"]


def check_picture(svg: str) -> None:
    for element in ElementTree.fromstring(svg).iter():
        assert element.tag.split("}")[1] not in (
            "script",
            "foreignObject",
            "image",
            "use",
            "a",
            "animate",
            "set",
        )
        for name in element.attrib:
            assert not name.startswith("on") and "href" not in name, name
    assert svg.count("<style>") == 1


def check_text(text: str) -> None:
    hidden = sorted(c for c in set(text) if not c.isprintable() and c not in "\n\u00a0")
    assert not hidden, hidden
    text.encode()


def markdown_tags(text: str) -> list[str]:
    page = Page(MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
                .replace("<em>", "<i>").replace("<strong>", "<b>").replace(' style="text-align:right"', "")
                .replace(' class="language-json"', ""))  # fmt: skip
    return page.frame


def outside_code(markdown: str) -> str:
    return re.sub(r"`[^`\n]*`", "", re.sub(r"```json\n.*?\n```\n", "", markdown, flags=re.DOTALL))


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_payload_in_every_field_changes_no_structure(plain: Evidence, harmless: Frame, payload: str) -> None:
    hostile = poisoned(plain, payload)

    page = render_html(hostile)
    check_text(page)
    parsed = Page(page)
    assert parsed.frame == harmless.page
    for picture in parsed.pictures:
        check_picture(picture)

    markdown = render_markdown(hostile)
    check_text(markdown)
    assert markdown_tags(markdown) == harmless.markdown
    assert markdown.count("\n") == harmless.lines
    rest = outside_code(markdown)
    assert not re.search(r"[<`&]|\]\(|https?:|www\.|@|\$", rest), rest

    document = render_json(hostile)
    assert document.isascii()
    assert not set("<>&`\x7f") & set(document)
    assert json.loads(document)["table"] == payload


def _tags(page: str) -> list[str]:
    return re.findall(r"<(/?[a-z0-9]+)", page)


@pytest.mark.parametrize("payload", sorted(filter(None, PAYLOADS)))
def test_payloads_in_the_overview_and_its_files(payload: str) -> None:
    pages = []
    for name in ("plain", payload):
        index = SummaryIndex("inverted", (name,), name, (name,))
        advice = ReportSummary(name, DAY, NOW, name, 1, indexes=(index,), beside=name)
        row = TableRow(name, advice, "failed", name, {"open": 1})
        without = TableRow(name, None, "unreadable", name)
        found = Overview((DAY,), (Fault("failed", name, name),), "entries", (row,), (), (without,))
        pages.append(render_overview(PageLinks("/starskip"), found, OverviewFilter()))
        cells = [
            each for row in csv.reader(io.StringIO(overview_csv(found).decode("utf-8-sig"))) for each in row
        ]
        assert not any(each.lstrip().startswith(("=", "+", "-", "@")) for each in cells)
        assert [each["table"] for each in json.loads(overview_json(found))["tables"]] == [
            printable(name, 1_000)
        ] * 2
    assert _tags(pages[0]) == _tags(pages[1])


def test_payloads_as_labels_of_bars(plain: Evidence) -> None:
    template = replace(plain.shapes.top[0], entries_a_query=1_000.0)
    for start in range(0, len(PAYLOADS), 15):
        texts = PAYLOADS[start : start + 15]
        shapes = tuple(replace(template, masked_text=f"SELECT a FROM t WHERE {each}") for each in texts)
        evidence = masked_evidence(replace(plain, shapes=replace(plain.shapes, top=shapes)))
        chart = shapes_chart(evidence)
        assert chart is not None
        check_picture(chart.wide_svg)
        check_text(chart.wide_svg)
        assert chart.wide_svg.count('"mark-rect') + chart.wide_svg.count(" mark-rect") >= 2


def test_payloads_as_labels_of_the_star_tree_chart(plain: Evidence) -> None:
    trees = plain.star_trees
    assert trees is not None
    template = replace(trees.proved[0], rows_read_by_scan=1_000.0, rows_read_from_tree=0.0)
    for start in range(0, len(PAYLOADS), 15):
        proved = tuple(replace(template, masked_text=each) for each in PAYLOADS[start : start + 15])
        evidence = masked_evidence(replace(plain, star_trees=replace(trees, proved=proved)))
        chart = pairs_chart(star_tree_picture(evidence.star_trees))
        assert chart is not None
        check_picture(chart.wide_svg)
        check_text(chart.wide_svg)


def test_payloads_as_labels_of_the_skipping_chart(plain: Evidence) -> None:
    skipping = plain.skipping
    assert skipping is not None
    template = replace(skipping.replayed[0], plain_bytes_read=1e9, skipping_bytes_read=0.0)
    for start in range(0, len(PAYLOADS), 15):
        replayed = tuple(replace(template, condition=each) for each in PAYLOADS[start : start + 15])
        evidence = masked_evidence(replace(plain, skipping=replace(skipping, replayed=replayed)))
        chart = pairs_chart(skipping_picture(evidence.skipping))
        assert chart is not None
        check_picture(chart.wide_svg)
        check_text(chart.wide_svg)


@pytest.mark.slow
def test_megabyte_in_every_field_stays_a_page(plain: Evidence) -> None:
    for letter in "x<`|\n\x1b'漢":
        hostile = poisoned(plain, letter * 1_000_000)
        assert len(render_html(hostile)) < 300_000
        assert len(render_markdown(hostile)) < 90_000


def test_ten_thousand_refusals_stay_a_page(plain: Evidence) -> None:
    refused = tuple(replace(plain.refused[0], columns=(f"column_{i}",)) for i in range(10_000))
    hostile = replace(plain, refused=refused)
    assert "9,950 more" in render_html(hostile)
    assert "9,990 more" in render_markdown(hostile)
    assert len(json.loads(render_json(hostile))["refused"]) == 10_000


SECRETS = (
    "Zaphod",
    "4711",
    "0.0815",
    "O'Secret",
    "tok-en",
    "1999-12-31",
    "naïve東京",
    "semi;colon",
    "0xBEEF",
)
QUERIES = (
    "SELECT a FROM t WHERE name = 'Zaphod' AND id = 4711 OR x > 0.0815",
    "SELECT a FROM t WHERE name = 'O''Secret' AND b IN ('tok-en', 4711, -4711)",
    r"SELECT a FROM t WHERE name = 'O\'Secret' AND b = 'tok-en'",
    "SELECT a /* Zaphod */ FROM t -- tok-en\nWHERE d BETWEEN '1999-12-31' AND '1999-12-31'",
    "SELECT a FROM t WHERE c = 'naïve東京' AND d = 'semi;colon' AND e = 0xBEEF LIMIT 4711",
    "SELECT a FROM t WHERE c = 'never closed Zaphod tok-en",
    "not even SQL 'Zaphod' 4711 \"tok-en",
)


def test_no_literal_of_the_log_in_any_byte(cases: dict[str, Callable[[], Evidence]]) -> None:
    evidence = replace(cases["milliseconds"](), show_literals=False)
    shapes = tuple(
        replace(shape, masked_text=text, full_text=text)
        for shape, text in zip(evidence.shapes.top, QUERIES[:-1], strict=False)
    )
    example = evidence.data_quality.rejected_examples[0]
    quality = replace(
        evidence.data_quality, rejected_examples=tuple(replace(example, masked_text=text) for text in QUERIES)
    )
    trees = evidence.star_trees
    assert trees is not None
    answered = tuple(replace(trees.chosen[0].shapes[0], masked_text=text) for text in QUERIES[:-1])
    proved = tuple(replace(trees.proved[0], masked_text=text) for text in QUERIES[:-1])
    trees = replace(trees, chosen=(replace(trees.chosen[0], shapes=answered),), proved=proved)
    skipping = evidence.skipping
    assert skipping is not None
    skipping = replace(
        skipping,
        shapes=tuple(replace(skipping.shapes[0], condition=text) for text in QUERIES[:-1]),
        replayed=tuple(replace(skipping.replayed[0], condition=text) for text in QUERIES[:-1]),
    )
    evidence = replace(evidence, star_trees=trees, skipping=skipping)
    evidence = replace(evidence, shapes=replace(evidence.shapes, top=shapes), data_quality=quality)
    for name, content in report_files(evidence).items():
        text = content.decode()
        pictures = re.findall(r"base64,([A-Za-z0-9+/=]+)", text)
        for each in (text, json.dumps(text), *(base64.b64decode(picture).decode() for picture in pictures)):
            found = [secret for secret in SECRETS if secret in each]
            assert not found, (name, found)
