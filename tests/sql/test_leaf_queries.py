"""The scans of multi-stage queries: which predicates reach which table."""

from __future__ import annotations

import pytest
from starskip.errors import UnsupportedQuery
from starskip.sql.leaf_queries import leaf_queries
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.sql.query_text import query_text

COLUMNS = {"l": frozenset(("l_key", "l_supp", "l_qty", "both")), "o": frozenset(("o_key", "o_date", "both"))}


def leaves(sql: str) -> dict[str, str]:
    """Return the filter of each table's leaf query, with the literals of the text."""
    cut = normalize_sql(sql)
    found = leaf_queries(cut.skeleton, COLUMNS.get)
    texts = {leaf.table: query_text(leaf.skeleton, [cut.literals[i] for i in leaf.slots]) for leaf in found}
    for text in texts.values():
        assert not query_shape(normalize_sql(text).skeleton).stops_early
    heads = [f"SELECT * FROM {table}" for table in texts]
    assert all(
        text.replace('"', "").startswith(head) for text, head in zip(texts.values(), heads, strict=True)
    )
    return {
        table: text.partition(" WHERE ")[2].removesuffix(" ORDER BY 1") if " WHERE " in text else ""
        for table, text in texts.items()
    }


CASES = {
    "MINUS, which is EXCEPT": (
        "SELECT a FROM t WHERE minus(a, 1) = 2 MINUS ALL SELECT b FROM u WHERE c = 3",
        {"t": "MINUS(a, 1) = 2", "u": "c = 3"},
    ),
    "joins in brackets, in front": (
        "SELECT 1 FROM ((t LEFT JOIN u ON t.k = u.k) JOIN v ON v.k = t.k AND v.c = 5) JOIN w ON w.k = t.k "
        "WHERE t.a = 1 AND u.b = 2 AND w.d = 3",
        {"t": "a = 1", "u": "", "v": "c = 5", "w": "d = 3"},
    ),
    "names in any case": (
        "SELECT 1 FROM l A JOIN o ON a.L_KEY = O.O_Key WHERE A.L_supp = 5 AND O_DATE > '1995' AND L_QTY = 7",
        {"l": "L_supp = 5 AND L_QTY = 7", "o": "O_DATE > '1995'"},
    ),
    "dotted names of columns": (
        "SELECT 1 FROM t a JOIN u ON a.k = u.k WHERE a.b.c = 1 AND u.b.c.d = 2 AND db.t.e = 3",
        {"t": '"b.c" = 1', "u": '"b.c.d" = 2'},
    ),
    "an ASOF join: its right side is not filtered": (
        "SELECT 1 FROM t LEFT ASOF JOIN u MATCH_CONDITION(t.s >= u.s) ON t.k = u.k WHERE t.a = 1 AND u.b = 2",
        {"t": "a = 1", "u": ""},
    ),
    "inner join, predicates of either side": (
        "SELECT COUNT(*) FROM t JOIN u ON t.k = u.k AND u.p = 'H' WHERE t.a IN (1, -2) AND u.d > '1995'",
        {"t": "a IN (1, -2)", "u": "p = 'H' AND d > '1995'"},
    ),
    "an OR over two tables stays above": (
        "SELECT 1 FROM t JOIN u ON t.k = u.k WHERE (t.a = 1 OR u.b = 2) AND (t.c = 3 OR t.d = 4)",
        {"t": "c = 3 OR d = 4", "u": ""},
    ),
    "left join: its null side is filtered by ON alone": (
        "SELECT 1 FROM t LEFT JOIN u ON t.k = u.k AND u.b = 5 AND t.z = 7 WHERE t.a = 1 AND u.w = 2",
        {"t": "a = 1", "u": "b = 5"},
    ),
    "right join": (
        "SELECT 1 FROM t RIGHT JOIN u ON t.k = u.k AND u.b = 5 AND t.z = 7 WHERE t.a = 1 AND u.w = 2",
        {"t": "z = 7", "u": "w = 2"},
    ),
    "full join": ("SELECT 1 FROM t FULL JOIN u ON t.k = u.k AND u.b = 5 WHERE t.a = 1", {"t": "", "u": ""}),
    "an inner join before a right one keeps what its ON says": (
        "SELECT 1 FROM t JOIN u ON t.k = u.k AND t.a = 1 RIGHT JOIN v ON u.k = v.k WHERE t.b = 2 AND v.c = 3",
        {"t": "a = 1", "u": "", "v": "c = 3"},
    ),
    "comma join, cross join": (
        "SELECT 1 FROM t, u CROSS JOIN v WHERE t.k = u.k AND t.a = 1 AND v.b LIKE 'x%'",
        {"t": "a = 1", "u": "", "v": "b LIKE 'x%'"},
    ),
    "names without a table, by the tables' columns": (
        "SELECT 1 FROM l JOIN o ON l_key = o_key WHERE l_supp = 5 AND o_date > '1995' AND both = 3",
        {"l": "l_supp = 5", "o": "o_date > '1995'"},
    ),
    "a name that a table of unknown columns might have": (
        "SELECT 1 FROM l JOIN w ON l_key = w.k WHERE l_supp = 5 AND w.b = 1",
        {"l": "", "w": "b = 1"},
    ),
    "HAVING never": (
        "SELECT a FROM t JOIN u ON t.k = u.k GROUP BY a HAVING COUNT(*) > 5",
        {"t": "", "u": ""},
    ),
    "through a CTE's keys and not its sums": (
        "WITH c AS (SELECT k AS g, SUM(q) AS s FROM t WHERE d > 1 GROUP BY k) "
        "SELECT 1 FROM c JOIN u ON c.g = u.k WHERE c.g = 7 AND c.s > 5",
        {"t": "d > 1 AND k = 7", "u": ""},
    ),
    "a CTE with names of its own, used twice": (
        "WITH c(x, y) AS (SELECT a, b FROM t WHERE d = 0) SELECT 1 FROM c p JOIN c q ON p.x = q.x "
        "WHERE p.x = 1 AND q.y = 2",
        {"t": "(d = 0 AND a = 1) OR (d = 0 AND b = 2)"},
    ),
    "self-join: one vote with both filters": (
        "SELECT 1 FROM t x JOIN t y ON x.id = y.parent WHERE x.c > 100 AND y.q = 4",
        {"t": "c > 100 OR q = 4"},
    ),
    "semi-join: the rest of the filter alone": (
        "SELECT a FROM t WHERE b IN (SELECT b FROM u WHERE c = 100) AND z = 4",
        {"t": "z = 4", "u": "c = 100"},
    ),
    "a scalar subquery": (
        "SELECT (SELECT MAX(b) FROM u WHERE c = 1) FROM t "
        "WHERE d = 2 AND e > (SELECT MIN(f) FROM v WHERE g = 3)",
        {"t": "d = 2", "u": "c = 1", "v": "g = 3"},
    ),
    "a correlated subquery": (
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.k = t.k AND u.b = 3 AND t.z = 9) AND t.c = 1",
        {"t": "c = 1", "u": "b = 3"},
    ),
    "UNION, with a filter above": (
        "SELECT a FROM (SELECT a FROM t WHERE b = 1 UNION ALL SELECT c FROM u WHERE d = 2) s WHERE s.a = 9",
        {"t": "b = 1 AND a = 9", "u": "d = 2 AND c = 9"},
    ),
    "not past a window function": (
        "SELECT a FROM (SELECT a, ROW_NUMBER() OVER (PARTITION BY b ORDER BY c) AS n FROM t WHERE d = 1) s "
        "WHERE n = 1 AND a = 2",
        {"t": "d = 1"},
    ),
    "not past a LIMIT": ("SELECT a FROM (SELECT a FROM t WHERE d = 1 LIMIT 5) s WHERE a = 2", {"t": "d = 1"}),
    "not into an aggregate": (
        "SELECT * FROM (SELECT DISTINCTCOUNTHLL(a) AS n FROM t WHERE d = 1) s WHERE n > 2",
        {"t": "d = 1"},
    ),
    "through a star": (
        "SELECT * FROM (SELECT * FROM t WHERE d = 1) s WHERE a BETWEEN 2 AND 3 AND NOT LOWER(b) = 'x'",
        {"t": "d = 1 AND a BETWEEN 2 AND 3 AND NOT LOWER(b) = 'x'"},
    ),
    "options before the query": (
        "SET useMultistageEngine=true; SET timeoutMs=5; SELECT 1 FROM t JOIN u USING (k) WHERE t.a = 1",
        {"t": "a = 1", "u": ""},
    ),
    "a database, a column of an UNNEST": (
        "SELECT 1 FROM db.t CROSS JOIN UNNEST(t.arr) AS x(y) WHERE t.a = 1 AND x.y = 3",
        {"db.t": "a = 1"},
    ),
    "as the broker redacts it": (
        "WITH `c` AS (SELECT `a` FROM `t` WHERE `b` = ?) (SELECT * FROM `c` WHERE `a` IN (?))",
        {"t": '"b" = ? AND "a" IN (?)'},
    ),
}


@pytest.mark.parametrize(("sql", "expected"), CASES.values(), ids=CASES.keys())
def test_filters(sql: str, expected: dict[str, str]) -> None:
    assert leaves(sql) == expected


def test_scans_are_counted_with_those_that_only_a_subquery_filters() -> None:
    sql = (
        "SELECT 1 FROM t WHERE a IN (SELECT b FROM u) UNION SELECT 1 FROM t UNION SELECT 1 FROM t WHERE c = 1"
    )
    found = {leaf.table: leaf for leaf in leaf_queries(normalize_sql(sql).skeleton, COLUMNS.get)}
    assert (found["t"].scans, found["t"].filtered_scans) == (3, 2)
    assert (found["u"].scans, found["u"].filtered_scans) == (1, 0)


DOUBLING = "WITH c0 AS (SELECT a FROM t)" + "".join(
    f", c{n} AS (SELECT a FROM c{n - 1} UNION ALL SELECT a FROM c{n - 1})" for n in range(1, 40)
)
REFUSED = {
    "CTEs that double": (f"{DOUBLING} SELECT * FROM c39", "too_many_leaves"),
    "a recursive CTE": (
        "WITH RECURSIVE c AS (SELECT 1 FROM t UNION ALL SELECT 1 FROM c) SELECT * FROM c",
        "recursive",
    ),
    "joins in brackets": ("SELECT * FROM v LEFT JOIN (t JOIN u ON t.k = u.k) ON v.k = t.k", "nested_joins"),
    "no table": ("SELECT 1", "no_table"),
    "cut off": ("SELECT a FROM t JOIN u ON t.k = u.k WHERE t.a IN (1, 2", "syntax"),
    "no query": ("SET a = 1", "not_a_select"),
    "deep": ("SELECT " + "(" * 200 + "1" + ")" * 200 + " FROM t JOIN u ON 1 = 1", "too_deep"),
    "long": ("SELECT a FROM t JOIN u ON " + " AND ".join("t.a = u.a" for _ in range(9_000)), "too_long"),
}


# What takes work by the square of such a text would take longer than this on any machine.
@pytest.mark.timeout(120)
@pytest.mark.parametrize(("sql", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_refused_with_its_reason(sql: str, reason: str) -> None:
    with pytest.raises(UnsupportedQuery) as refused:
        leaf_queries(normalize_sql(sql).skeleton, COLUMNS.get)
    assert refused.value.reason == reason


@pytest.mark.parametrize("name", ["a:p0", "x' OR 1", 'say ""hi""', "ſ\u202e"])
def test_names_from_outside_stay_names(name: str) -> None:
    cut = normalize_sql(f'SELECT a FROM t JOIN u ON t.k = u.k WHERE t."{name}" = 5')
    t, _ = leaf_queries(cut.skeleton, COLUMNS.get)
    assert t.slots == (0,)
    assert query_shape(t.skeleton).filter_columns == (name.replace('""', '"'),)


def test_leaves_keep_the_options_that_decide() -> None:
    cut = normalize_sql("SELECT 1 FROM t JOIN u ON t.k = u.k; SET useStarTree = false; SET timeoutMs = 7")
    texts = [leaf.skeleton for leaf in leaf_queries(cut.skeleton, COLUMNS.get)]
    assert all(text.startswith("SET useStarTree=false; SELECT * FROM ") for text in texts)
    assert len(texts) == 2
