"""Two nights of one table side by side: what differs, and how much of the difference is of the workload."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date

import pytest
from starskip.advisor.selection.past_changes import KeptIndex
from starskip.reports.advice_values import KeyChange, NamedIndex, ReasonedIndex
from starskip.reports.compare_nights import Comparison, compare_nights
from starskip.reports.evidence import Evidence
from starskip.reports.log_values import ShapeEvidence, Shapes
from starskip.reports.page_links import PageLinks
from starskip.reports.past_evidence import PastEvidence
from starskip.reports.render_pages import render_compare


@pytest.fixture(scope="module")
def first(cases: Mapping[str, Callable[[], Evidence]]) -> Evidence:
    evidence = cases["lineitem"]()
    return replace(evidence, run_date=date(2026, 11, 17), summary=replace(evidence.summary, table_rows=1_000))


def shape(shape_id: str, share: float, saved: float) -> ShapeEvidence:
    """A shape with this share of all entries, of which the advice saves so many."""
    return ShapeEvidence(
        shape_id,
        f"SELECT 1 WHERE {shape_id} = ?",
        1,
        0,
        share,
        0.0,
        (),
        entries_a_query=100.0,
        entries_a_query_advised=100.0 * (1 - saved),
    )


def titles(found: Comparison) -> dict[str, list[tuple[str, str, str]]]:
    return {
        cause.title: [(each.name, each.first, each.second) for each in cause.differences]
        for cause in found.causes
    }


def test_the_same_report_differs_in_nothing(first: Evidence) -> None:
    found = compare_nights(first, first)
    assert (found.causes, found.joined, found.left, found.shapes) == ((), (), (), ())
    assert found.attribution is not None
    assert found.attribution.first_ratio == found.attribution.carried_ratio == found.attribution.second_ratio


def test_each_cause_is_told_by_name_and_values(first: Evidence) -> None:
    name = first.settings[0].name
    second = replace(
        first,
        run_date=date(2026, 11, 18),
        settings=(replace(first.settings[0], value="another"), *first.settings[1:]),
        summary=replace(first.summary, table_rows=2_000),
        past=PastEvidence((), (KeptIndex("inverted", ("city",), "below_min_gain", 0.042, 0.05),)),
        refused=(ReasonedIndex("range", ("age",), "decided_against", "it was rejected"), *first.refused),
        nights=4,
        version="9.9",
    )
    told = titles(compare_nights(first, second))
    assert told.pop("Settings") == [(name, str(first.settings[0].value), "another")]
    assert told.pop("The table's data") == [("rows", "1,000", "2,000")]
    kept = ("the inverted index on city", "", "it adds 4.2 % in filters, where a new index must add 5.0 %")
    assert told.pop("Kept from the advice before") == [kept]
    assert told.pop("Decisions in the ledger") == [("the range index on age", "", "it was rejected")]
    assert told.pop("Nights that vote") == [("nights", str(first.nights), "4")]
    assert told.pop("Starskip and its choice") == [("version", "unknown", "9.9")]
    assert told == {}


def test_what_was_applied_meanwhile_is_a_cause_and_leaves_the_rest_without_a_figure(first: Evidence) -> None:
    (key,) = first.change.keys
    keys = {key: replace(first.change.keys[key], current=("l_tax",))}
    second = replace(first, change=replace(first.change, keys=keys, add=(NamedIndex("inverted", ("new",)),)))
    assert isinstance(keys[key], KeyChange)
    found = compare_nights(first, second)
    (differences,) = titles(found).values()
    assert [(each[0], each[2]) for each in differences] == [(key, "l_tax")]
    assert found.attribution is None
    assert found.joined == (NamedIndex("inverted", ("new",)),)
    assert found.left == first.change.add


def test_the_workload_and_the_choice_add_up_to_the_difference(first: Evidence) -> None:
    one = replace(first, shapes=Shapes((shape("a", 0.6, 0.9), shape("b", 0.4, 0.1))))
    # Half as much of what is saved well; a new shape; b is saved better.
    other = replace(first, shapes=Shapes((shape("a", 0.3, 0.9), shape("b", 0.5, 0.5), shape("c", 0.2, 1.0))))
    found = compare_nights(one, other)
    part = found.attribution
    assert part is not None
    assert part.first_ratio == pytest.approx(0.6 * 0.9 + 0.4 * 0.1)
    assert part.carried_ratio == pytest.approx(0.3 * 0.9 + 0.5 * 0.1)
    assert part.second_ratio == pytest.approx(0.3 * 0.9 + 0.5 * 0.5 + 0.2)
    assert part.known_ratio == pytest.approx(0.8)
    assert [each.masked_text[-5] for each in found.shapes] == ["a", "c", "b"]
    assert titles(found)["The workload"] == [("share of the entries that lies in other shapes", "", "30.0 %")]
    new = replace(first, shapes=Shapes((shape("c", 1.0, 1.0),)))
    assert compare_nights(one, new).attribution is None


HOSTILE = "<script>alert(1)</script>\x1b[2J"


def test_text_from_outside_stays_text(first: Evidence) -> None:
    second = replace(
        first,
        table=HOSTILE,
        version=HOSTILE,
        pinot_version=HOSTILE,
        settings=tuple(replace(each, name=HOSTILE, value=HOSTILE) for each in first.settings[:1]),
        change=replace(
            first.change,
            keys={key: replace(each, current=(HOSTILE,)) for key, each in first.change.keys.items()},
            add=(NamedIndex(HOSTILE, (HOSTILE,)),),
        ),
        refused=(ReasonedIndex(HOSTILE, (HOSTILE,), "decided_against", HOSTILE),),
        past=PastEvidence((), (KeptIndex(HOSTILE, (HOSTILE,), HOSTILE),)),
        shapes=Shapes((shape(HOSTILE, 0.5, 0.5),)),
    )
    page = render_compare(PageLinks("/pages"), first, second, [])
    assert "<script>alert" not in page and "\x1b" not in page
    assert page.count("&lt;script&gt;alert(1)") >= 8
    assert 'value="<' not in page
