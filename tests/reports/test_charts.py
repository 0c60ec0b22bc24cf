"""Contents of the pictures; their bytes depend on vl-convert and fonts, so no golden file holds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from starskip.advisor.families.skipping.report.section import skipping_picture
from starskip.advisor.families.star_tree.report.section import star_tree_picture
from starskip.reports.charts import (
    MAX_POINTS,
    Chart,
    k_curve_chart,
    latency_chart,
    pairs_chart,
    shapes_chart,
)
from starskip.reports.evidence import Evidence
from starskip.reports.log_values import LatencyBin


def star_tree_chart(evidence: Evidence) -> Chart | None:
    return pairs_chart(star_tree_picture(evidence.star_trees)) if evidence.star_trees else None


def skipping_chart(evidence: Evidence) -> Chart | None:
    return pairs_chart(skipping_picture(evidence.skipping)) if evidence.skipping else None


SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return ["".join(each.itertext()) for each in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def marks(svg: str, role: str) -> list[ElementTree.Element]:
    groups = (g for g in ElementTree.fromstring(svg).iter(f"{SVG}g") if role in g.get("class", "").split())
    return [path for group in groups for path in group.findall(f"{SVG}path")]


@pytest.mark.parametrize("drawn", [k_curve_chart, shapes_chart, latency_chart])
def test_every_chart_is_still_and_has_both_forms(
    evidence: Evidence, drawn: Callable[[Evidence], Chart | None]
) -> None:
    chart = drawn(evidence)
    assert chart is not None
    for svg, width in ((chart.wide_svg, "860"), (chart.narrow_svg, "330")):
        root = ElementTree.fromstring(svg)
        assert root.get("width") == width
        assert {each.tag for each in root.iter()} <= {
            SVG + tag for tag in ("svg", "g", "path", "text", "line", "rect", "style", "defs", "clipPath")
        }
        assert svg.count("prefers-color-scheme:dark") == 1
        assert "http" not in svg.replace("http://www.w3.org/", "")
    assert len(chart.alt) > 40
    assert drawn(evidence) == chart


def test_k_curve_marks_the_chosen_number(evidence: Evidence) -> None:
    chart = k_curve_chart(evidence)
    assert chart is not None
    assert "chosen: 4 → 61.0 %" in texts(chart.wide_svg)
    assert len(marks(chart.wide_svg, "mark-symbol")) == 6 + 1 + 1  # the points, zero, the ring
    assert "4: 61.0 % (58–64 %)" in chart.alt


def test_k_curve_that_chose_nothing_marks_nothing(cases: dict[str, Callable[[], Evidence]]) -> None:
    chart = k_curve_chart(cases["nothing_to_recommend"]())
    assert chart is not None
    assert not [text for text in texts(chart.wide_svg) if "chosen" in text]


def test_shapes_have_a_bar_for_now_and_one_for_then(evidence: Evidence) -> None:
    chart = shapes_chart(evidence)
    assert chart is not None
    assert len(marks(chart.wide_svg, "mark-rect")) == 2 * 15
    assert "1  l_suppkey = ? AND l_shipdate BETWEEN ? AND ?" in texts(chart.wide_svg)
    assert {str(rank) for rank in range(1, 16)} <= set(texts(chart.narrow_svg))
    assert "1: 55.2 M to 9.29 M; 2: 36.1 M to 9.79 M;" in chart.alt


def test_shape_that_an_index_makes_worse_passes_its_bar(evidence: Evidence) -> None:
    first = evidence.shapes.top[0]
    worse = replace(first, entries_a_query=100_000.0, entries_a_query_advised=150_000.0)
    chart = shapes_chart(replace(evidence, shapes=replace(evidence.shapes, top=(worse,))))
    assert chart is not None
    assert "1: 15.3 M to 22.9 M" in chart.alt


def test_star_trees_have_a_dot_for_each_way_and_none_for_what_was_not_measured(
    cases: dict[str, Callable[[], Evidence]],
) -> None:
    evidence = cases["milliseconds"]()
    chart = star_tree_chart(evidence)
    assert chart is not None
    assert len(marks(chart.wide_svg, "mark-symbol")) == 2 * 2
    assert "1: 300 k to 58; 2: 300 k to 611." in chart.alt
    assert {"1", "2"} <= set(texts(chart.narrow_svg))
    assert star_tree_chart(cases["lineitem"]()) is None
    assert star_tree_chart(cases["nothing_to_recommend"]()) is None


def test_an_answer_that_reads_no_row_has_its_dot_at_one(cases: dict[str, Callable[[], Evidence]]) -> None:
    evidence = cases["milliseconds"]()
    trees = evidence.star_trees
    assert trees is not None
    none_read = replace(trees.proved[0], rows_read_from_tree=0.0)
    chart = star_tree_chart(replace(evidence, star_trees=replace(trees, proved=(none_read,))))
    assert chart is not None
    assert "1: 300 k to 1." in chart.alt


def test_skipping_has_a_dot_for_each_way_under_the_numbers_of_the_table(
    cases: dict[str, Callable[[], Evidence]],
) -> None:
    evidence = cases["milliseconds"]()
    chart = skipping_chart(evidence)
    assert chart is not None
    assert len(marks(chart.wide_svg, "mark-symbol")) == 2 * 5
    assert "1: 44.2 MB to 1.1 MB; 2: 39.8 MB to 12.3 MB;" in chart.alt
    # What reads nothing has its dot where a logarithm begins.
    assert chart.alt.endswith("5: 52.4 MB to 1 B.")
    assert "1  l_shipdate >= ? AND l_shipdate < ?" in texts(chart.wide_svg)
    assert evidence.skipping is not None
    replayed = (evidence.skipping.replayed[-1], *evidence.skipping.replayed[:-1])
    later = skipping_chart(replace(evidence, skipping=replace(evidence.skipping, replayed=replayed)))
    assert later is not None
    assert "1" not in texts(later.narrow_svg)[-5:] and "6" in texts(later.narrow_svg)
    assert "2: 44.2 MB to 1.1 MB; 3: 39.8 MB to 12.3 MB;" in later.alt


def test_no_picture_of_skipping_without_a_replay(cases: dict[str, Callable[[], Evidence]]) -> None:
    assert skipping_chart(cases["lineitem"]()) is None
    assert skipping_chart(cases["nothing_to_recommend"]()) is None
    evidence = cases["milliseconds"]()
    assert evidence.skipping is not None
    uncompared = evidence.skipping.replayed[-1:]
    assert skipping_chart(replace(evidence, skipping=replace(evidence.skipping, replayed=uncompared))) is None


def test_nothing_to_draw(evidence: Evidence) -> None:
    assert k_curve_chart(replace(evidence, k_curve=replace(evidence.k_curve, points=()))) is None
    idle = tuple(replace(each, entries_a_query=0.0) for each in evidence.shapes.top)
    assert shapes_chart(replace(evidence, shapes=replace(evidence.shapes, top=idle))) is None
    unknown = tuple(replace(each, predicted_ms=None) for each in evidence.latency.bins)
    assert latency_chart(replace(evidence, latency=replace(evidence.latency, bins=unknown))) is None


def test_many_bins_are_thinned_for_the_picture(evidence: Evidence) -> None:
    bins = tuple(LatencyBin(float(i), 0.0, float(i % 97), float(i % 89)) for i in range(2_000))
    chart = latency_chart(replace(evidence, latency=replace(evidence.latency, bins=bins)))
    assert chart is not None
    assert len(marks(chart.wide_svg, "mark-symbol")) == MAX_POINTS
    assert "2000 pooled bins" in chart.alt
