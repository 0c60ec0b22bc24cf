from __future__ import annotations

import pytest
from starskip.reports.report_files import best_set, code, names, prose, table


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("l_suppkey", "`l_suppkey`"),
        ("a|b`c", "`a\\x7cb\\x60c`"),
        ("two\nlines", "`two\\nlines`"),
        ("", "` `"),
        ("   ", "` `"),
        ("x" * 500, "`" + "x" * 119 + "…`"),
    ],
)
def test_code_span(text: str, expected: str) -> None:
    assert code(text) == expected


@pytest.mark.parametrize(
    "text",
    ["adds 1.5 %, below min_gain (5 %)", "two kinds: ranges, LIKE", "x = y/2 + 1", "a's"],
)
def test_plain_sentence_stays_as_it_is(text: str) -> None:
    assert prose(text) == text


@pytest.mark.parametrize(
    "text",
    ["<b>", "*x*", "_x_", "[a](b)", "http://e.x", "www.e.x", "a|b", "~~x~~", "a@e.x", "![i]", "#x", "a_"],
)
def test_sentence_with_a_mark_becomes_code(text: str) -> None:
    assert prose(text).startswith("`")


def test_table_lines_up() -> None:
    lines = table(["K", "saving"], "<>", [["1", "44 %"], ["10", "100 %"]]).splitlines()
    assert lines == ["| K   | saving |", "| --- | -----: |", "| 1   |   44 % |", "| 10  |  100 % |"]


def test_set_that_grows_names_what_it_adds() -> None:
    assert best_set(("a",), ("b", "a")) == "+ `b`"
    assert best_set(("a",), ("b", "c")) == "`b`, `c`"
    assert best_set((), ("a",)) == "`a`"


def test_many_names_end_in_a_count() -> None:
    assert names([str(i) for i in range(12)], 2) == "`0`, `1` and 10 more"
    assert names([]) == "–"
