"""The decision of a report: its title, lines, figures and doubts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from starskip.reports.advice_values import AdvisedAction
from starskip.reports.decision import Decision, decision
from starskip.reports.evidence import Evidence

Cases = dict[str, Callable[[], Evidence]]


def title(found: Decision) -> str:
    return "".join(piece.text for piece in found.title)


def of_actions(evidence: Evidence, *actions: AdvisedAction) -> Decision:
    return decision(replace(evidence, actions=actions))


def test_the_title_says_what_to_do_and_what_it_brings(cases: Cases) -> None:
    evidence = cases["lineitem"]()
    first, second, *_ = evidence.actions
    drop = replace(first, is_drop=True)
    tree = AdvisedAction("star_tree:a,b", "star_tree", ("a", "b"), saving_ratio=0.2)
    assert title(decision(evidence)) == "Add 4 indexes to lineitem: its queries scan 61.0 % less"
    assert title(of_actions(evidence, first)) == (
        "Add an inverted index on l_suppkey to lineitem: its queries scan 61.0 % less"
    )
    assert title(of_actions(evidence, first, tree, drop)) == (
        "Add an index and a star-tree, drop an index on lineitem: its queries scan 61.0 % less"
    )
    assert title(of_actions(evidence, first, second, tree, tree)).startswith(
        "Add 2 indexes and 2 star-trees to"
    )


def test_lines_stand_by_what_they_save_and_drops_last(cases: Cases) -> None:
    lines = decision(cases["milliseconds"]()).lines
    assert [line.verb for line in lines][-1] == "Drop"
    added = [line.action.saving_ratio or 0.0 for line in lines if line.verb == "Add"]
    assert added == sorted(added, reverse=True)


def test_each_line_says_why_and_what_its_figures_rest_on(cases: Cases) -> None:
    evidence = cases["lineitem"]()
    suppkey, shipmode, *_ = decision(evidence).lines
    assert (suppkey.why, suppkey.trust) == (
        "9 query shapes, 42.0 % of the queries",
        "simulated on rows of the table",
    )
    assert shipmode.risk == "a query shape would read less without it"
    by_estimates = decision(replace(evidence, strategy="estimation")).lines
    assert by_estimates[0].trust == "estimated from cardinalities"
    drop = decision(replace(cases["milliseconds"](), applied=None)).lines[-1]
    assert drop.why == "no query of 7 nights filters on it; 6.4 MB"
    assert drop.trust == "judged by the logs of 3 nights"


def test_a_star_tree_says_whether_it_was_proved(cases: Cases) -> None:
    evidence = cases["milliseconds"]()
    trees = [line for line in decision(evidence).lines if line.action.kind == "star_tree"]
    assert any(line.trust.startswith("built on real rows: ") for line in trees)
    assert evidence.star_trees is not None
    unproved = replace(evidence, star_trees=replace(evidence.star_trees, proved=()), applied=None)
    of_trees = [line for line in decision(unproved).lines if line.action.kind == "star_tree"]
    assert {line.trust for line in of_trees} == {"estimated; not built on real rows yet"}


def test_figures_have_saving_time_size_and_building(cases: Cases) -> None:
    entries = decision(cases["lineitem"]()).figures
    assert [each.value for each in entries] == ["61.0 %", "1.17 MB (5.8 %)", "4.8 s"]
    assert entries[1].note == "without an index of unknown size"
    timed = decision(cases["milliseconds"]()).figures
    assert (timed[1].value, timed[1].label) == ("2.96 ms", "saved of 6.5 ms a query")


def test_doubts_name_shapes_that_read_more_and_few_applications(cases: Cases) -> None:
    evidence = cases["lineitem"]()
    shown = evidence.shapes
    number = len(shown.top)
    told = f"None of the {number} query shapes that scan most is predicted to read more than today."
    # Shapes beyond those shown are not looked at, so that nothing is said of them.
    assert shown.other_shapes and told in decision(evidence).risks
    evidence = replace(evidence, shapes=replace(shown, other_shapes=0))
    assert "No query shape is predicted to read more than today." in decision(evidence).risks
    first, *others = evidence.shapes.top
    worse = replace(evidence.shapes, top=(replace(first, predicted_saving_ratio=-0.2), *others))
    assert (
        decision(replace(evidence, shapes=worse))
        .risks[0]
        .startswith("1 query shape is predicted to read more")
    )
    assert any(each.startswith("Indexes change by a reload") for each in decision(evidence).risks)
    assert decision(evidence).trust[0].startswith("Nothing was applied to this table yet")
    applied = cases["milliseconds"]()
    assert decision(applied).trust[0].startswith("Intervals are 1.4 times as wide")
    assert applied.applied is not None
    few = replace(applied, interval_factor=1.0, applied=replace(applied.applied, earlier=0))
    number = len(few.applied.changes) if few.applied else 0
    assert decision(few).trust[0].startswith(f"Few applications ({number}) were measured")


def test_ingestion_takes_longer_by_star_trees_alone(cases: Cases) -> None:
    def told(evidence: Evidence) -> list[str]:
        return [each for each in decision(evidence).risks if "ingestion" in each]

    assert told(cases["lineitem"]()) == []
    evidence = cases["milliseconds"]()
    tree = AdvisedAction("star_tree:a,b", "star_tree", ("a", "b"), size_bytes=100)
    evidence = replace(evidence, summary=replace(evidence.summary, table_bytes=1_000))
    end = "by how much ingestion takes longer is not measured."
    assert told(replace(evidence, actions=(tree, tree))) == [
        f"2 star-trees are built with every new segment (20.0 % of the table's bytes): {end}"
    ]
    assert told(replace(evidence, actions=(replace(tree, size_bytes=None),))) == [
        f"A star-tree is built with every new segment: {end}"
    ]
    assert told(replace(evidence, actions=(replace(tree, is_drop=True),))) == []


def test_a_little_time_a_night_is_called_little(cases: Cases) -> None:
    evidence = cases["milliseconds"]()
    for saving_ms, is_little in ((3_540.0, True), (59_999.0, True), (60_000.0, False), (-5.0, False)):
        found = decision(replace(evidence, summary=replace(evidence.summary, saving_ms=saving_ms)))
        assert found.figures[1].note.endswith("small or seldom asked") == is_little


def test_what_was_measured_before_stands_beside_what_is_predicted(cases: Cases) -> None:
    drop = decision(cases["milliseconds"]()).lines[-1]
    assert drop.trust == "measured when it was applied before: 0.0 %"


def test_without_an_action_the_headline_stands(cases: Cases) -> None:
    found = decision(cases["nothing_to_recommend"]())
    assert title(found).startswith("No change for airlineStats")
    assert (found.lines, found.figures, found.trust) == ((), (), ())


def test_what_the_night_builds_itself_is_told_apart(cases: Cases) -> None:
    found = decision(cases["lake_only"]())
    assert found.lines == ()
    (line,) = found.lake
    assert line.gain == "4 skipping indexes let Spark queries read 62 % fewer bytes."


def test_a_star_tree_claims_no_proof_of_queries_that_were_not_asked(cases: Cases) -> None:
    evidence = cases["milliseconds"]()
    assert evidence.star_trees is not None
    trees = replace(evidence.star_trees, not_proved="1 of 9 queries was asked both ways.")
    for proved, trust in [
        (trees.proved, "had the same answer as without it; not all queries of the table were asked"),
        ((), "built on real rows; no answer compared"),
    ]:
        part = replace(evidence, star_trees=replace(trees, proved=proved), applied=None)
        of_trees = [line.trust for line in decision(part).lines if line.action.kind == "star_tree"]
        assert of_trees[0].endswith(trust)
