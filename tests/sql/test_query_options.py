"""Options that decide which indexes answer a query, in every place and spelling that Pinot takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import UnsupportedQuery
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.predicate import leaves
from starskip.sql.query_options import QueryOptions, split_options
from starskip.sql.query_shape import query_shape
from starskip.sql.query_text import query_text

QUERY = "SELECT COUNT(*) FROM t WHERE a = 'x;y' AND b IN (1, 2)"
PLACES = (
    "{before} ; {query}",
    "set timeoutMs = 5; {before};\n{query};;",
    "{query} -- done\n; {before}",
    "/* SET x=1; */ SET w='a;b'; {query} ; {before} ; SET \"x;\"=3;",
)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("SET timeoutMs=10", QueryOptions()),
        ("SET useStarTree=true", QueryOptions()),
        ("SET useStarTree=false", QueryOptions(uses_star_tree=False)),
        ("set `USESTARTREE` = 'False'", QueryOptions(uses_star_tree=False)),
        ("SET 'useStarTree'='false'", QueryOptions(uses_star_tree=False)),
        ("SET useStarTree=false; SET useStarTree=true", QueryOptions()),
        ('SET "enableNullHandling"=TRUE', QueryOptions(handles_nulls=True)),
        ("SET enableNullHandling=yes", QueryOptions()),
        (
            "SET skipIndexes='a=inverted,RANGE&b=sorted'",
            QueryOptions(skipped_indexes={"a": frozenset({"inverted", "range"}), "b": frozenset({"sorted"})}),
        ),
        ("SET skipIndexes='a'", QueryOptions()),
    ],
)
def test_options_that_decide_stay_and_others_make_no_other_query(
    place: str, words: str, options: QueryOptions
) -> None:
    cut = normalize_sql(place.format(before=words, query=QUERY))
    found, rest = split_options(cut.skeleton)
    assert (found, rest) == (options, normalize_sql(QUERY).skeleton)
    assert cut.literals == normalize_sql(QUERY).literals
    shape, plain = query_shape(cut.skeleton), query_shape(rest)
    assert (shape.shape_id == plain.shape_id) == (options == QueryOptions())
    again = normalize_sql(query_text(cut.skeleton, cut.literals))
    assert again == cut


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("OPTION(timeoutMs=9000, useStarTree=False)", QueryOptions(uses_star_tree=False)),
        ("option ( a='b', enableNullHandling = 'true' ) OPTION(c=1);", QueryOptions(handles_nulls=True)),
        ("OPTION(a='useStarTree=false')", QueryOptions()),
    ],
)
def test_options_behind_the_query(words: str, options: QueryOptions) -> None:
    cut = normalize_sql(f"{QUERY} {words}")
    assert split_options(cut.skeleton) == (options, normalize_sql(QUERY).skeleton)
    assert cut.literals == normalize_sql(QUERY).literals


def test_a_query_does_without_the_indexes_that_it_skips() -> None:
    cut = normalize_sql("SET skipIndexes='a=inverted'; SELECT b FROM t WHERE NOT (a = 1 OR b = 2)")
    assert {leaf.column: leaf.skipped_indexes for leaf in leaves(query_shape(cut.skeleton).filter)} == {
        "a": frozenset({"inverted"}),
        "b": frozenset(),
    }


@pytest.mark.parametrize(
    "text", ["SET a=1", "SET a=1; SELECT 1 FROM t; SELECT 2 FROM t", "SELECT a FROM t; DROP TABLE t"]
)
def test_a_text_of_no_query_or_of_several_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedQuery):
        query_shape(normalize_sql(text).skeleton)


@given(st.text(alphabet="SETset ax=1;'\"`()&,\x00-", max_size=60))
def test_any_text_has_options(text: str) -> None:
    cut = normalize_sql(text)
    options, rest = split_options(cut.skeleton)
    assert cut.skeleton == options.words + rest or options == QueryOptions()
    assert cut.skeleton.count("\x00") == len(cut.literals)
