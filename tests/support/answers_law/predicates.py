"""Random filters over the columns of the tables."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

from answers_law.question import Junction, Predicate, Value
from answers_law.tables import POOLS
from hypothesis import strategies as st

FUNCTION_PREDICATES = {
    "d_int": ["abs({c}) > 1", "{c} + 1 < 3", "{c} * {c} = 1", "-{c} >= 1", "coalesce({c}, 7) = 7"],
    "d_text": ["upper({c}) = 'A'", "length({c}) > 1", "lower({c}) IN ('a', 'ab')", "substr({c}, 1, 1) = 'a'"],
    "d_date": ["year({c}) = 2024", "month({c}) IN (2, 3)", "date_trunc('month', {c}) >= '2024-03-01'"],
    "d_time": ["hour({c}) < 1", "date_trunc('day', {c}) = '2024-02-01'"],
    "d_bool": ["{c}", "NOT {c}", "{c} = false"],
    "d_dec": ["{c} * 2 > 1", "abs({c}) < 0.6"],
}


def values_of(column: str) -> st.SearchStrategy[Value]:
    """Values of the column's pool, and now and then one that no row has."""
    pool = [Value(value) for value in POOLS[column][1]]
    absent = {
        "d_int": Value(9),
        "d_text": Value("nowhere"),
        "d_date": Value(date(2030, 1, 1)),
        "d_dec": Value(Decimal("0.1")),
    }
    return st.sampled_from([*pool, absent[column]] if column in absent else pool)


@st.composite
def predicates(draw: st.DrawFn, column: str, depth: int = 0) -> Predicate | Junction:
    if depth < 2 and draw(st.integers(0, 3)) == 0:
        word = draw(st.sampled_from(["AND", "OR", "NOT"]))
        parts = 1 if word == "NOT" else draw(st.integers(2, 3))
        return Junction(word, tuple(draw(predicates(column, depth + 1)) for _ in range(parts)))
    one, several = values_of(column), st.lists(values_of(column), min_size=1, max_size=4)
    forms = ["= {0}", "<> {0}", "IN", "NOT IN", "< {0}", "<= {0}", "> {0}", ">= {0}", "BETWEEN {0} AND {1}"]
    forms += ["NOT BETWEEN {0} AND {1}", "IS NULL", "IS NOT NULL", "IN NULL", "FUNCTION", "LIKE"]
    form = draw(st.sampled_from(forms))
    if form in ("IN", "NOT IN", "IN NULL"):
        found = tuple(draw(several)) + ((Value(None),) if form == "IN NULL" else ())
        listed = ", ".join(f"{{{i}}}" for i in range(len(found)))
        return Predicate(column, f"{{c}} {form.removesuffix(' NULL')} ({listed})", found)
    if form == "LIKE":
        pattern = draw(st.sampled_from(["a%", "%c", "%b%", "a_c", "_", "%", "", "日%", "it's"]))
        word = draw(st.sampled_from(["LIKE", "NOT LIKE"]))
        if column == "d_text":
            return Predicate(column, f"{{c}} {word} {{0}}", (Value(pattern),))
        form = "= {0}"
    if form == "FUNCTION":
        return Predicate(column, draw(st.sampled_from(FUNCTION_PREDICATES.get(column, ["{c} IS NOT NULL"]))))
    return Predicate(column, "{c} " + form, tuple(draw(one) for _ in range(form.count("{"))))
