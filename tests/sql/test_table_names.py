"""The tables of a query, without parsing it."""

from __future__ import annotations

import pytest
from starskip.sql.table_names import READ_CHARACTERS, table_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("select a from t", ["t"]),
        ("SELECT a FROM t_OFFLINE WHERE b = 1", ["t_OFFLINE"]),
        ('select a from "my t" where b = 1', ["my t"]),
        ("select a from `t`", ["t"]),
        ("select a from 'pql'", ["pql"]),
        ("select a from my-table", ["my-table"]),
        ("select a from db.t", ["db.t"]),
        ('select a from "db"."t"', ["db.t"]),
        ("SET x = 'from y'; select a /* from x */ -- from z\nfrom t", ["t"]),
        ("select extract(year from day), trim(both ' ' from c) from t", ["t"]),
        ("select a from (select b from t) where c in (select d from u)", ["t", "u"]),
        ("select a from t join u on t.a = u.a join t as v on 1 = 1", ["t", "u"]),
        ("with x as (select a from t) select a from x", ["t", "x"]),
        ("select 'from t'", []),
        ("select a from", []),
        ("select 1", []),
        ("", []),
        (")))) from t", ["t"]),
        (" " * READ_CHARACTERS + "from t", []),
    ],
)
def test_names_behind_from_and_join(text, names):
    assert list(table_names(text)) == names


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "text", ["from " * 200_000, "(" * 10**6, "'" * 999_999, '"' * 999_999, "a." * 500_000]
)
def test_a_megabyte_of_anything_is_read_in_linear_time(text):
    assert isinstance(table_names(text), tuple)
