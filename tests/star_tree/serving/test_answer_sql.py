"""SQL asked of opened trees: which tree answers, what is read, what the answer says of itself."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from starskip.errors import StarskipError, UnsupportedQuery
from starskip.star_tree.scalar_expressions import ScalarExpressions
from starskip.star_tree.serving.answer_sql import Answer, answer_sql
from starskip.star_tree.serving.finished_answer import ERROR_BOUND
from starskip.star_tree.serving.tree_set import TreeSet

pytestmark = pytest.mark.slow

DAYS = [(1, 30), (2, 1), (2, 2), (0, 0), (1, 31), (2, 9)]
PRICES = ["1.50", None, "2.25", "-1.00", "9.99", "0.01"]
ROWS = pa.table(
    {
        "country": ["US", "US", "CA", None, "MX", "US"],
        "browser": ["a", "b", "a", "b", None, "a"],
        "day": pa.array([date(2024, m, d) if m else None for m, d in DAYS]),
        "price": pa.array([p and Decimal(p) for p in PRICES], pa.decimal128(15, 2)),
        "clicks": pa.array([2**62, 2**62, 2, 3, 4, 5], pa.int64()),
        "score": [0.5, 0.25, None, 1.0, -1.0, 2.0],
    }
)  # fmt: skip
CENTS = Decimal("0.51")
PAIRS = (
    "COUNT__* SUM__price AVG__price MINMAXRANGE__clicks MIN__score MAX__day SUM__clicks SUM__score "
    "DISTINCTCOUNTHLL__browser PERCENTILEEST__score PERCENTILETDIGEST__score"
)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "sales.parquet"
    pq.write_table(ROWS, path)
    return path


@pytest.fixture(scope="module")
def sales(trees: SimpleNamespace, table: Path) -> TreeSet:
    opened: TreeSet = trees.build(
        table,
        trees.config("country day", PAIRS),
        trees.config("browser country day", "COUNT__* SUM__price", leaf=10),
    )
    return opened


@pytest.fixture(scope="module")
def seed(trees: SimpleNamespace, tmp_path_factory: pytest.TempPathFactory) -> TreeSet:
    path = tmp_path_factory.mktemp("seed") / "seed.csv"
    path.write_text(trees.SEED_ROWS)
    opened: TreeSet = trees.build(path, trees.config("Country Browser Locale", "SUM__Impressions"))
    return opened


def rows(answer: Answer) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in answer.table.columns), strict=True))


@pytest.mark.parametrize(
    ("where", "wanted", "documents"),
    [
        ("", [(2200,)], 1),
        ("WHERE Country = 'USA'", [(1200,)], 1),
        ("WHERE Locale = 'en'", [(1500,)], 1),
        ("WHERE Country = 'USA' AND Browser = 'Firefox' AND Locale = 'en'", [(400,)], 1),
        ("WHERE Country = 'nowhere'", [(None,)], 0),
        ("WHERE Country <> 'nowhere'", [(2200,)], 1),
        ("WHERE Country <> 'nowhere' OR Country IS NULL", [(2200,)], 1),
        ("WHERE 1 = 1", [(2200,)], 1),
        ("WHERE 1 = 0", [(None,)], 0),
        ("WHERE NULL", [(None,)], 0),
    ],
)
def test_the_example_of_the_seed(seed: TreeSet, where: str, wanted: list[Any], documents: int) -> None:
    answer = answer_sql(seed, f"SELECT SUM(Impressions) FROM T {where}")
    assert (rows(answer), answer.documents_read, answer.documents_total) == (wanted, documents, 27)
    assert (answer.star_tree, answer.reason, answer.tree, answer.approximations) == (True, None, 0, ())


def test_a_group_reads_one_document(seed: TreeSet) -> None:
    answer = answer_sql(seed, "SELECT Browser, SUM(Impressions) FROM Table1 GROUP BY Browser")
    assert rows(answer) == [("Chrome", 1000), ("Firefox", 800), ("Safari", 400)]
    assert answer.documents_read == 3
    assert answer.table.column_names == ["Browser", "sum(Impressions)"]


def test_all_functions_of_one_group(sales: TreeSet) -> None:
    answer = answer_sql(
        sales,
        "SELECT COUNT(*), COUNT(price), SUM(price), AVG(price), MINMAXRANGE(clicks), MIN(score), MAX(day), "
        "SUM(clicks), DISTINCTCOUNTHLL(browser), PERCENTILEEST(score, 50), PERCENTILETDIGEST100(score) "
        "FROM t WHERE country = 'US'",
    )
    assert rows(answer) == [
        (
            3,
            2,
            Decimal("1.51"),
            pytest.approx(0.755),
            2**62 - 5,
            0.25,
            date(2024, 2, 9),
            2**63 + 5,
            2,
            0.5,
            2.0,
        )
    ]
    assert [each.column for each in answer.approximations] == [
        *("distinctcounthll(browser)", "percentileest(score,50)", "percentiletdigest100(score)")
    ]
    bounds = [field.metadata and field.metadata.get(ERROR_BOUND) for field in answer.table.schema]
    assert bounds[:8] == [None] * 8
    assert [bound.decode() for bound in bounds[8:]] == [each.bound for each in answer.approximations]


def test_a_group_without_values_has_null_and_a_count_of_zero(sales: TreeSet) -> None:
    answer = answer_sql(
        sales,
        "SELECT COUNT(*), COUNT(price), SUM(price), AVG(price), MINMAXRANGE(clicks), MAX(day), SUM(score), "
        "DISTINCTCOUNTHLL(browser), PERCENTILEEST(score, 50), PERCENTILETDIGEST(score, 50) FROM t "
        "WHERE country = '-'",
    )
    assert rows(answer) == [(0, 0, None, None, None, None, None, 0, None, None)]
    assert (
        rows(answer_sql(sales, "SELECT country, SUM(score) FROM t WHERE country = '-' GROUP BY country"))
        == []
    )


def test_the_first_tree_that_fits_answers(sales: TreeSet) -> None:
    assert answer_sql(sales, "SELECT country, COUNT(*) FROM t GROUP BY country").tree == 0
    assert answer_sql(sales, "SELECT browser, COUNT(*) FROM t GROUP BY browser").tree == 1


def test_functions_share_measures(sales: TreeSet) -> None:
    # No pair says COUNT__country or COUNT__clicks; the latter has no nulls, so rows count for it.
    assert rows(answer_sql(sales, "SELECT COUNT(clicks), MIN(clicks), MAX(clicks) FROM t")) == [(6, 2, 2**62)]
    answer = answer_sql(sales, "SELECT COUNT(country) FROM t")
    assert not answer.star_tree
    assert rows(answer) == [(5,)]


def test_rows_are_counted_by_a_column_that_has_no_nulls(trees: SimpleNamespace, table: Path) -> None:
    opened = trees.build(table, trees.config("country", "COUNT__price"), trees.config("day", "COUNT__clicks"))
    by_country = answer_sql(opened, "SELECT COUNT(*) FROM t WHERE country = 'US'")
    assert (by_country.star_tree, rows(by_country)) == (False, [(3,)])
    by_day = answer_sql(opened, "SELECT COUNT(*) FROM t WHERE day > '2024-02-01'")
    assert (by_day.star_tree, rows(by_day)) == (True, [(2,)])


def test_expressions_of_a_dimension_are_groups(sales: TreeSet) -> None:
    answer = answer_sql(
        sales,
        "SELECT date_trunc('month', day) AS month, coalesce(country, '?') AS land, COUNT(*), SUM(price) AS s "
        "FROM t GROUP BY month, land ORDER BY month, land",
    )
    january, february = datetime(2024, 1, 1), datetime(2024, 2, 1)
    assert answer.star_tree
    assert rows(answer) == [
        (january, "MX", 1, Decimal("9.99")),
        (january, "US", 1, Decimal("1.50")),
        (february, "CA", 1, Decimal("2.25")),
        (february, "US", 2, Decimal("0.01")),
        (None, "?", 1, Decimal("-1.00")),
    ]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT country FROM t GROUP BY country HAVING COUNT(*) > 1", [("US",)]),
        (
            "SELECT country, SUM(price) / COUNT(*) AS r FROM t GROUP BY 1 ORDER BY r DESC LIMIT 1",
            [("MX", 9.99)],
        ),
        ("SELECT country c FROM t GROUP BY c ORDER BY COUNT(*) DESC, c DESC LIMIT 2", [("US",), (None,)]),
        ("SELECT country c FROM t GROUP BY c ORDER BY c LIMIT 2 OFFSET 1", [("MX",), ("US",)]),
        ("SELECT country c FROM t GROUP BY c ORDER BY c LIMIT 1, 2", [("MX",), ("US",)]),
        ("SELECT COUNT(*) FROM t HAVING COUNT(*) > 100", []),
        ("SELECT DISTINCT country FROM t WHERE country > 'D' ORDER BY country DESC", [("US",), ("MX",)]),
        ("SELECT COUNT(*) + 1, 'x' AS x FROM t", [(7, "x")]),
        ("SELECT CASE WHEN COUNT(*) > 3 THEN 'many' ELSE 'few' END AS n FROM t", [("many",)]),
    ],
)
def test_finishing(sales: TreeSet, query: str, wanted: list[Any]) -> None:
    answer = answer_sql(sales, query)
    assert answer.star_tree
    assert rows(answer) == wanted


def test_spark_has_nulls_first(sales: TreeSet) -> None:
    query = "SELECT `country` c, count(*) FROM t GROUP BY `country` ORDER BY c LIMIT 1"
    assert rows(answer_sql(sales, query, "spark")) == [(None, 1)]
    assert answer_sql(sales, query, "spark").table.column_names == ["c", "count(1)"]
    assert rows(answer_sql(sales, query, "pinot")) == [("CA", 1)]


@pytest.mark.parametrize(
    ("query", "reason", "wanted"),
    [
        ("SELECT DISTINCTCOUNTHLL(browser, 14) FROM t", "log2m 14", [(2,)]),
        ("SELECT approx_count_distinct(browser, 0.001) FROM t WHERE clicks < 9", "0.001", [(2,)]),
        ("SELECT SUM(price) FROM t WHERE score > 0.3", "score is in WHERE.*country, day", [(CENTS,)]),
        ("SELECT MAX(price) FROM t WHERE browser = 'b'", r"MAX\(price\) is not pre-aggregated", [(-1,)]),
        ("SELECT COUNT(DISTINCT country) FROM t", "DISTINCTCOUNTHLL", [(3,)]),
        ("SELECT SUM(clicks % 10) FROM t WHERE country IS NULL", "SUM of an expression", [(3,)]),
        ("SELECT COUNT(*) FROM t WHERE country = 'US' OR browser = 'b'", "country, browser", [(4,)]),
        ("SELECT COUNT(*) FILTER (WHERE day > '2024-02-01') FROM t", "FILTER", [(2,)]),
        ("SELECT browser FROM t WHERE country = 'CA'", "selects rows", [("a",)]),
        ("SELECT MIN(n) FROM (SELECT country, COUNT(*) AS n FROM t GROUP BY 1) AS x", "subquery", [(1,)]),
        ("SELECT COUNT(*) FROM t a JOIN t b ON a.country = b.country WHERE a.browser = 'a'", "join", [(7,)]),
        ("WITH w AS (SELECT MAX(clicks) m FROM t) SELECT COUNT(*) FROM t, w WHERE clicks=m", "WITH", [(2,)]),
        ("SELECT DISTINCTCOUNTHLL(country), PERCENTILEEST(score, 50) FROM t", "none of 2", [(3, 0.5)]),
        ("SELECT MINMAXRANGE(score) FROM t", "none of 2", [(3.0,)]),
        ("SELECT DISTINCTCOUNT(browser), PERCENTILE95(clicks) FROM t", "DISTINCTCOUNT", [(2, 2**62)]),
    ],
)  # fmt: skip
def test_what_no_tree_answers_is_read_from_the_files(
    sales: TreeSet, query: str, reason: str, wanted: list[Any]
) -> None:
    answer = answer_sql(sales, query)
    assert (answer.star_tree, answer.tree, answer.approximations) == (False, None, ())
    assert (answer.documents_read, answer.documents_total) == (6, 6)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(answer.reason)
    assert rows(answer) == wanted


def test_all_columns_of_rows(sales: TreeSet) -> None:
    answer = answer_sql(sales, "SELECT * FROM t ORDER BY clicks LIMIT 1")
    assert answer.table.column_names == ROWS.column_names
    assert answer.table.schema.types == ROWS.schema.types


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT SUM(nope) FROM t", "no column nope.*browser"),
        ("SELECT SUM(clicks) FROM t WHERE country = 1", "country is of type string"),
        ("SELECT SUM(clicks) FROM t WHERE score = 'x'", "score is of type double"),
        ("SELECT COUNT(*) FROM t WHERE country = ?", r"a \?"),
        ("SELECT COUNT(*) FROM t WHERE browser = ? OR country = 'x'", "cannot be computed"),
        ("SELECT COUNT(*) FROM t WHERE", "cannot be parsed"),
        ("INSERT INTO t VALUES (1)", "not one SELECT"),
        ("SELECT COUNT(*) FROM t JOIN other ON 1 = 1", "2 tables"),
        ("SELECT COUNT(*) FROM read_parquet('x')", "names no table"),
        ("SELECT COUNT(*) FROM t TABLESAMPLE (50 PERCENT)", "samples"),
        ("SELECT COUNT(*) FROM (SELECT * FROM t TABLESAMPLE (5 ROWS)) x", "samples"),
        ("SELECT PERCENTILEEST(score, 101) FROM t", "from 0 to 100"),
        ("SELECT x FROM t, read_text('x')", "not known"),
        ("SELECT read_text('/etc/hostname') FROM t", "READ_TEXT is not known"),
        ("SELECT COUNT(*) FROM t WHERE CAST(country AS INT) = 1", "cannot be computed"),
        ("SELECT country, score FROM t GROUP BY country", "cannot be computed"),
    ],
)
def test_a_wrong_query_is_one_line(sales: TreeSet, query: str, told: str) -> None:
    with pytest.raises(UnsupportedQuery, match=told) as caught:
        answer_sql(sales, query)
    assert "\n" not in str(caught.value)


def test_a_table_without_rows(trees: SimpleNamespace, tmp_path: Path) -> None:
    pq.write_table(ROWS.slice(0, 0), tmp_path / "empty.parquet")
    opened = trees.build(tmp_path / "empty.parquet", trees.config("country day", PAIRS))
    assert rows(answer_sql(opened, "SELECT COUNT(*), SUM(price), PERCENTILEEST(score, 5) FROM t")) == [
        (0, None, None)
    ]
    grouped = answer_sql(
        opened, "SELECT upper(country), MIN(score), DISTINCTCOUNTHLL(browser) FROM t GROUP BY 1"
    )
    assert (grouped.star_tree, rows(grouped)) == (True, [])
    assert rows(answer_sql(opened, "SELECT COUNT(DISTINCT country) FROM t")) == [(0,)]


def test_lists_of_thousands_of_keys_are_answered(sales: TreeSet) -> None:
    keys = ", ".join(f"'{number}'" for number in range(5000))
    equal = " OR ".join(f"country = '{number}'" for number in range(2000))
    for predicate in (f"country IN ({keys}, 'CA')", f"{equal} OR country = 'CA'"):
        assert rows(answer_sql(sales, f"SELECT COUNT(*) FROM t WHERE {predicate}")) == [(1,)]


def test_what_was_asked_before_is_not_computed_over_the_dictionaries_again(
    trees: SimpleNamespace, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = trees.build(table, trees.config("country day", PAIRS))
    queries = [f"SELECT SUM(clicks) FROM t WHERE country IN ('US', '{other}') AND 1 = 1" for other in "abc"]
    first = [answer_sql(opened, query) for query in queries]
    assert [answer.star_tree for answer in first] == [True] * 3

    def computed(*_: Any) -> Any:
        raise AssertionError

    for name in ("mask", "is_true"):
        monkeypatch.setattr(ScalarExpressions, name, computed)
    assert [answer_sql(opened, query) for query in queries] == first
    with pytest.raises(AssertionError):
        answer_sql(opened, queries[0], "spark")


def test_no_error_escapes_as_something_else(sales: TreeSet) -> None:
    for query in (
        "SELECT " + "x" * 90_000,
        "SELECT COUNT(*) FROM t WHERE " + "NOT " * 5000 + "day IS NULL",
        "SELECT COUNT(*) FROM t WHERE country" + "::int" * 5000 + " = 1",
        "SELECT COUNT(*) FROM t WHERE length(country) = 1" + " + 1" * 5000,
        "SELECT COUNT(*) FROM t WHERE country = 'a' OR clicks = 1" + " + 1" * 5000,
        "\x00",
    ):
        with pytest.raises(StarskipError):
            answer_sql(sales, query)
