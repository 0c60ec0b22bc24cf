"""The section of the report that a user's own family brings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from starskip.advisor.families import families
from starskip.advisor.families.family import Family
from starskip.advisor.families.family_section import FamilySection, PairsPicture, SectionSource, ShapePair
from starskip.advisor.families.guarded_family import guarded
from starskip.advisor.families.headline_pieces import Piece
from starskip.reports.evidence import Evidence
from starskip.reports.evidence_json import evidence_from_json
from starskip.reports.family_sections import collected_sections, family_sections
from starskip.reports.headline import headline
from starskip.reports.render_html import render_html
from starskip.reports.report_files import render_json, render_markdown, report_files
from starskip.reports.report_summary import report_summary
from starskip.storage.manifest import Part

HTML = """<section id="zones">
<h2>Zones</h2>
<p>{{ section.text }} has {{ section.zones | count }} zones, {{ section.kind | known_words(kinds) }}.</p>
{% if chart %}<p>{{ chart.alt }}</p>{% endif %}
</section>
"""
MARKDOWN = """
## Zones

{{ section.text | code }} has {{ section.zones | count }} zones.
"""
VALUES = {"text": "secret <b>", "zones": 1234, "kind": "wide"}


def masked(values: Any) -> Any:
    return {**values, "text": values["text"].replace("secret", "?")}


SECTION = FamilySection(
    collect=lambda source: VALUES,
    html=HTML,
    markdown=MARKDOWN,
    masked=masked,
    picture=lambda values: PairsPicture([ShapePair(1, "a", 9.0, 3.0)], "zones read", "Zones read.", str),
    figures=lambda values, _: [("zones", str(values["zones"]))],
    chosen=lambda values: [("zone", ("a", "b"))],
    kinds={"wide": "wide ones"},
)


@pytest.fixture
def evidence(cases: dict[str, Callable[[], Evidence]]) -> Evidence:
    return replace(cases["nothing_to_recommend"](), sections={"zone": VALUES})


def load(section: FamilySection, monkeypatch: pytest.MonkeyPatch) -> None:
    zone = Family("zone", "a zone", "zones", section=lambda: section)
    monkeypatch.setattr(families, "_known", {**families._known, zone.name: zone})


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    load(SECTION, monkeypatch)


@pytest.mark.usefixtures("loaded")
def test_its_values_are_in_the_page_masked_and_escaped(evidence: Evidence) -> None:
    page = render_html(evidence)
    assert "<p>? &lt;b&gt; has 1,234 zones, wide ones.</p>" in page
    assert "<p>Zones read. 1: 9.0 to 3.0.</p>" in page
    assert "<summary><h3>Zones</h3></summary>" in page
    assert "<dt>zones</dt><dd>1234</dd>" in page
    assert "secret" not in page
    assert page.index('id="shapes"') < page.index('id="zones"') < page.index('id="latency"')


@pytest.mark.usefixtures("loaded")
def test_its_values_are_in_the_markdown_and_the_json_and_read_back(evidence: Evidence) -> None:
    assert "## Zones\n\n`? <b>` has 1,234 zones.\n" in render_markdown(evidence)
    text = render_json(evidence)
    assert "secret" not in text
    assert evidence_from_json(text, "report.json").sections == {"zone": masked(VALUES)}
    assert [index.columns for index in report_summary(evidence).chosen if index.kind == "zone"] == [
        ("a", "b")
    ]


def headline_text(evidence: Evidence) -> str:
    return "".join(piece.text for piece in headline(evidence))


@pytest.mark.usefixtures("loaded")
def test_the_headline_has_what_it_adds_and_what_it_gains(
    evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert headline_text(evidence).startswith("No change for airlineStats: ")
    gaining = replace(SECTION, gain=lambda _: ("Two zones let queries", "read 9 % less."))
    load(gaining, monkeypatch)
    words = "No change of the table config of airlineStats. Two zones let queries read 9 % less."
    assert headline_text(evidence) == words
    adding = replace(gaining, change=lambda _: (Piece("Add zones on "), Piece("a", is_name=True), Piece(".")))
    load(adding, monkeypatch)
    assert headline_text(evidence) == "Add zones on a. Two zones let queries read 9 % less."
    assert report_summary(evidence).beside == headline_text(evidence)


@pytest.mark.usefixtures("loaded")
def test_the_headline_of_a_table_of_the_lake_names_each_family_that_could_serve_it(
    cases: dict[str, Callable[[], Evidence]], monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = replace(cases["lake_only"](), sections={"zone": VALUES})
    alone = headline_text(evidence)
    of_lake = replace(SECTION, is_of_lake=True, gain=lambda _: ("Two zones let queries", "read less."))
    load(of_lake, monkeypatch)
    assert headline_text(evidence) == f"{alone} Two zones let queries of {evidence.table} read less."
    nothing = replace(evidence, skipping=None)
    load(replace(of_lake, gain=lambda _: None, note=lambda _: "no log of it."), monkeypatch)
    words = f"No skipping index or secondary index or zone for {evidence.table}: no log of it."
    assert headline_text(nothing) == words


def test_where_its_module_is_not_loaded_nobody_knows_what_may_be_shown(evidence: Evidence) -> None:
    for text in (render_html(evidence), render_markdown(evidence), render_json(evidence)):
        assert "secret" not in text
        assert "1,234 zones" not in text
    assert all(section is not SECTION for section, _ in family_sections(evidence))


def raising(*_: Any) -> Any:
    raise KeyError("'a literal'")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        *(
            ({name: raising}, f"zone: section: {name} raised KeyError: ?")
            for name in ("masked", "picture", "figures")
        ),
        *(
            ({name: raising}, f"zone: section: {name} raised")
            for name in ("summary", "chosen", "change", "gain")
        ),
        ({"gain": lambda _: "less"}, "zone: section: gain returned str, not list"),
        (
            {"figures": lambda *_: [("zones", 3)]},
            "zone: section: figures returned a sentence that is no text",
        ),
        ({"masked": lambda _: {"x": {1}}}, "zone: section: masked returned a section that is no JSON"),
        (
            {"html": "{{ section.zones.missing.deeper }}"},
            "family zone: section: a template raised UndefinedError",
        ),
        ({"markdown": "{% if %}"}, "family zone: section: a template raised TemplateSyntaxError"),
    ],
)
def test_a_section_that_fails_is_left_out_and_the_report_says_so(
    fields: dict[str, Any], words: str, evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = Family("zone", "a zone", "zones", answer=raising, section=lambda: replace(SECTION, **fields))
    monkeypatch.setattr(families, "_known", {**families._known, "zone": guarded(zone, "zone_module")})
    files = {name: text.decode() for name, text in report_files(evidence).items()}
    found = evidence_from_json(files["report.json"], "report.json")
    assert found.sections == {}
    assert words in found.not_used["zone"]
    assert "`zone` is not used, because" in files["report.md"]
    assert "zone is not used, because" in files["report.html"]
    assert "secret" not in str(files)
    plain = replace(found, not_used={})
    assert render_json(plain) == render_json(replace(evidence, sections={}))


def test_what_fails_while_it_collects_is_told_too() -> None:
    zone = Family(
        "zone", "a zone", "zones", answer=raising, section=lambda: replace(SECTION, collect=raising)
    )
    part = Part((), {"not_used": {"other": "it failed before"}})
    source = SectionSource(None, "t", part, ())  # type: ignore[arg-type]
    found = collected_sections(source, [guarded(zone, "zone_module")])
    assert found["sections"] == {}
    assert found["not_used"]["other"] == "it failed before"
    assert "zone: section: collect raised KeyError" in found["not_used"]["zone"]
