"""Section on skipping indexes where something is missing, wrong or too much."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape

import pytest
from starskip.advisor.families.skipping.report.section_data import (
    MAX_REFUSED_INDEXES,
    MAX_SKIPPED_SHAPES,
    ChosenSkippingIndex,
    EvaluatedQueries,
    RefusedSkippingIndex,
    SkippingIndexes,
)
from starskip.reports.evidence import Evidence
from starskip.reports.masked_evidence import masked_evidence
from starskip.reports.render_html import render_html
from starskip.reports.report_files import render_json, render_markdown
from starskip.reports.report_summary import report_summary

Texts = Callable[..., tuple[str, str]]


@pytest.fixture
def evidence(cases: dict[str, Callable[[], Evidence]]) -> Evidence:
    """A night without pictures, which take long to draw."""
    full = cases["lineitem"]()
    return replace(
        full,
        k_curve=replace(full.k_curve, points=()),
        shapes=replace(full.shapes, top=()),
        latency=replace(full.latency, bins=()),
    )


@pytest.fixture
def indexes(cases: dict[str, Callable[[], Evidence]]) -> SkippingIndexes:
    skipping = cases["milliseconds"]().skipping
    assert skipping is not None
    return skipping


@pytest.fixture
def texts(evidence: Evidence) -> Texts:
    """The section as words and the Markdown's part, of the given skipping indexes."""

    def of(skipping: SkippingIndexes) -> tuple[str, str]:
        night = replace(evidence, skipping=skipping)
        section = re.search(
            r'<div id="skipping-indexes">(.*?)</div></details>', render_html(night), re.DOTALL
        )
        part = re.search(r"## Skipping indexes\n(.*?)\n## ", render_markdown(night), re.DOTALL)
        assert section is not None and part is not None
        words = unescape(re.sub("<[^>]+>", " ", section[1])).split()
        return " ".join(words), part[1]

    return of


def test_a_night_without_skipping_has_no_such_section(evidence: Evidence) -> None:
    assert evidence.skipping is None
    assert "kipping" not in render_html(evidence)
    assert "kipping" not in render_markdown(evidence)


def test_all_of_it_may_be_unknown(texts: Texts) -> None:
    section, part = texts(SkippingIndexes())
    assert section == ""
    assert part.strip() == ""


def test_a_chosen_index_of_which_nothing_is_known_yet(texts: Texts) -> None:
    chosen = ChosenSkippingIndex("minmax:a", "minmax", ("a",), "not_built")
    section, part = texts(SkippingIndexes((chosen,), total_bytes=5e9, saving_ratio=0.25))
    assert "Spark queries read 5 GB of the lake table" in section
    assert "they would read 25.0 % less" in section
    assert "1 minmax:a least and greatest value of a – – unknown – – Not built" in section
    assert "| Not built |" in part and "– of –" not in part


def test_rows_lost_are_an_alarm(texts: Texts, indexes: SkippingIndexes, evidence: Evidence) -> None:
    lost = replace(indexes.shapes[0], verdict="rows_lost", detail="file part-1", factors=None)
    skipping = replace(indexes, evaluated=EvaluatedQueries(1, 0, 2, 0), shapes=(lost,), layout=None)
    section, part = texts(skipping)
    assert "Rows lost by 2 queries: a file with a matching row would have been left out." in section
    assert "Rows lost : file part-1" in section
    assert "**Rows lost** by 2 queries" in part
    assert render_html(replace(evidence, skipping=skipping)).count('<p class="alarm">') == 1


def test_the_layout_notice_is_an_alarm_and_a_sentence(texts: Texts, indexes: SkippingIndexes) -> None:
    section, part = texts(indexes)
    assert (
        "The layout stands in the way. Layout, not metadata, is the problem of 33 of 196 queries" in section
    )
    assert "files sorted by l_suppkey would leave 4.2% to read." in section
    assert "**The layout stands in the way.** Layout, not metadata" in part


def test_indexes_beside_the_choice_are_told(texts: Texts, indexes: SkippingIndexes) -> None:
    section, part = texts(indexes)
    assert "nulls:l_receiptdate : By hand; 64 of 64 files known; size 3.98 kB" in section
    assert "valuelist:l_returnflag : Deleted, tonight's choice is without it" in section
    assert "- Not chosen `nulls:l_receiptdate`: By hand; size 3.98 kB" in part


def test_reasons_for_nothing_are_sentences(texts: Texts) -> None:
    section, part = texts(SkippingIndexes(note="no lake table is configured", build_note="it is locked."))
    assert section == "No lake table is configured. It is locked."
    assert part.strip() == "Note: No lake table is configured.\n\nNote: It is locked."


def test_a_query_that_no_row_matches_has_no_scanning_factor(texts: Texts, indexes: SkippingIndexes) -> None:
    section, part = texts(indexes)
    assert "No row matches: ψ is undefined. 7 3.4 % – – – – 98.4 %" in section
    assert "7 distinct queries match no row: ψ is undefined there, and the means leave them out." in section
    assert "7 distinct queries match no row (ψ is undefined)" in part
    one, _ = texts(replace(indexes, evaluated=EvaluatedQueries(3, 1, 0, 0)))
    assert "1 distinct query matches no row: ψ is undefined there, and the means leave it out." in one
    assert "could not be evaluated" not in one


@pytest.mark.parametrize(
    ("verdict", "style"), [("equal", ' class="pass"'), ("not_comparable", ""), ("different", ' class="fail"')]
)
def test_another_answer_is_marked_as_a_fault(
    evidence: Evidence, indexes: SkippingIndexes, verdict: str, style: str
) -> None:
    each = replace(indexes.replayed[0], verdict=verdict, detail="2 rows are missing")
    night = replace(evidence, skipping=replace(indexes, replayed=(each,)))
    words = verdict.replace("_", " ").capitalize()
    assert f'<td data-label="rows"><span{style}>{words}</span> (3)</td>' in render_html(night)
    assert "2 rows are missing" in render_html(night) and "2 rows are missing" in render_markdown(night)


def test_what_indexes_add_is_drawn_on_top_of_those_before(
    evidence: Evidence, indexes: SkippingIndexes
) -> None:
    page = render_html(replace(evidence, skipping=indexes))
    bars = re.findall(
        r'class="past" width="([\d.]+)"[^>]*/><rect class="part" x="([\d.]+)" width="([\d.]+)"', page
    )
    assert bars == [
        ("0.0", "0.0", "40.1"),
        ("40.1", "40.1", "17.0"),
        ("57.1", "57.1", "10.5"),
        ("67.6", "67.6", "7.3"),
    ]


def test_more_than_a_page_holds_is_counted(texts: Texts, indexes: SkippingIndexes) -> None:
    refused = tuple(
        RefusedSkippingIndex(f"minmax:c{i}", "saves_nothing", "no file can be skipped by it")
        for i in range(MAX_REFUSED_INDEXES)
    )
    many = replace(
        indexes,
        refused=refused,
        other_refused=4_000,
        shapes=indexes.shapes[:1] * MAX_SKIPPED_SHAPES,
        other_shapes=12_345,
        replayed=indexes.replayed[:1] * 60,
        other_replayed=7,
    )
    section, part = texts(many)
    assert "and 950 more, listed in report.json" in section
    assert "4,000 more were refused." in section
    assert "12,345 more conditions read less." in section
    assert "17 more shapes were replayed." in section
    assert "and 4,990 more" in part
    assert len(part) < 20_000


def test_evidence_is_bounded(indexes: SkippingIndexes) -> None:
    with pytest.raises(ValueError, match="101 shapes of predicates of a table, at most 100"):
        replace(indexes, shapes=indexes.shapes[:1] * 101)
    with pytest.raises(ValueError, match="101 replayed shapes of a table, at most 100"):
        replace(indexes, replayed=indexes.replayed[:1] * 101)
    with pytest.raises(ValueError, match="101 skipping indexes of a table, at most 100"):
        replace(indexes, chosen=indexes.chosen[:1] * 101)
    with pytest.raises(ValueError, match="1001 refused skipping indexes of a table"):
        replace(indexes, refused=indexes.refused[:1] * 1_001)


def test_conditions_are_masked_whatever_the_stages_left(evidence: Evidence, indexes: SkippingIndexes) -> None:
    secret = "name = 'Zaphod' AND b LIKE '?%'"
    raw = replace(
        indexes,
        shapes=(replace(indexes.shapes[0], condition=secret),),
        replayed=(replace(indexes.replayed[0], condition=secret),),
    )
    night = replace(evidence, skipping=raw)
    for render in (render_html, render_markdown, render_json):
        assert "Zaphod" not in render(night)
    shown = masked_evidence(night).skipping
    assert shown is not None
    assert (shown.shapes[0].condition, shown.replayed[0].condition) == ("name = ? AND b LIKE ?",) * 2


def test_the_first_figures_have_what_is_saved_and_what_it_takes(
    evidence: Evidence, indexes: SkippingIndexes
) -> None:
    def figures(skipping: SkippingIndexes) -> str:
        page = render_html(replace(evidence, skipping=skipping))
        return " ".join(
            re.sub(
                "<[^>]+>", " ", page[page.index('id="figures"') : page.index('id="skipping-indexes"')]
            ).split()
        )

    assert (
        "fewer bytes read by Spark, predicted 62.0 % "
        "skipping metadata, and its share of the lake table 1.65 MB (0.9 %)"
    ) in figures(indexes)
    assert "skipping metadata" not in figures(replace(indexes, metadata_bytes=None))
    assert "fewer bytes read by Spark" not in figures(replace(indexes, chosen=()))


def test_lists_of_reports_tell_it_beside_the_indexes(evidence: Evidence, indexes: SkippingIndexes) -> None:
    assert report_summary(evidence).beside == ""
    summary = report_summary(replace(evidence, skipping=indexes))
    assert summary.beside == "4 skipping indexes let Spark queries read 62 % fewer bytes."


def test_queries_that_were_not_asked_are_told_though_none_was(texts: Texts, indexes: SkippingIndexes) -> None:
    told = "0 of 3 queries were asked both ways. The others were not proved: too dear."
    section, part = texts(replace(indexes, replayed=(), not_proved=told))
    assert told in section and told in part
