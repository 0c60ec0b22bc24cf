"""Laws: a statement in PQL's grammar and the SQL that asks the same are one shape, with equal literals."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.pql import is_pql, sql_from_pql
from starskip.sql.query_shape import query_shape

pytestmark = pytest.mark.slow


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
