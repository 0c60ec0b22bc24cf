"""SQL texts taken apart: what a star-tree must hold, what is left to finish, what no star-tree answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.errors import UnsupportedQuery
from starskip.star_tree.aggregation_query import aggregation_query, tree_demand
from starskip.star_tree.measure import COUNT_ROWS, Measure, MeasureKind
from starskip.star_tree.query.sql_select import MAX_TEXT_CHARACTERS

COLUMNS = ("Country", "Browser", "day", "price", "Price2", "order")


def measure(kind: MeasureKind, column: str = "price") -> Measure:
    return Measure.of(kind, column)


SUM, COUNT = measure(MeasureKind.SUM), measure(MeasureKind.COUNT)
LEAST, GREATEST = measure(MeasureKind.MIN), measure(MeasureKind.MAX)


@pytest.mark.parametrize(
    ("call", "measures", "percentile"),
    [
        ("COUNT(*)", (COUNT_ROWS,), None),
        ("count(1)", (COUNT_ROWS,), None),
        ("COUNT(price)", (COUNT,), None),
        ("min(price)", (LEAST,), None),
        ("MAX((price))", (GREATEST,), None),
        ("SUM(price)", (SUM,), None),
        ("avg(price)", (SUM, COUNT), None),
        ("MINMAXRANGE(price)", (LEAST, GREATEST), None),
        ("min_max_range(price)", (LEAST, GREATEST), None),
        ("DISTINCTCOUNTHLL(price)", (measure(MeasureKind.HLL),), None),
        ("distinct_count_hll(price, 12)", (measure(MeasureKind.HLL),), None),
        ("approx_count_distinct(price)", (measure(MeasureKind.HLL),), None),
        ("PERCENTILEEST(price, 99.9)", (measure(MeasureKind.KLL),), 99.9),
        ("PERCENTILEEST95(price)", (measure(MeasureKind.KLL),), 95.0),
        ("PERCENTILEEST100(price)", (measure(MeasureKind.KLL),), 100.0),
        ("PercentileTDigest(price, 0)", (measure(MeasureKind.T_DIGEST),), 0.0),
        ("PERCENTILETDIGEST50(price)", (measure(MeasureKind.T_DIGEST),), 50.0),
    ],
)
@pytest.mark.parametrize("dialect", ["pinot", "spark"])
def test_each_function_needs_its_measures(
    call: str, measures: tuple[Measure, ...], percentile: float | None, dialect: str
) -> None:
    query = aggregation_query(f"SELECT {call} FROM t", dialect)
    assert tree_demand(query).measures == measures
    assert query.aggregates[0].percentile == percentile


@pytest.mark.parametrize("name", ["percentile_approx", "approx_percentile"])
@pytest.mark.parametrize("accuracy", ["", ", 100"])
def test_spark_writes_a_percentile_as_a_fraction(name: str, accuracy: str) -> None:
    query = aggregation_query(f"SELECT {name}(price, 0.25{accuracy}) FROM t", "spark")
    assert tree_demand(query).measures == (measure(MeasureKind.KLL),)
    assert query.aggregates[0].percentile == 25.0


@pytest.mark.parametrize("fraction", ["1.5", "array(0.1, 0.2)", "-0.1", "'a'"])
def test_a_fraction_that_is_none_is_refused(fraction: str) -> None:
    with pytest.raises(UnsupportedQuery):
        aggregation_query(f"SELECT approx_percentile(price, {fraction}) FROM t", "spark")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT SUM(price * 2) FROM t", "expression"),
        ("SELECT SUM(1) FROM t", "expression"),
        ("SELECT COUNT(price, day) FROM t", "expression"),
        ("SELECT MAX(price, day) FROM t", "expression"),
        ("SELECT COUNT(DISTINCT price) FROM t", "distinct"),
        ("SELECT SUM(DISTINCT price) FROM t", "distinct"),
        ("SELECT DISTINCTCOUNT(price) FROM t", "function"),
        ("SELECT PERCENTILE95(price) FROM t", "function"),
        ("SELECT STDDEV(price) FROM t", "function"),
        ("SELECT PERCENTILEEST(price) FROM t", "argument"),
        ("SELECT PERCENTILEEST(price, 101) FROM t", "argument"),
        ("SELECT DISTINCTCOUNTHLL(price, 14) FROM t", "precision"),
        ("SELECT approx_count_distinct(price, 0.001) FROM t", "precision"),
        ("SELECT SUM(price) FILTER (WHERE day > '2026-01-01') FROM t", "filter_clause"),
        ("SELECT SUM(price) OVER (PARTITION BY day) FROM t", "window"),
        ("SELECT SUM(price) FROM t QUALIFY 1 = 1", "window"),
        ("SELECT SUM(price) FROM t JOIN u ON t.a = u.a", "several_tables"),
        ("SELECT SUM(price) FROM t, u", "several_tables"),
        ("SELECT SUM(price) FROM (SELECT * FROM t) AS x", "subquery"),
        ("SELECT SUM(price) FROM t WHERE day IN (SELECT day FROM t)", "subquery"),
        ("WITH x AS (SELECT 1) SELECT SUM(price) FROM x", "subquery"),
        ("SELECT SUM(price) FROM t WHERE Country = 'A' OR Browser = 'B'", "several_columns"),
        ("SELECT SUM(price) FROM t WHERE NOT (Country = 'A' AND Browser = 'B')", "several_columns"),
        ("SELECT SUM(price) FROM t WHERE Country < Browser", "several_columns"),
        ("SELECT SUM(price) FROM t WHERE SUM(price) > 3", "aggregate_in_filter"),
        ("SELECT Country, SUM(price) FROM t", "not_grouped"),
        ("SELECT SUM(price) + day FROM t GROUP BY Country", "not_grouped"),
        ("SELECT SUM(price) FROM t ORDER BY day", "not_grouped"),
        ("SELECT * FROM t GROUP BY Country", "not_an_aggregation"),
        ("SELECT Country FROM t", "not_an_aggregation"),
        ("SELECT Country || Browser, SUM(price) FROM t GROUP BY 1", "several_columns"),
        ("SELECT SUM(price) FROM t GROUP BY 'x'", "ordinal"),
        ("SELECT SUM(price) FROM t GROUP BY 1", "grouping"),
        ("SELECT SUM(price) FROM t GROUP BY 2", "ordinal"),
        ("SELECT SUM(price) FROM t ORDER BY 2", "ordinal"),
        ("SELECT Country, SUM(price) FROM t GROUP BY ROLLUP (Country)", "grouping"),
        ("SELECT Country, SUM(price) FROM t GROUP BY CUBE (Country)", "grouping"),
        ("SELECT SUM(price) FROM t LIMIT 1 + 1", "argument"),
        ("SELECT SUM(price) FROM t TABLESAMPLE (10 PERCENT)", "sample"),
        ("SELECT read_text('x'), SUM(price) FROM t", "function"),
        ("SELECT SUM(price) FROM t WHERE getenv('x') = day", "function"),
        ("SELECT dayofweek(day), SUM(price) FROM t GROUP BY 1", "function"),
        ("SELECT date_trunc('fortnight', day), SUM(price) FROM t GROUP BY 1", "function"),
        ("SELECT SUM(price) FROM read_csv('x')", "not_a_select"),
        ("SELECT SUM(price)", "not_a_select"),
        ("SELECT SUM(price) FROM t; SELECT 1", "not_a_select"),
        ("DROP TABLE t", "not_a_select"),
        ("", "not_a_select"),
        ("SELECT SUM(price FROM t", "syntax"),
        ("SELECT 'abc FROM t", "syntax"),
        ("SELECT SUM(price) FROM t WHERE " + "(" * 100 + "day = 1" + ")" * 100, "too_deep"),
        ("SELECT SUM(price) FROM t WHERE day IN (" + "1, " * MAX_TEXT_CHARACTERS + "1)", "too_long"),
    ],
)
def test_what_no_star_tree_answers_has_a_reason(text: str, reason: str) -> None:
    with pytest.raises(UnsupportedQuery) as caught:
        aggregation_query(text)
    assert caught.value.reason == reason
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("function", "end"),
    [
        ("DISTINCTCOUNT", "; DISTINCTCOUNTHLL approximates it"),
        ("MEDIAN", "; PERCENTILEEST or PERCENTILETDIGEST approximates it"),
        ("MODE", ""),
    ],
)
def test_what_approximates_a_function_without_bound_is_named_where_there_is_such(
    function: str, end: str
) -> None:
    with pytest.raises(UnsupportedQuery, match=f"^{function} has no .*, so that no star-tree keeps it{end}$"):
        aggregation_query(f"SELECT {function}(price) FROM t")


def test_conjuncts_are_of_one_column_each() -> None:
    query = aggregation_query(
        "SELECT COUNT(*) FROM t WHERE (Country = 'A' OR Country IN ('B')) "
        "AND ((day > 1 AND NOT day = 3)) AND 1 = 1"
    )
    assert [each.column for each in query.conjuncts] == ["Country", "day", "day", None]


def test_a_negated_or_is_an_and() -> None:
    query = aggregation_query("SELECT COUNT(*) FROM t WHERE NOT (Country = 'A' OR NOT Browser LIKE 'B%')")
    assert [(each.column, each.expression.sql()) for each in query.conjuncts] == [
        ("Country", "NOT (\"Country\" = 'A')"),
        ("Browser", "\"Browser\" LIKE 'B%'"),
    ]


def test_thousands_of_predicates_are_walked_not_recursed() -> None:
    text = " OR ".join(f"day = {number}" for number in range(5000))
    (conjunct,) = aggregation_query(f"SELECT COUNT(*) FROM t WHERE {text}").conjuncts
    assert conjunct.column == "day"


def test_names_are_found_whatever_their_case_and_spelt_as_the_table_does() -> None:
    query = aggregation_query(
        "SELECT t.COUNTRY, sum(PRICE) FROM T WHERE \"browser\" = 'x' AND `ORDER` > 1 GROUP BY country",
        columns=COLUMNS,
    )
    demand = tree_demand(query)
    assert demand.predicate_columns == ("Browser", "order")
    assert demand.group_by_columns == ("Country",)
    assert demand.measures == (SUM,)
    assert query.finishing.names == ("Country", "sum(PRICE)")


def test_names_that_differ_in_case_only_are_told_apart() -> None:
    query = aggregation_query("SELECT SUM(a), SUM(A) FROM t", columns=("a", "A"))
    assert [call.column for call in query.aggregates] == ["a", "A"]
    with pytest.raises(UnsupportedQuery):
        aggregation_query("SELECT SUM(aB) FROM t", columns=("ab", "AB"))


@pytest.mark.parametrize("text", ["SELECT SUM(nope) FROM t", "SELECT SUM(price) FROM t WHERE u.day = 1"])
def test_an_unknown_column_is_named(text: str) -> None:
    with pytest.raises(UnsupportedQuery, match=r"nope|u\.day") as caught:
        aggregation_query(text, columns=COLUMNS)
    assert caught.value.reason == "unknown_column"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT date_trunc('month', day) m, SUM(price) s FROM t GROUP BY m HAVING s > 3 ORDER BY s DESC, m",
        "SELECT DATETRUNC('MONTH', day), SUM(price) FROM t GROUP BY 1 HAVING SUM(price)>3 ORDER BY 2 DESC, 1",
        "SELECT date_trunc('month', day), SUM(price) FROM t GROUP BY date_trunc('MONTH', DAY) "
        "HAVING (SUM(Price)) > 3 ORDER BY SUM(price) DESC, date_trunc('month', day)",
    ],
)
def test_aliases_ordinals_and_the_expressions_themselves_mean_the_same(text: str) -> None:
    query = aggregation_query(text, columns=COLUMNS)
    assert [group.column for group in query.group_by] == ["day"]
    assert query.finishing.select.replace('("a0")', '"a0"') == (
        'SELECT "g0" AS c0, "a0" AS c1 FROM groups WHERE "a0" > 3 ORDER BY 2 DESC NULLS FIRST, 1'
    )


def test_a_column_goes_before_an_alias_in_where_and_after_it_in_order_by() -> None:
    query = aggregation_query(
        "SELECT Browser AS Country, SUM(price) FROM t WHERE Country = 'A' GROUP BY Browser ORDER BY Country",
        columns=COLUMNS,
    )
    assert tree_demand(query).predicate_columns == ("Country",)
    assert query.finishing.select.endswith("ORDER BY 1")


def test_distinct_is_a_group_by() -> None:
    query = aggregation_query("SELECT DISTINCT Country, upper(Browser), day || price FROM t")
    assert [(group.column, group.is_plain) for group in query.group_by] == [
        *(("Country", True), ("Browser", False), ("day", True), ("price", True)),
    ]
    assert query.finishing.columns is None


def test_group_by_all_is_what_is_not_aggregated() -> None:
    query = aggregation_query("SELECT Country, SUM(price), day FROM t GROUP BY ALL", "spark")
    assert [group.column for group in query.group_by] == ["Country", "day"]


def test_a_plain_answer_needs_no_finishing() -> None:
    query = aggregation_query("SELECT SUM(price), Country, SUM(price) AS again FROM t GROUP BY Country")
    assert query.finishing.columns == ("a0", "g0", "a0")
    assert query.finishing.names == ("sum(price)", "Country", "again")


@pytest.mark.parametrize(
    ("dialect", "order", "nulls"),
    [
        ("pinot", "Country", ""),
        ("pinot", "Country DESC", " NULLS FIRST"),
        ("pinot", "Country DESC NULLS LAST", ""),
        ("spark", "Country", " NULLS FIRST"),
        ("spark", "Country DESC", ""),
    ],
)
def test_nulls_sort_as_the_dialect_sorts_them(dialect: str, order: str, nulls: str) -> None:
    query = aggregation_query(f"SELECT Country FROM t GROUP BY 1 ORDER BY {order}", dialect)
    down = " DESC" if "DESC" in order else ""
    assert query.finishing.select.endswith(f"ORDER BY 1{down}{nulls}")


@pytest.mark.parametrize(
    ("dialect", "item", "name"),
    [
        ("pinot", "SUM( price )", "sum(price)"),
        ("pinot", "COUNT(*)", "count(*)"),
        ("pinot", "PERCENTILEEST(price, 95)", "percentileest(price,95)"),
        ("pinot", 'SUM("price") / COUNT(*)', "sum(price) / count(*)"),
        ("pinot", "SUM(price) AS Total", "Total"),
        ("pinot", "SUM(price),", 'SUM("price")'),
        ("pinot", "CASE WHEN SUM(price) > 1 THEN 'a b' END", "CASE WHEN sum(price) > 1 THEN 'a b' END"),
        ("spark", "COUNT(*)", "count(1)"),
        ("spark", "percentile_approx(price, 0.5)", "percentile_approx(price, 0.5)"),
        ("spark", "SUM(`price`)", "sum(price)"),
    ],
)
def test_columns_are_named_as_the_dialect_names_them(dialect: str, item: str, name: str) -> None:
    assert aggregation_query(f"SELECT {item} FROM t", dialect).finishing.names == (name,)


@pytest.mark.parametrize(
    "text",
    [
        "SET timeoutMs = 10; SELECT SUM(price) FROM t",
        "SELECT SUM(price) FROM t OPTION(timeoutMs=10)",
        "SELECT SUM(price) FROM t LIMIT 5 OPTION(a=1) OPTION(b=2);",
        "(SELECT SUM(price) FROM t)",
        "SELECT SUM(price) FROM t -- a comment ; SELECT 2",
    ],
)
def test_options_and_comments_are_left_out(text: str) -> None:
    assert tree_demand(aggregation_query(text)).measures == (SUM,)


def test_the_shape_of_a_log_has_question_marks() -> None:
    query = aggregation_query(
        "SELECT PERCENTILEEST(price, ?) FROM t WHERE day > ? AND Country IN (?) GROUP BY Browser LIMIT ?"
    )
    assert query.is_template
    assert tree_demand(query).predicate_columns == ("day", "Country")
    assert not aggregation_query("SELECT SUM(price) FROM t").is_template


_WORDS = (
    *("SELECT", "FROM", "WHERE", "GROUP BY", "HAVING", "ORDER BY", "LIMIT", "NOT", "IN", "AND", "OR", "OVER"),
    *(
        "(",
        ")",
        ",",
        "*",
        "=",
        "'",
        '"',
        "`",
        ";",
        "?",
        "sum(a)",
        "a",
        "b",
        "1",
        "'x'",
        "case",
        "end",
        "cast",
        "as",
    ),
)


@given(
    st.text(max_size=60)
    | st.lists(st.sampled_from(_WORDS), max_size=25).map(lambda words: "SELECT " + " ".join(words))
)
def test_any_text_is_understood_or_refused(text: str) -> None:
    for dialect in ("pinot", "spark"):
        try:
            aggregation_query(text, dialect)
        except UnsupportedQuery as error:
            assert error.reason
