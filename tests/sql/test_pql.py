"""Old PQL: told from SQL, and rewritten as the SQL that asks the same.

Laws: a statement in PQL's grammar and the SQL that asks the same are one shape, with equal literals.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from hypothesis import example, given
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


@dataclass(frozen=True)
class Both:
    """Tokens of one piece in either language."""

    pql: tuple[str, ...]
    sql: tuple[str, ...]

    def __add__(self, more: Both) -> Both:
        return Both(self.pql + more.pql, self.sql + more.sql)


NOTHING = Both((), ())


def same(*tokens: str) -> Both:
    return Both(tokens, tokens)


def joined(items: list[Both], sign: str) -> Both:
    found = items[0]
    for item in items[1:]:
        found = found + same(sign) + item
    return found


def words(text: str) -> st.SearchStrategy[Both]:
    """Return keywords, written in any case in PQL."""
    tokens = text.split()
    return st.sampled_from([str.lower, str.upper, str.title]).map(
        lambda change: Both(tuple(map(change, tokens)), tuple(tokens))
    )


columns = st.sampled_from(["c_a", "c_B", "$c_day", "c_toP"]).map(same) | st.sampled_from(
    ["c-x", "c_y-2"]
).map(lambda name: Both((name,), (f"`{name}`",)))
texts = st.builds(
    lambda value, quote: Both(
        (quote + value.replace(quote, quote * 2) + quote,), ("'" + value.replace("'", "''") + "'",)
    ),
    st.text("ab'\"`-;,() \n=%東", max_size=8) | st.sampled_from(["top 5", "-- x", "where", "a and b"]),
    st.sampled_from("'\""),
)
numbers = (
    st.integers(-(10**12), 10**12).map(lambda n: same(str(n)))
    | st.sampled_from(["1.5", "-0.25", ".5", "7."]).map(same)
    | st.integers(0, 99).map(lambda n: Both((f"+{n}",), (str(n),)))
)
literals = texts | numbers


@st.composite
def leaves(draw: st.DrawFn) -> Both:
    column = draw(columns)
    kind = draw(
        st.sampled_from(["compare", "in", "not in", "between", "regexp_like", "is null", "is not null"])
    )
    match kind:
        case "compare":
            sign = draw(st.sampled_from(["=", "<>", "!=", "<", ">", "<=", ">="]))
            return column + same(sign) + draw(literals)
        case "in" | "not in":
            values = joined(draw(st.lists(literals, min_size=1, max_size=4)), ",")
            return column + draw(words(kind.upper())) + same("(") + values + same(")")
        case "between":
            low = column + draw(words("BETWEEN")) + draw(literals)
            return low + draw(words("AND")) + draw(literals)
        case "regexp_like":
            return draw(words("REGEXP_LIKE")) + same("(") + column + same(",") + draw(texts) + same(")")
    return column + draw(words(kind.upper()))


@st.composite
def chains(draw: st.DrawFn, parts: st.SearchStrategy[Both]) -> Both:
    found = draw(parts)
    for _ in range(draw(st.integers(0, 3))):
        found = found + draw(words("AND") | words("OR")) + draw(parts)
    return found


predicates = st.recursive(
    leaves(), lambda inner: chains(inner).map(lambda p: same("(") + p + same(")")) | inner, max_leaves=6
)


@st.composite
def statements(draw: st.DrawFn) -> tuple[str, str]:
    """Return a statement in PQL, its clauses in any order, and in SQL."""
    top, limit = draw(st.none() | st.integers(1, 500)), draw(st.none() | st.integers(0, 500))
    top_first = top is not None and draw(st.booleans())
    start = draw(words("SELECT")) + (Both(("toP", str(top)), ()) if top_first else NOTHING)
    name = draw(st.sampled_from(["total", "the-sum"]))
    quote = draw(st.sampled_from("'\""))
    alias = draw(words("AS")) + Both((f"{quote}{name}{quote}",), (f"`{name}`",))
    start = start + same("sum", "(") + draw(columns) + same(")") + draw(st.sampled_from([NOTHING, alias]))
    table = draw(st.sampled_from(["t", "my-table"]))
    is_quoted = draw(st.booleans())
    asked = Both((f"{quote}{table}{quote}",), (f"`{table}`",))
    plain = Both((table,), (f"`{table}`" if "-" in table else table,))
    start = start + draw(words("FROM")) + (asked if is_quoted else plain)
    clauses = {}
    if draw(st.booleans()):
        clauses["where"] = draw(words("WHERE")) + draw(chains(predicates))
    if draw(st.booleans()):
        clauses["group"] = draw(words("GROUP BY")) + joined(
            draw(st.lists(columns, min_size=1, max_size=2)), ","
        )
    if draw(st.booleans()):
        clauses["order"] = draw(words("ORDER BY")) + draw(columns) + draw(words("DESC"))
    if limit is not None:
        offset = draw(st.sampled_from([(), ("5", ",")]))
        clauses["limit"] = draw(words("LIMIT")) + same(*offset, str(limit))
    elif top is not None:
        clauses["limit"] = Both((), ("LIMIT", str(top)))
    sql = start.sql + sum((clause.sql for clause in clauses.values()), ())
    if top is not None and not top_first:
        clauses["top"] = draw(words("TOP")) + same(str(top))
    if draw(st.booleans()):
        clauses["option"] = draw(words("OPTION")) + same("(", "timeoutMs", "=", "10", ")")
    pql = start.pql + sum((clause.pql for clause in draw(st.permutations(list(clauses.values())))), ())
    separators = st.sampled_from([" ", "\n", "\t ", " -- it's \"x\n"])
    text = "".join(token + draw(separators) for token in pql)
    return text + draw(st.sampled_from(["", ";"])), " ".join(sql)


@given(statement=statements())
@example(
    statement=('select top 5 sum(c) from "t" where c="x"', "SELECT sum ( c ) FROM `t` WHERE c = 'x' LIMIT 5")
)
def test_pql_and_the_sql_that_asks_the_same_are_one_shape(statement):
    pql, sql = statement
    asked, expected = normalize_sql(sql_from_pql(pql)), normalize_sql(sql)
    shape, expected_shape = query_shape(asked.skeleton), query_shape(expected.skeleton)
    assert shape.filter == expected_shape.filter
    assert shape.shape_id == expected_shape.shape_id
    assert (shape.limit, shape.stops_early) == (expected_shape.limit, expected_shape.stops_early)
    assert asked.literals == expected.literals


@given(statement=statements())
def test_sql_is_never_taken_for_pql(statement):
    assert not is_pql(statement[1])
