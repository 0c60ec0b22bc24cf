from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, timedelta
from html.parser import HTMLParser
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.advisor.run.gate_verdicts import GateCheck
from starskip.reports.evidence import Evidence
from starskip.reports.overview import Fault, Overview, TableRow
from starskip.reports.overview_filter import OverviewFilter
from starskip.reports.page_links import PageLinks, is_page_name, page_name, table_of_page
from starskip.reports.render_overview import render_overview
from starskip.reports.render_pages import (
    Message,
    render_history,
    render_message,
    render_night,
    render_report_frame,
    render_table,
)
from starskip.reports.report_lists import ReportRow, RowPage
from starskip.reports.report_summary import report_summary
from starskip.reports.template_environment import page_content_security_policy
from starskip.reports.trend import TrendPoint
from starskip.storage.staged_write import file_safe

LINKS = PageLinks("/starskip")
DAY = date(2026, 11, 20)
PAYLOADS = (
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "' autofocus onfocus=alert(1) x='",
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt;\u202e\u0000\x1b[2J\ud800",
    "http://elsewhere.example/x.png",
    "<" * 5_000,
)


TABLES = st.one_of(st.text(max_size=200), st.text("ab.-_/%é<", max_size=6), st.text().map(file_safe))


class Parsed(HTMLParser):
    """Tags, attributes that lead somewhere, and attributes that run something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.places: list[str] = []
        self.running: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "srcset", "action", "data", "formaction"):
                self.places.append(value or "")
            if name.startswith("on") or name == "style":
                self.running.append(name)


def pages_of(text: str, evidence: Evidence) -> dict[str, str]:
    """Every page with ``text`` in every place that text from outside can reach."""
    poisoned = replace(
        evidence,
        table=text,
        chosen=tuple(replace(each, columns=(text, text)) for each in evidence.chosen),
        actions=tuple(replace(each, columns=(text, text), functions=(text,)) for each in evidence.actions),
    )
    checks = (GateCheck(text, text, False, text, text),) * 2
    rows = (
        ReportRow(DAY, text, report_summary(poisoned), stopped=checks),
        ReportRow(DAY, text, problem=text),
        ReportRow(date(2026, 11, 19), text, report_summary(replace(poisoned, chosen=poisoned.chosen[:1]))),
        ReportRow(date(2026, 11, 18), "", problem=text),
        ReportRow(date(2026, 11, 17), "", failed=text),
    )
    page, tables = RowPage(rows, DAY, "x"), overview_of(text, poisoned)
    return {
        "overview": render_overview(LINKS, tables, OverviewFilter(), dags=[(text, "/starskip/x")]),
        "filtered": render_overview(LINKS, tables, OverviewFilter(text, text, text)),
        "night": render_night(LINKS, DAY, page, like=text, older=DAY),
        "no table": render_night(LINKS, DAY, RowPage(()), like=text),
        "history": render_history(LINKS, text, page, is_newest=False),
        "report": render_report_frame(LINKS, text, DAY),
        "table": render_table(LINKS, poisoned, b"", DAY, DAY, rows=rows),
        "message": render_message(LINKS, Message("Title", text, (text,))),
    }


def overview_of(text: str, poisoned: Evidence) -> Overview:
    """An overview with ``text`` in every place; more faults than are shown."""
    summary = report_summary(poisoned)
    trend = (TrendPoint(DAY - timedelta(days=1), 0.5), TrendPoint(DAY, 0.6))
    row = TableRow(text, summary, "stopped", text, {"open": 1}, 1, (-0.1, 2), trend, 60.0)
    lake = replace(row, advice=replace(summary, lake_only=True, lake_ratio=0.4, lake_bytes=4e9))
    nothing = replace(row, advice=replace(summary, indexes=()), outcome="reported")
    unknown = TableRow(text, None, "failed", text)
    faults = (Fault("night", text), Fault("unreadable", text), *(Fault("stopped", text, text),) * 8)
    return Overview((DAY,), faults, "entries", (row,), (lake,), (nothing, unknown))


@pytest.mark.parametrize("payload", PAYLOADS, ids=range(len(PAYLOADS)))
def test_text_from_outside_changes_no_structure(payload: str, evidence: Evidence) -> None:
    harmless = pages_of("plain", evidence)
    for name, page in pages_of(payload, evidence).items():
        page.encode()
        found, expected = Parsed(page), Parsed(harmless[name])
        assert found.tags == expected.tags, name
        assert found.running == []
        assert all(place.startswith("/starskip/") for place in found.places), found.places
        assert found.tags.count("script") == 1
        assert "\x1b" not in page and "\u202e" not in page
        assert "49" not in re.findall(r"<code>(\d+)</code>", page)


def test_the_page_of_a_table_says_how_old_its_advice_is_and_which_keys_change(evidence: Evidence) -> None:
    for days, words in ((1, []), (9, ["9 days ago"])):
        page = render_table(LINKS, evidence, b"", None, None, today=evidence.run_date + timedelta(days=days))
        assert re.findall(r"\d+ days ago", page) == words
    assert "What changes: <code>invertedIndexColumns</code>" in page
    assert page.index("Let Starskip do it") < page.index("Or do it yourself") < page.index("2. Reload")


def test_the_only_frame_is_the_report_and_may_do_nothing(evidence: Evidence) -> None:
    for name, page in pages_of("lineitem", evidence).items():
        frames = re.findall(r"<iframe[^>]*>", page)
        assert len(frames) == (name == "report")
        for frame in frames:
            assert 'src="/starskip/tables/lineitem/2026-11-20/report.html"' in frame
            # Its own origin lets our page tell it the colours; without allow-scripts nothing in it runs.
            assert 'sandbox="allow-same-origin"' in frame


def test_the_style_is_the_one_that_the_policy_allows(evidence: Evidence) -> None:
    (allowed,) = re.findall(r"style-src 'sha256-([^']+)'", page_content_security_policy())
    for page in pages_of("lineitem", evidence).values():
        (style,) = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() == allowed
    assert "unsafe" not in page_content_security_policy()


def test_the_script_is_the_one_that_the_policy_allows_and_holds_no_text_from_outside(
    evidence: Evidence,
) -> None:
    (allowed,) = re.findall(r"script-src 'sha256-([^']+)'", page_content_security_policy())
    for page in pages_of("</script>", evidence).values():
        (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() == allowed


def test_a_list_says_what_star_trees_and_skipping_indexes_bring(
    cases: dict[str, Callable[[], Evidence]],
) -> None:
    row = ReportRow(DAY, "lineitem", report_summary(cases["milliseconds"]()))
    sentences = (
        "Add 2 star-trees, on l_returnflag, l_linestatus, l_shipmode, l_shipdate; on l_shipdate, l_suppkey: "
        "they save 14 % of all entries scanned, in filters and behind them. "
        "4 skipping indexes let Spark queries read 62 % fewer bytes."
    )
    for page in (
        render_night(LINKS, DAY, RowPage((row,))),
        render_history(LINKS, "lineitem", RowPage((row,))),
    ):
        assert f'<span class="by">{sentences}</span>' in page


def test_a_night_leads_to_its_other_tables_and_to_the_nights_beside_it(evidence: Evidence) -> None:
    page = RowPage((ReportRow(DAY, "lineitem", report_summary(evidence)),), DAY, "lineitem")
    shown = render_night(LINKS, DAY, page, like="i", older=date(2026, 11, 19), newer=date(2026, 11, 21))
    assert 'href="/starskip/nights/2026-11-20?like=i&amp;after=lineitem"' in shown
    assert 'href="/starskip/nights/2026-11-19?like=i"' in shown
    assert 'href="/starskip/nights/2026-11-21?like=i"' in shown


def test_a_list_says_why_a_table_has_no_report_or_an_old_one(
    cases: dict[str, Callable[[], Evidence]],
) -> None:
    checks = (GateCheck("parse_query_logs", "few rejected", False, "41 %", "at most 5 %"),)
    rows = (
        ReportRow(DAY, "a", stopped=checks),
        ReportRow(DAY, "b", report_summary(cases["lineitem"]()), stopped=checks),
        ReportRow(DAY, "c", report_summary(cases["nothing_to_recommend"]())),
        ReportRow(DAY, "d", problem="its report.json is missing"),
        ReportRow(DAY, "e", report_summary(cases["lineitem"]()), stopped=checks, is_reported_still=True),
    )
    page = render_night(LINKS, DAY, RowPage(rows))
    assert page.count("few rejected, found 41 %, expected at most 5 %") == 3
    assert (page.count("Stopped by</b> the quality check"), page.count("Failed</b> the quality check")) == (
        2,
        1,
    )
    assert page.count("The report is from an earlier run of this night") == 1
    assert "No change for" in page
    assert "its report.json is missing" in page


def test_a_history_says_which_star_trees_and_skipping_indexes_came(
    cases: dict[str, Callable[[], Evidence]],
) -> None:
    night = cases["milliseconds"]()
    assert night.skipping is not None
    others = [each for each in night.actions if each.columns != ("l_shipdate", "l_suppkey")]
    index = replace(night.skipping, chosen=night.skipping.chosen[:-1])
    nights = (night, replace(night, actions=tuple(others)), replace(night, skipping=index), night)
    rows = tuple(
        ReportRow(date(2026, 11, 20 - age), "t", report_summary(each)) for age, each in enumerate(nights)
    )
    page = render_history(LINKS, "t", RowPage(rows))
    cells = re.findall(r'<td class="changes">(.*?)</td>', page, re.DOTALL)
    words = [" ".join(re.sub(r"<[^>]+>", " ", cell).split()) for cell in cells]
    assert words[0].startswith("+ star-tree l_shipdate")
    assert words[1].startswith("+ ")
    assert " skipping " in words[1]
    assert "− star-tree l_shipdate" in words[1]
    assert words[2].startswith("− ")
    assert " skipping " in words[2]


def test_a_history_says_what_joined_and_what_left(evidence: Evidence) -> None:
    newer = replace(evidence, actions=evidence.actions[:1])
    older = replace(evidence, actions=evidence.actions[1:2])
    rows = (
        ReportRow(DAY, "t", report_summary(newer)),
        ReportRow(date(2026, 11, 19), "t", stopped=(GateCheck("s", "c", False, "o", "e"),)),
        ReportRow(date(2026, 11, 18), "t", report_summary(older)),
        ReportRow(date(2026, 11, 17), "t", report_summary(older)),
    )
    changes = re.findall(
        r'<td class="changes">(.*?)</td>', render_history(LINKS, "t", RowPage(rows)), re.DOTALL
    )
    plain = [" ".join(re.sub("<[^>]+>", " ", change).split()) for change in changes]
    assert plain == ["+ l_suppkey − l_shipmode", "", "same", ""]


def test_a_failed_night_and_the_days_without_a_run_are_told() -> None:
    failed = ReportRow(DAY, "", failed="parse_query_logs failed: no log of 2026-11-20 <b>")
    other = ReportRow(date(2026, 11, 16), "t")
    gaps = ((date(2026, 11, 17), date(2026, 11, 19)), (date(2026, 11, 15), date(2026, 11, 15)))
    page = render_history(LINKS, "t", RowPage((failed, other), None, gaps=gaps))
    told = [
        "The night failed:",
        "no log of 2026-11-20 &lt;b&gt;",
        "No run from 2026-11-17 to 2026-11-19, 3 days.",
        "No run on 2026-11-15.",
    ]
    places = [page.index(each) for each in told]
    assert places == sorted(places)
    assert "Unreadable" not in page


def test_chips_count_columns_and_no_functions(cases: dict[str, Callable[[], Evidence]]) -> None:
    row = ReportRow(DAY, "lineitem", report_summary(cases["milliseconds"]()))
    page = render_night(LINKS, DAY, RowPage((row,)))
    (chip,) = re.findall(r'<span class="chip other">(?:(?!</span>).)*l_suppkey</code> .*?</span>', page)
    words = " ".join(re.sub("<[^>]+>", " ", chip).split())
    assert words == "star-tree l_shipdate , l_suppkey 1 function"


@given(TABLES)
def test_any_table_has_a_page_name_that_is_one_plain_path_segment(table: str) -> None:
    name = page_name(table)
    assert is_page_name(name)
    assert quote(name, safe="") == name
    assert name not in (".", "..")
    assert page_name(table) == name


@given(TABLES, TABLES)
def test_two_tables_never_share_a_page(one: str, other: str) -> None:
    assert (page_name(one) == page_name(other)) == (one == other)


def test_a_table_that_is_called_like_the_page_of_another_has_a_page_of_its_own() -> None:
    odd = "a/b"
    imitation = page_name(odd)
    assert page_name(imitation) != imitation
    assert table_of_page(page_name(odd), [imitation, odd]) == odd


def test_plain_names_stand_in_addresses_as_they_are() -> None:
    links = PageLinks("/airflow/starskip")
    assert links.report("lineitem", "2026-11-20") == "/airflow/starskip/tables/lineitem/2026-11-20"
    assert links.document("db.orders", "2026-11-20", "report.md").endswith("/db.orders/2026-11-20/report.md")
    assert links.index() == "/airflow/starskip/"


@given(st.text(max_size=300).filter(lambda text: text.isprintable()))
def test_a_filter_stays_within_the_query(like: str) -> None:
    parts = urlsplit(PageLinks("/starskip").night("2026-11-20", like=like))
    assert (parts.scheme, parts.netloc, parts.path, parts.fragment) == (
        "",
        "",
        "/starskip/nights/2026-11-20",
        "",
    )


def test_texts_that_no_page_is_called() -> None:
    for text in ("", ".", "..", "../x", "a/b", "a b", "<script>", "-x", "x" * 200, "a\n", "é"):
        assert not is_page_name(text)
