"""Texts as Pinot's broker redacts them, against the same queries with their literals."""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import UnsupportedQuery
from starskip.sql.leaf_queries import LeafQuery, leaf_queries
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.sql.query_text import query_text
from starskip.sql.redacted_text import is_redacted, is_wholly_redacted, mark_redacted

PAIRS = json.loads((Path(__file__).parents[1] / "data" / "sql" / "redacted.json").read_text())
"""Query texts, and what Calcite makes of them (Redact.java)."""


def unplaced(value: object) -> str:
    """Return the text of a filter without the numbers of its slots."""
    # Calcite takes a minus before a literal for a part of it.
    return re.sub(r"position=\d+|negative=\w+", "", repr(value))


def leaves_of(sql: str) -> list[str]:
    def columns_of(table: str) -> frozenset[str] | None:
        return None

    leaves: tuple[LeafQuery, ...] = leaf_queries(normalize_sql(sql).skeleton, columns_of)
    return [f"{leaf.table} {unplaced(query_shape(leaf.skeleton).filter)} {leaf.scans}" for leaf in leaves]


def test_there_are_pairs_of_many_kinds() -> None:
    assert len(PAIRS) > 80
    assert not [redacted for _, redacted in PAIRS if is_wholly_redacted(redacted)]
    assert all("'" not in redacted for _, redacted in PAIRS)


@pytest.mark.parametrize(("sql", "redacted"), PAIRS)
def test_a_redacted_text_has_the_shape_of_its_query(sql: str, redacted: str) -> None:
    try:
        whole = query_shape(normalize_sql(sql).skeleton)
    except UnsupportedQuery:
        assert leaves_of(redacted) == leaves_of(sql)
        return
    shape = query_shape(normalize_sql(redacted).skeleton)
    assert shape.stops_early == whole.stops_early
    assert (shape.limit is None) == (whole.limit is None)
    if "TRUE" not in sql and "1 = 1" not in sql:
        assert unplaced(shape.filter) == unplaced(whole.filter)


@pytest.mark.parametrize(("sql", "redacted"), PAIRS)
def test_no_literal_of_a_redacted_text_is_known_and_its_text_comes_back(sql: str, redacted: str) -> None:
    cut = normalize_sql(redacted)
    assert all(is_redacted(values) for values in cut.literals)
    apart = mark_redacted(cut.literals, "7/8")
    assert apart != mark_redacted(cut.literals, "7/9") or not cut.literals
    assert normalize_sql(query_text(cut.skeleton, apart)) == cut


def test_a_question_mark_in_quotes_is_no_redacted_literal() -> None:
    cut = normalize_sql("""select a from t where b = '?' and "c?" = ? and d in ('?', ?) -- ?""")
    assert cut.literals == (("'?",), ("?",), ("'?", "?"))
    assert not is_redacted(cut.literals[0])
    assert mark_redacted(cut.literals, "1/2") == (("'?",), ("?1/2",), ("'?", "?1/2"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("REDACTED", True),
        (" REDACTED\n", True),
        ("FINGERPRINT_FAILED_QUERY_REDACTED", True),
        ("redacted", False),
        ("SELECT REDACTED FROM t", False),
        ("'REDACTED'", False),
        ("", False),
    ],
)
def test_wholly_redacted(text: str, expected: bool) -> None:
    assert is_wholly_redacted(text) is expected


HOSTILE = {
    "question marks": "?" * 90_000,
    "a list of question marks": f"select a from t where b in ({', '.join('?' * 30_000)})",
    "open lists": "select a from t where b in (?" * 5_000,
    "minus signs": "select a from t where b = " + "- " * 9_000 + "?",
    "quoted calls": "select " + "`f`(" * 9_000 + "?",
    "question marks between names": "a?b`?`c" * 10_000,
    "a sign with a value": "select a from t where b = ?7/8/9 and c = ??",
}


# What takes work by the square of such a text would take longer than this on any machine.
@pytest.mark.timeout(120)
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_refused_or_read_to_its_end(text: str) -> None:
    cut = normalize_sql(text)
    try:
        query_shape(cut.skeleton)
    except UnsupportedQuery as error:
        assert error.reason in ("syntax", "too_long", "too_deep", "not_a_select")


@given(text=st.text(alphabet="?`'\"() ,-in=ab\n/*", max_size=120))
def test_any_text_with_question_marks_is_cut(text: str) -> None:
    cut = normalize_sql(f"select a from t where {text}")
    for values in mark_redacted(cut.literals, "1/2/3"):
        assert values
    with contextlib.suppress(UnsupportedQuery):
        query_shape(cut.skeleton)
