"""Sentences of the report on log lines that the broker dropped."""

from __future__ import annotations

from dataclasses import replace

import pytest
from starskip.advisor.families.skipping.report.section import KINDS
from starskip.reports.advice_values import ConfigChange, NamedIndex, ReasonedIndex
from starskip.reports.evidence import Evidence
from starskip.reports.headline import headline
from starskip.reports.render_html import render_html
from starskip.reports.report_files import render_markdown
from starskip.reports.sentences import (
    code_words,
    filter_text,
    gap_words,
    known_words,
    refusals_by_reason,
    sampling_words,
    stop_words,
)

SENTENCE = "Corrected for 12,345 dropped log lines: 5,000 queries of at most 1 s have weight 3.1 on average."


def sentence(evidence: Evidence) -> str:
    return "".join(piece.text for piece in headline(evidence))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (
            "lineitem",
            "All changes together save 61 % of all entries scanned, in filters and behind them "
            "(90 % interval 58–64 %). "
            "Add inverted indexes on l_suppkey, l_shipmode, l_partkey, l_shipinstruct: "
            "filter scanning falls by 72 % (90 % interval 69–76 %).",
        ),
        (
            "milliseconds",
            "All changes together save 73.1 % of all entries scanned, in filters and behind them "
            "(90 % interval 70–76 %): 58.7 % by indexes on columns, 14.4 % by star-trees. "
            "That is 2.96 ms of 6.5 ms a query (90 % interval 2.4 to 3.5 ms), 4.31 s a night. "
            "Add inverted indexes on l_suppkey, l_shipmode, l_partkey, l_shipinstruct: "
            "by themselves they cut filter scanning by 72 % (90 % interval 69–76 %); "
            "drop the inverted index on l_comment that no query needs. "
            "Add 2 star-trees, on l_returnflag, l_linestatus, l_shipmode, l_shipdate; on l_shipdate, "
            "l_suppkey: they save 14 % of all entries scanned, in filters and behind them. "
            "4 skipping indexes let Spark queries read 62 % fewer bytes.",
        ),
        (
            "nothing_to_recommend",
            "No change for airlineStats: no index would save enough to be worth its upkeep.",
        ),
        (
            "stopped_by_gate",
            "No change for lineitem: a quality gate stopped it this night, so its last advice stands.",
        ),
        ("empty_log", "No change for lineitem: the log of 2026-11-18 holds no query of it."),
        (
            "without_log",
            "Add inverted indexes on l_suppkey, l_shipmode: filter scanning falls by 41 % "
            "(90 % interval 20–60 %), assuming that every column is queried equally, for want of a log.",
        ),
    ],
)
def test_headline(cases: dict[str, object], case: str, expected: str) -> None:
    assert sentence(cases[case]()) == expected  # type: ignore[operator]


def test_headline_of_a_star_tree_alone(cases: dict[str, object]) -> None:
    evidence = cases["nothing_to_recommend"]()  # type: ignore[operator]
    trees = cases["milliseconds"]().star_trees  # type: ignore[operator]
    alone = replace(evidence, star_trees=replace(trees, chosen=trees.chosen[:1]))
    assert sentence(alone) == (
        "Add a star-tree on l_returnflag, l_linestatus, l_shipmode, l_shipdate: "
        "it saves 14 % of all entries scanned, in filters and behind them."
    )


def test_headline_of_a_skipping_index_alone(cases: dict[str, object]) -> None:
    evidence = cases["nothing_to_recommend"]()  # type: ignore[operator]
    skipping = cases["milliseconds"]().skipping  # type: ignore[operator]
    alone = replace(evidence, skipping=replace(skipping, chosen=skipping.chosen[:1]))
    assert sentence(alone) == (
        "No change of the table config of airlineStats. "
        "A skipping index lets Spark queries read 62 % fewer bytes."
    )
    unknown = replace(evidence, skipping=replace(skipping, saving_ratio=None))
    assert sentence(unknown).startswith("No change for airlineStats: no index would save enough")


def test_words_of_a_kind_of_skipping_index() -> None:
    assert known_words("minmax", KINDS) == "least and greatest value"
    assert known_words("length_range", KINDS) == "length range"
    assert known_words("<b>\n", KINDS) == "<b>\\n"


def test_headline_of_several_kinds_and_many_columns(evidence: Evidence) -> None:
    add = tuple(NamedIndex("inverted", (f"c{i}",)) for i in range(8))
    add += (
        NamedIndex("sorted", ("day",)),
        NamedIndex("vector_map", ("v",)),
    )
    text = sentence(replace(evidence, change=ConfigChange({}, add)))
    assert text.partition("). ")[2].startswith(
        "Add inverted indexes on c0, c1, c2, c3, c4, c5 and 2 more and the sort order on day "
        "and a vector map on v: filter"
    )


def test_only_a_drop(evidence: Evidence) -> None:
    change = ConfigChange({}, drop=(NamedIndex("inverted", ("a",)), NamedIndex("inverted", ("b",))))
    assert sentence(replace(evidence, change=change)) == "Drop inverted indexes on a, b that no query needs."


def test_names_are_pieces_of_their_own(evidence: Evidence) -> None:
    names = [piece.text for piece in headline(evidence) if piece.is_name]
    assert names == ["l_suppkey", "l_shipmode", "l_partkey", "l_shipinstruct"]


def test_refusals_stand_under_their_reason_most_first() -> None:
    refused = [ReasonedIndex("inverted", (c,), r, "") for c, r in ("ax", "by", "cx", "dz")]
    grouped = refusals_by_reason(refused)
    assert {k: [each.columns[0] for each in v] for k, v in grouped.items()} == {
        "x": ["a", "c"],
        "y": ["b"],
        "z": ["d"],
    }
    assert list(grouped) == ["x", "y", "z"]


def test_unknown_codes_read_as_words() -> None:
    assert code_words("needs_more_sleep") == "Needs more sleep"
    assert stop_words("needs_more_sleep") == "needs more sleep"
    assert code_words("a<b\n") == "A<b\\n"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t WHERE b = ? GROUP BY a", "b = ?"),
        ("select a from t where b = ? limit ?", "b = ?"),
        ("SELECT a FROM t", "SELECT a FROM t"),
        ("SELECT wherever FROM t WHERE x", "x"),
    ],
)
def test_filter_text(sql: str, expected: str) -> None:
    assert filter_text(sql) == expected


@pytest.mark.parametrize(
    ("gap", "words"),
    [(0.0, ""), (0.0005, ""), (0.02, "another could save up to 2.0 % more"), (None, "it is unknown")],
)
def test_a_gap_is_told_where_it_matters(gap: float | None, words: str) -> None:
    assert words in gap_words(gap)
    assert bool(gap_words(gap)) == bool(words)


@pytest.fixture
def sampled(evidence: Evidence) -> Evidence:
    quality = replace(
        evidence.data_quality, dropped_log_lines=12_345, sampled_queries=5_000, unlogged_queries=10_500.0
    )
    return replace(evidence, data_quality=quality)


def test_dropped_lines_are_told_in_each_report(evidence: Evidence, sampled: Evidence) -> None:
    for render in (render_html, render_markdown):
        assert SENTENCE in render(sampled)
        assert "dropped log lines" not in render(evidence)


def test_dropped_lines_that_no_query_stands_for(sampled: Evidence) -> None:
    alone = replace(sampled.data_quality, sampled_queries=0, unlogged_queries=0.0)
    assert sampling_words(alone) == (
        "Corrected for 12,345 dropped log lines: no query was logged that could stand for them."
    )
    assert sampling_words(replace(alone, dropped_log_lines=0)) == ""
