"""Names of functions are compared as Pinot compares them, and Pinot's functions take Pinot's arguments."""

from __future__ import annotations

import pytest
from starskip.sql.function_names import is_aggregation_name
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.predicate import Leaf, Not, Operator, Predicate
from starskip.sql.query_shape import QueryShape, query_shape


def shape(sql: str) -> QueryShape:
    return query_shape(normalize_sql(sql).skeleton)


def filter_of(condition: str) -> Predicate:
    return shape(f"SELECT a FROM t WHERE {condition}").filter


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("regexpLike(a, 'x')", "REGEXP_LIKE(a, 'x')"),
        ("reg_exp_like(a, 'x', 'i')", "REGEXP_LIKE(a, 'x', 'i')"),
        ("textMatch(a, 'x')", "TEXT_MATCH(a, 'x')"),
        ("TEXTMATCH(a, 'x', 'y')", "TEXT_MATCH(a, 'x', 'y')"),
        ("jsonMatch(a, 'x')", "JSON_MATCH(a, 'x')"),
        ("vectorSimilarity(a, ARRAY[1.0], 2)", "VECTOR_SIMILARITY(a, ARRAY[1.0], 2)"),
        ("equals(a, 3)", "a = 3"),
        ("NOT_EQUALS(a, 3)", "a <> 3"),
        ("lessThanOrEqual(a, 3)", "a <= 3"),
        ("greater_than(3, a)", "3 > a"),
        ("isNull(a)", "a IS NULL"),
        ("IS_NOT_NULL(a)", "a IS NOT NULL"),
        ("OR(a = 1, b > 2, c < 3)", "(a = 1 OR b > 2 OR c < 3)"),
        ("and(a = 1, b > 2)", "(a = 1 AND b > 2)"),
        ("a LIKE 'x' ESCAPE '!'", "a LIKE 'x'"),
    ],
)
def test_a_predicate_called_by_any_spelling_is_that_predicate(written: str, meant: str) -> None:
    assert filter_of(written) == filter_of(meant)
    assert filter_of(f"NOT {written}") == Not(filter_of(meant))


def test_an_index_of_its_own_answers_textmatch() -> None:
    leaf = filter_of("textmatch(a, 'x')")
    assert isinstance(leaf, Leaf)
    assert leaf.operator is Operator.OWN_INDEX


def test_spellings_of_a_function_make_one_shape_and_other_functions_another() -> None:
    names = ("DISTINCTCOUNTHLL", "distinctCountHLL", "distinct_count_hll", '"x"')
    ids = [shape(f"SELECT {name}(a) FROM t WHERE b = 1").shape_id for name in names[:3]]
    assert len(set(ids)) == 1
    assert shape("SELECT DISTINCTCOUNT(a) FROM t WHERE b = 1").shape_id not in ids
    quoted = shape('SELECT DISTINCTCOUNTHLL("a") FROM t WHERE "b" = 1')
    assert quoted.shape_id == ids[0]
    assert shape('SELECT DISTINCTCOUNTHLL("a.b") FROM t WHERE b = 1').shape_id not in ids


@pytest.mark.parametrize(
    "item",
    [
        "ARRAY_AGG(c, 'STRING', true)",
        "arrayAgg(c, 'INT')",
        "BOOLOR(c)",
        "BOOL_AND(c)",
        "PERCENTILETDIGEST95(c)",
        "percentile_raw_est(c, 50)",
        "MIN_MAX_RANGE(c)",
        "LASTWITHTIME(c, d, 'INT')",
        "FUNNEL_COUNT(STEPS(a = 'x'), CORRELATE_BY(c))",
        "sum_precision(c, 3)",
        "frequentLongsSketch(c, 16)",
    ],
)
def test_an_aggregation_needs_all_rows(item: str) -> None:
    assert not shape(f"SELECT {item} FROM t WHERE a = 1").stops_early


@pytest.mark.parametrize(
    "item",
    [
        *("HOUR(c, 'Europe/Berlin')", "minute(c, 'CET')", "dayOfMonth(c, 'UTC')", "minus(c, d)", "DIV(c, 2)"),
        *(
            "weekOfYear(c, 'UTC')",
            "json_extract_scalar(c, '$.a', 'INT', 0)",
            "date_trunc('DAY', c, 'SECONDS', 'UTC', 'DAYS')",
            "split(c, ',', 1)",
            "ST_DISTANCE(c, d)",
            "ROUND(c, 1, 2, 3, 4)",
            "strpos(c)",
        ),
    ],
)
def test_a_function_takes_the_arguments_that_pinot_gives_it(item: str) -> None:
    found = shape(f"SELECT {item} FROM t WHERE a = 1")
    assert found.stops_early
    literals = normalize_sql(item).literals
    assert found.text.count("?") == len(literals) + 1, "shapes of other literals are other shapes"
    leaf = filter_of(f"{item} = 3")
    assert isinstance(leaf, Leaf)
    assert (leaf.operator, "c" in leaf.columns) == (Operator.EXPRESSION, True)


def test_names_that_begin_as_aggregations_do_are_none() -> None:
    assert not any(map(is_aggregation_name, ("MINUS", "minute", "mode2", "summary", "counter", "maximum")))
