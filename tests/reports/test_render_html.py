from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from report_cases import CASES
from starskip.reports.advice_values import ChosenAnswer
from starskip.reports.evidence import Evidence
from starskip.reports.render_html import content_security_policy, render_html
from starskip.reports.render_pages import report_sections
from starskip.reports.report_files import render_markdown


def test_policy_allows_the_style_of_the_page_and_nothing_else(evidence: Evidence) -> None:
    page = render_html(evidence)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    assert style is not None
    digest = base64.b64encode(hashlib.sha256(style[1].encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert content_security_policy() == policy
    assert policy.replace("'", "&#39;").replace("+", "+") in page


@pytest.mark.parametrize("case", CASES)
def test_every_picture_has_words_and_every_table_a_caption(
    cases: dict[str, Callable[[], Evidence]], case: str
) -> None:
    page = render_html(cases[case]())
    assert page.count("<table") == page.count("<caption")
    assert page.count("<img ") == len(re.findall(r'<img [^>]*alt="[^"]{40,}"', page))
    assert page.count("<h1>") == 1
    assert len(page) < 300_000


def test_the_decision_stands_first_and_the_evidence_is_folded(
    cases: dict[str, Callable[[], Evidence]],
) -> None:
    page = render_html(cases["milliseconds"]())
    assert re.findall(r"<h2>([^<]*)</h2>", page) == ["What to do", "Change of the table config", "Evidence"]
    folded = report_sections(page.encode())
    assert ("star-trees", "Star-trees") in folded
    assert [anchor for anchor, _ in folded] == re.findall(r'<div id="([a-z-]+)">', page)


def test_a_change_says_how_it_comes_into_force_and_can_be_copied_whole(
    cases: dict[str, Callable[[], Evidence]],
) -> None:
    page = render_html(cases["milliseconds"]())
    assert 'curl -X POST "http://CONTROLLER:9000/segments/lineitem/reload"' in html.unescape(page)
    (_, part, whole, _) = re.findall(r'<pre class="copy"[^>]*>(.*?)</pre>', page, flags=re.DOTALL)
    proposed = json.loads(html.unescape(part))["tableIndexConfig"]
    assert len(proposed["starTreeIndexConfigs"]) == 3
    assert proposed["enableDynamicStarTreeCreation"] is True
    assert json.loads(html.unescape(whole))["tableName"] == "lineitem_OFFLINE"
    assert "tableIndexConfig.streamConfigs.stream.kafka.password" in page


def test_refusals_and_settings_are_folded(cases: dict[str, Callable[[], Evidence]]) -> None:
    page = render_html(cases["lineitem"]())
    assert "<details open" not in page
    settings = page[page.index('id="settings"') :]
    assert settings.index("<details>") < settings.index("<table")


def test_sections_stand_in_their_order(cases: dict[str, Callable[[], Evidence]]) -> None:
    page = render_html(cases["milliseconds"]())
    sections = [
        "decision",
        "change",
        "figures",
        "shapes",
        "applied",
        "savings",
        "past",
        "star-trees",
        "skipping-indexes",
        "latency",
        "refusals",
        "data-quality",
        "settings",
    ]
    assert re.findall(r'<(?:section|div) id="([a-z-]+)"', page) == sections


def test_page_of_an_empty_log_has_no_empty_sections(cases: dict[str, Callable[[], Evidence]]) -> None:
    page = render_html(cases["empty_log"]())
    sections = re.findall(r'<(?:section|div) id="([a-z-]+)"', page)
    assert sections == ["latency", "refusals", "data-quality", "settings"]


def test_config_too_long_to_show_is_named_not_cut(evidence: Evidence) -> None:
    key = evidence.change.keys["invertedIndexColumns"]
    keys = {"invertedIndexColumns": replace(key, proposed=("x" * 1_000_000,))}
    page = render_html(replace(evidence, change=replace(evidence.change, keys=keys)))
    assert "too long to show" in page
    assert 'class="diff"' not in page and 'data-copy="Copy the changed keys' not in page


def test_full_text_only_where_the_settings_ask_for_it(cases: dict[str, Callable[[], Evidence]]) -> None:
    shown = cases["milliseconds"]()
    assert "4711" in render_html(shown)
    assert "4711" not in render_html(replace(shown, show_literals=False))


def test_a_saving_in_another_unit_stands_beside_its_share(evidence: Evidence) -> None:
    saving = {"unit": "segments", "amount": 3400.4, "entries_each": 10.0}
    answer = ChosenAnswer("spare", ("a",), 0.125, None, 2, saving=saving)
    page = render_html(replace(evidence, answers=(answer, replace(answer, saving=None))))
    cells = re.findall(r'data-label="saves of all entries">(.*?)</td>', page)
    assert [html.unescape(cell).replace("\u00a0", " ") for cell in cells] == [
        "12.5 % (3,400 segments)",
        "12.5 %",
    ]


def test_the_option_that_spares_a_harmed_shape_stands_beside_it(
    cases: dict[str, Callable[[], Evidence]],
) -> None:
    evidence = cases["lineitem"]()
    option = "SET skipIndexes='l_shipmode=inverted';"
    assert "reads less with" not in render_html(evidence)
    first, *others = evidence.shapes.top
    top = (replace(first, predicted_saving_ratio=-0.25, skip_option=option), *others)
    harmed = replace(evidence, shapes=replace(evidence.shapes, top=top))
    assert f"reads less with <code>{option}</code>" in html.unescape(render_html(harmed))
    assert f"read less with `{option}` before them" in render_markdown(harmed)


def test_notes_stand_behind_the_refusals(evidence: Evidence) -> None:
    noted = replace(evidence, notes=("all 7 queries with JSON_MATCH on js failed",))
    assert "<p>All 7 queries with JSON_MATCH on js failed.</p>" in render_html(noted)
    assert "\nAll 7 queries with JSON_MATCH on js failed.\n" in render_markdown(noted)
