"""Old PQL: told from SQL, and rewritten as the SQL that asks the same."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.sql.normalize_sql import masked, normalize_sql
from starskip.sql.pql import is_pql, sql_from_pql
from starskip.sql.predicate import And, Bound, Leaf, Operator, Or, Slot
from starskip.sql.query_shape import query_shape

pytestmark = pytest.mark.slow

# PQL -> is it evident, SQL, white space aside.
REWRITTEN = [
    ("select count(*) from t group by d top 200", True, "select count(*) from t group by d LIMIT 200"),
    (
        "select count(*) from t group by d top 200 LIMIT 300",
        True,
        "select count(*) from t group by d LIMIT 300",
    ),
    ("select top 5 a, b from t", True, "select a, b from t LIMIT 5"),
    ('select a from t where b = "it\'s"', True, "select a from t where b = 'it''s'"),
    ('select a from t where b = "say ""x"""', True, "select a from t where b = 'say \"x\"'"),
    ('select a from t where b <> "x" limit 5, 10', True, "select a from t where b <> 'x' limit 5, 10"),
    ("select a from t where b in (\"x\", 'y')", True, "select a from t where b in ('x', 'y')"),
    ('select a from t where b not in ("x")', True, "select a from t where b not in ('x')"),
    ('select a from t where b between "1" and "5"', True, "select a from t where b between '1' and '5'"),
    ('select a from t where regexp_like(b, "^x")', True, "select a from t where regexp_like(b, '^x')"),
    ('select a from t where regexpLike(b, "^x")', True, "select a from t where regexpLike(b, '^x')"),
    (
        "select a from t where b = 1 option(timeoutMs=5);",
        False,
        "select a from t where b = 1 option(timeoutMs=5)",
    ),
    (
        "select count(*) from t option(a=5) where b = 1 group by c having count(*) > 2 top 3",
        True,
        "select count(*) from t where b = 1 group by c having count(*) > 2 LIMIT 3 option(a=5)",
    ),
    (
        "select sum(my-metric) from my-t where a - b > 1",
        False,
        "select sum(`my-metric`) from `my-t` where a - b > 1",
    ),
    (
        'select sum(a) as "total" from "t" group by "b", f(c, \'DAYS\')',
        False,
        "select sum(a) as `total` from `t` group by `b`, f(c, 'DAYS')",
    ),
    ("select a from t -- where b = \"x\"\nwhere c = 'top 5'", False, "select a from t where c = 'top 5'"),
    ("select `top 5` from t where b = 'x'", False, "select `top 5` from t where b = 'x'"),
    ('select a from t where b = "open', True, "select a from t where b = 'open'"),
]


def plain(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(("pql", "evident", "sql"), REWRITTEN)
def test_pql_becomes_sql(pql, evident, sql):
    assert plain(sql_from_pql(pql)) == sql
    assert is_pql(pql) is evident


@pytest.mark.parametrize(
    "sql",
    [
        "select a from t where \"b\" = 'x'",
        'select a from t where "b" = "c"',
        'select "top" from t where a > 5',
        "select a as top from t",
        "select a from t where text_match(b, '\"two words\"')",
        "select a from t where b = 'the \"top 5\"'",
        'SELECT "order", `group` FROM "t" WHERE "user" = \'x\' ORDER BY "user"',
        "",
    ],
)
def test_sql_is_no_pql(sql):
    assert not is_pql(sql)


def test_filter_and_limit_of_a_whole_query():
    pql = 'select d from t where (a = "x" or a = "y") and b >= 5 and c in ("p", "q") limit 20, 30'
    cut = normalize_sql(sql_from_pql(pql))
    shape = query_shape(cut.skeleton)
    assert shape.filter == And(
        (
            Leaf(Operator.IN, "a", (Slot(0), Slot(1))),
            Leaf(Operator.RANGE, "b", low=Bound(Slot(2), True)),
            Leaf(Operator.IN, "c", (Slot(3),)),
        )
    )
    assert cut.literals == (("'x",), ("'y",), ("5",), ("'p", "'q"), ("20",), ("30",))
    assert shape.limit == Slot(5)
    assert "x" not in masked(cut.skeleton)


def test_and_binds_stronger_than_or_as_in_pql():
    shape = query_shape(
        normalize_sql(sql_from_pql('select a from t where b = "1" or c = "2" and d = "3"')).skeleton
    )
    assert isinstance(shape.filter, Or)
    assert isinstance(shape.filter.children[1], And)


WORDS = [
    "select a from t",
    "where",
    "b",
    "=",
    "in (",
    ")",
    ",",
    "top",
    "5",
    "limit",
    "option(x=1)",
    "and",
    "`n`",
]
secrets = st.text("xyz'\"`- ;", max_size=6).map(lambda text: '"secret' + text.replace('"', '""') + '"')


@given(before=st.sampled_from(["=", "<>", "in (", "between", "regexp_like(b,"]), secret=secrets)
def test_no_literal_in_double_quotes_stays_in_a_skeleton(before, secret):
    cut = normalize_sql(sql_from_pql(f"select a from t where b {before} {secret} top 3"))
    assert "secret" not in cut.skeleton
    assert cut.literals[0] == ("'" + secret[1:-1].replace('""', '"'),)


@given(words=st.lists(st.sampled_from(WORDS) | secrets, max_size=20))
def test_a_text_in_sql_form_is_left_as_it_is(words):
    once = sql_from_pql(" ".join(words))
    assert "top" not in re.sub(r"'[^']*'|`[^`]*`", "", once)
    assert plain(sql_from_pql(once)) == plain(once)


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text",
    [
        *['"' * 1_000_001, "'" * 999_999, "`" * 999_999, "top " * 250_000, "where " * 160_000, "(" * 500_000],
        *["a-" * 500_000, "1" * 999_999, "-- " * 300_000, " " * 999_999, "=" * 999_999, 'in ("' * 200_000],
    ],
    ids=range(12),
)
def test_a_megabyte_of_anything_is_rewritten_in_linear_time(text):
    assert isinstance(is_pql(text + ' = "'), bool)
    assert isinstance(sql_from_pql(text), str)
