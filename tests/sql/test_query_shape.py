"""Golden files of shapes; ``python tests/sql/write_golden.py`` writes them anew."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.errors import UnsupportedQuery
from starskip.sql.normalize_sql import SLOT, normalize_sql
from starskip.sql.predicate import Slot, leaves
from starskip.sql.query_shape import MAX_PREDICATES, QueryShape, query_shape

WHERE = "select count(*) from t where "
SAME = "select count(*) from t where l_suppkey = 5 and l_shipmode in ('AIR')"


HOSTILE = {
    "identifier of a megabyte": "select " + "a" * 1_000_000 + " from t",
    "quoted identifier of a megabyte": 'select "' + "a" * 1_000_000 + '" from t',
    "unterminated string": WHERE + "a = '" + "x" * 90_000,
    "unterminated name": WHERE + 'a = "' + "x" * 90_000,
    "unterminated comment": "select a from t /*" + "x" * 90_000,
    "brackets": WHERE + "(" * 50_000,
    "closed brackets": WHERE + "(" * 40_000 + "a = 1" + ")" * 40_000,
    "nots": WHERE + "not " * 20_000 + "a = 1",
    "nots in brackets": WHERE + "not (" * 15_000 + "a = 1" + ")" * 15_000,
    "minuses": WHERE + "a = " + "- " * 40_000 + "1",
    "ors": WHERE + " or ".join(["a = 1"] * 10_000),
    "ands of ranges": WHERE + " and ".join(["a > 1"] * 10_000),
    "ors of ands": WHERE + " or ".join(["a = 1 and b = 2"] * 4_000),
    "sums": WHERE + "a = " + "+".join("b" * 40_000),
    "cases": WHERE + "a = " + "case when " * 3_000,
    "nested cases": WHERE + "a = " + "case when a = 1 then 1 else " * 300 + "1" + " end" * 300,
    "chained IN": WHERE + "a in " * 10_000 + "(1)",
    "chained casts": WHERE + "cast(" * 50 + "a" + " as int)" * 50 + " = 1",
    "arrows": "select " + "x -> " * 10_000 + "x from t",
    "dotted name": WHERE + "a" + ".b" * 40_000 + " = 1",
    "subscripts": WHERE + "a" + "[1]" * 20_000 + " = 1",
    "select list": "select " + ",".join("a" * 45_000) + " from t",
    "semicolons": "select a from t" + ";" * 90_000,
    "statements": ";".join(["select a from t"] * 5_000),
    "null bytes": "select a\x00 from t\x00 where b\x00 = 'x\x00y'",
    "only slots": SLOT * 90_000,
    "surrogates": "select \"\ud800\" from t where a = '\udfff'",
    "control characters": "\x1b[2Jselect\x07 a from t where b = \x9b1",
    "right to left": "select \u202ea from t where b = 1",
    "braces": WHERE + "{" * 30_000,
    "types": WHERE + "cast(a as " + "array<" * 10_000,
    "with": "with " * 20_000 + "select a from t",
    "unions": " union ".join(["select a from t"] * 4_000),
    "long list": WHERE + "a in (" + ", ".join(map(str, range(200_000))) + ")",
    "aliases of aliases": "select "
    + ", ".join(f"a{n} as a{n + 1}" for n in range(3_000))
    + " from t where a1 = 1",
}
fragments = st.sampled_from(
    [
        "select",
        "from",
        "where",
        "and",
        "or",
        "not",
        "in",
        "between",
        "like",
        "is",
        "null",
        "(",
        ")",
        ",",
        "=",
        "<>",
        "<",
        ">",
        "+",
        "-",
        "*",
        "/",
        ".",
        ";",
        "a",
        "b",
        "t",
        "'x'",
        "1",
        "2.5",
        "case",
        "when",
        "then",
        "end",
        "count(*)",
        "group",
        "by",
        "order",
        "limit",
        "filter(",
        "distinct",
        "as",
        "option(",
        "cast(",
        "upper(",
        '"',
        "`",
        "[",
        "]",
        "true",
    ]
)
WRITER = runpy.run_path(str(Path(__file__).with_name("write_golden.py")))


def shape_of(sql: str) -> QueryShape:
    return query_shape(normalize_sql(sql).skeleton)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT  COUNT(*)\nFROM t WHERE l_suppkey=7 AND l_shipmode IN ('MAIL', 'SHIP')",
        "select count(*) from t where l_suppkey = 1 and l_shipmode in ('A', 'B', 'C') option(timeoutMs=5)",
        "SET timeoutMs = 5; select count(*) from t where l_suppkey = 1 and l_shipmode in ('A'); ",
        "select count(*) /* x */ from t where l_suppkey = 1 and l_shipmode in ('A') -- 'y'",
    ],
)
def test_spellings_of_one_query_have_one_id(sql: str) -> None:
    assert shape_of(sql) == shape_of(SAME)


@pytest.mark.parametrize(
    "sql",
    [
        # The order of the text decides what is scanned.
        "select count(*) from t where l_shipmode in ('AIR') and l_suppkey = 5",
        "select count(*) from u where l_suppkey = 5 and l_shipmode in ('AIR')",
        "select count(*) from t where l_suppkey = 5 and l_shipmode = 'AIR'",
        "select count(*) from t where L_SUPPKEY = 5 and l_shipmode in ('AIR')",  # Pinot's names have a case
        "select l_tax from t where l_suppkey = 5 and l_shipmode in ('AIR')",
    ],
)
def test_other_queries_have_other_ids(sql: str) -> None:
    assert shape_of(sql).shape_id != shape_of(SAME).shape_id


def test_filter_columns_in_text_order() -> None:
    shape = shape_of(WHERE + "b = 1 and (upper(a) = 'x' or c > 2 or b < 1)")
    assert shape.filter_columns == ("b", "a", "c")


def test_equalities_of_one_column_count_as_one_predicate() -> None:
    shape = shape_of(WHERE + " or ".join(f"a = {number}" for number in range(2_000)))
    (leaf,) = leaves(shape.filter)
    assert [slot.position for slot in leaf.slots] == list(range(2_000))


@pytest.mark.parametrize("word", ["and", "or"])
def test_too_many_predicates(word: str) -> None:
    assert shape_of(WHERE + f" {word} ".join(f"c{n} = 1" for n in range(MAX_PREDICATES)))
    with pytest.raises(UnsupportedQuery) as refused:
        shape_of(WHERE + f" {word} ".join(f"c{n} = 1" for n in range(MAX_PREDICATES + 1)))
    assert refused.value.reason == "too_many_predicates"


@pytest.mark.parametrize("text", [":p7", ": p7", ':"p7"', ":p0", "@p7", "$p7", "{p7}", "%(p7)s"])
def test_text_that_looks_like_a_slot_is_none(text: str) -> None:
    try:
        shape = shape_of(f"select count(*) from t where a = {text}")
    except UnsupportedQuery:
        return
    assert [slot for leaf in leaves(shape.filter) for slot in leaf.slots] == []


@pytest.mark.timeout(30)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_parsed_or_refused(name: str) -> None:
    try:
        shape = shape_of(HOSTILE[name])
    except UnsupportedQuery as refused:
        assert refused.reason in {
            "too_long",
            "too_deep",
            "syntax",
            "not_a_select",
            "several_tables",
            "too_many_predicates",
        }
        assert len(str(refused)) <= 500
        assert str(refused).isprintable()
    else:
        assert len(list(leaves(shape.filter))) <= MAX_PREDICATES


def test_deep_text_is_refused_wherever_the_stack_already_stands() -> None:
    def at_depth(frames: int) -> None:
        if frames:
            at_depth(frames - 1)
            return
        with pytest.raises(UnsupportedQuery):
            shape_of(WHERE + "a = " + "case when a = 1 then 1 else " * 300 + "1" + " end" * 300)

    at_depth(sys.getrecursionlimit() // 2)


@settings(max_examples=300)
@given(words=st.lists(fragments, max_size=30), is_query=st.booleans())
def test_any_mixture_of_words_is_a_shape_or_refused(words: list[str], is_query: bool) -> None:
    cut = normalize_sql((WHERE if is_query else "") + " ".join(words))
    try:
        shape = query_shape(cut.skeleton)
    except UnsupportedQuery:
        return
    positions = [slot.position for leaf in leaves(shape.filter) for slot in leaf.slots]
    assert all(0 <= position < len(cut.literals) for position in positions)
    if isinstance(shape.limit, Slot):
        assert shape.limit.position < len(cut.literals)


@pytest.mark.parametrize("path", sorted(WRITER["FOLDER"].glob("*.txt")), ids=lambda path: path.stem)
def test_queries_read_as_their_golden_file(path: Path) -> None:
    text = path.read_text()
    assert WRITER["golden_file"](text) == text
    assert len(WRITER["queries_of"](text)) >= 10
