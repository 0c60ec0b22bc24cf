"""Rejected text: no value that somebody wrote into a query is shown, however broken the query is."""

from __future__ import annotations

import re
import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starskip.sql.mask_unparsed import mask_unparsed
from starskip.sql.masking import mask_literals

WORD = st.text(string.ascii_lowercase, min_size=5, max_size=9).map("zz{}zz".format)
MAIL = st.tuples(WORD, WORD).map("{0[0]}@{0[1]}.com".format)
IBAN = st.integers(10**19, 10**20 - 1).map("DE{}".format)
PASSWORD = st.text(string.ascii_letters + string.digits + "!$%&#_@", min_size=6, max_size=14).map(
    "Zq9{}".format
)
SECRET = st.one_of(WORD, MAIL, IBAN, PASSWORD)
FORMS = (
    "WHERE mail = '{}'",
    "WHERE name = 'O'Brien' AND mail = '{}'",
    "WHERE mail = '{}",
    "WHERE mail = {}",
    'WHERE mail = "{}"',
    "WHERE mail = `{}`",
    r"WHERE a = 'x\' AND mail = '{}'",
    r"WHERE a = 'C:\' AND mail = '{}'",
    "WHERE mail = $${}$$",
    "WHERE mail = $tag$ {} $tag$",
    "WHERE mail = X'{}' OR b = N'{}' OR c = U&'{}' OR d = _utf8'{}' OR e = B'{}'",
    "WHERE a = 1 -- {}",
    "WHERE a = 1 /* {}",
    "AS '{}'",
    'SELECT a AS "{}"',
    "SELECT a AS {} FROM t",
    'SELECT a "{}" FROM t',
    "WHERE a IN ('{}', \"{}\", {}",
    "password={},iban={}",
    '{{"query": "SELECT {}", "user": "{}"}}',
    "[{}] {{{}}} <{}>",
    "{}",
)


@given(st.lists(st.sampled_from(FORMS), min_size=1, max_size=4), SECRET, st.integers(0, 300))
@example(["WHERE name = 'O'Brien' AND mail = '{}'"], "john@example.com", 0)
def test_no_secret_is_shown_whole_in_parts_or_in_a_cut_text(forms: list[str], secret: str, cut: int) -> None:
    text = "requestId=5,table=t,query=SELECT " + " ".join(form.replace("{}", secret) for form in forms)
    for shown in (mask_unparsed(text, limit=5_000), mask_unparsed(text[:-cut] if cut else text)):
        assert secret not in shown
        for part in re.findall(r"\w{4,}", secret):
            assert part not in shown
        assert shown.isprintable()


@given(st.text(max_size=80))
def test_what_is_masked_stays_as_it_is(text: str) -> None:
    assert mask_unparsed(mask_unparsed(text)) == mask_unparsed(text)


def test_known_words_are_shown() -> None:
    text = "requestId=7,table=hits,timeMs=x,query=SELECT COUNT(*) FROM hits WHERE a >= 'x' AND b = 3 LIMIT 10"
    shown = "requestId=?,table=?,timeMs=?,query=SELECT COUNT(*) FROM ? WHERE ? >= ? AND ? = ? LIMIT ?"
    assert mask_unparsed(text) == shown


def test_a_megabyte_is_short() -> None:
    for text in ("'" * 10**6, "$a$ " * 300_000, "a@" * 500_000, "$" * 10**6):
        assert len(mask_unparsed(text)) <= 200


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('SELECT COUNT(*) AS "john@example.com" FROM t', "SELECT COUNT(*) AS ? FROM t"),
        ('SELECT COUNT(*) AS "john" FROM t ORDER BY "john"', "SELECT COUNT(*) AS ? FROM t ORDER BY ?"),
        ("SELECT a AS `John Smith`, b FROM t", "SELECT a AS ?, b FROM t"),
        ("SELECT a 'x', b AS 'y' FROM t", "SELECT a ?, b AS ? FROM t"),
        ('SELECT SUM("a") "john", "b" "smith" FROM t "x"', 'SELECT SUM("a") ?, "b" ? FROM t ?'),
        ('SELECT a AS /* c */ "john" FROM t', "SELECT a AS ? FROM t"),
        ("SELECT a FROM t WHERE b = $$it's john$$ AND c = 'z'", "SELECT a FROM t WHERE b = ?"),
        ("SELECT a FROM t WHERE b = $x$ john $x$", "SELECT a FROM t WHERE b = ?"),
        ("SELECT $docId FROM t WHERE $segmentName = 's'", "SELECT $docId FROM t WHERE $segmentName = ?"),
        ('SELECT a FROM t WHERE "john@example.com" = b', "SELECT a FROM t WHERE ? = b"),
        ('SELECT a FROM t WHERE b = "DE89370400440532013000"', "SELECT a FROM t WHERE b = ?"),
        ('SELECT "a"."b" FROM "t" WHERE "c" = 1', 'SELECT "a"."b" FROM "t" WHERE "c" = ?'),
    ],
)
def test_aliases_and_dollar_quotes_are_masked_where_names_stay(text: str, masked: str) -> None:
    assert mask_literals(text, quoted_names=True) == masked


@given(SECRET.filter(lambda text: '"' not in text and "$$" not in text))
def test_no_alias_is_shown_of_a_query_that_parses(secret: str) -> None:
    text = f"""SELECT a AS "{secret}", SUM(b) "{secret}" FROM t WHERE c = '{secret}' OR d = $${secret}$$"""
    assert secret not in mask_literals(text, quoted_names=True)
