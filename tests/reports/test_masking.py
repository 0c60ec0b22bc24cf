"""Rejected text: no value that somebody wrote into a query is shown, however broken the query is."""

from __future__ import annotations

import re
import string
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from starskip.reports.evidence import Evidence
from starskip.reports.masked_evidence import masked_evidence
from starskip.sql.mask_unparsed import mask_unparsed
from starskip.sql.masking import MAX_READ, mask_condition, mask_failure, mask_literals

SQL = st.text("'\"`\\-/* \n\t\x1b.,()=?;eExab_01259é²\u202e\u00a0\0…", max_size=60)


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


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("SELECT a FROM t WHERE b = 'x' AND c > 12.5", "SELECT a FROM t WHERE b = ? AND c > ?"),
        ("b = 'it''s' AND c = 1", "b = ? AND c = ?"),
        ("b = '' AND c = ''''", "b = ? AND c = ?"),
        (r"b = 'it\'s secret' AND c = 'z'", "b = ?"),
        (r"b = 'C:\' AND c = 'secret'", "b = ?"),
        ("b = 'never closed secret", "b = ?"),
        ('b = "double secret" AND c = `back`', "b = ? AND c = ?"),
        ("a -- secret 'quote\nFROM t", "a FROM t"),
        ("a /* secret ' */ = 'x' /* open secret", "a = ?"),
        ("b = '-- no comment' AND c = '/*' AND d = '*/'", "b = ? AND c = ? AND d = ?"),
        ("x IN (-1, +2, .5, 1e-5, 0xFF, 1E+9, 7L, 5.)", "x IN (-?, +?, ?, ?, ?, ?, ?, ?)"),
        ("col1 = l_2 AND t1.c2 = events_2024", "col1 = l_2 AND t1.c2 = events_2024"),
        ("d = 2026-11-18 OR ip = 192.0.2.2", "d = ?-?-? OR ip = ?"),
        ("a\r\n  b\x1b[31m c\x00", "a b\\x1b[? c\\x00"),
        ("a\u202eb", "a\\u202eb"),
        ("naïve = 'é' AND 東京 = 3", "naïve = ? AND 東京 = ?"),
        ("", ""),
    ],
)
def test_literals_masked(text: str, masked: str) -> None:
    assert mask_literals(text) == masked


def test_names_in_quotes_stay_where_the_text_is_sql() -> None:
    text = """SELECT "date", `order` FROM t WHERE "it's" = 'x' AND "2" > 2"""
    masked = """SELECT "date", `order` FROM t WHERE "it's" = ? AND "2" > ?"""
    assert mask_literals(text, quoted_names=True) == masked


@given(SQL)
@example("5\x1b6")
@example("a--\n5")
@example("-/**/-'x'")
def test_masking_again_changes_nothing(text: str) -> None:
    assert mask_literals(mask_literals(text)) == mask_literals(text)


@given(SQL)
def test_no_quote_and_no_number_is_left(text: str) -> None:
    masked = mask_literals(text)
    assert not set("'\"`\n\x1b\u202e") & set(masked)
    assert masked.isprintable()


@given(
    SQL,
    st.sampled_from(["'{}'", "'a''{}'", r"'\'{}'", '"{}"', "'{}", "/*{}*/", "--{}\n", "/*{}", r"'\\{}'"]),
    SQL,
)
def test_secret_in_a_literal_is_gone_before_any_text(before: str, quoting: str, after: str) -> None:
    # Before it stands nothing that could open a quote of its own and so turn the secret into a name.
    before = "".join(c for c in before if c not in "'\"`-/*\\")
    assert "zzsecretzz" not in mask_literals(f"{before} {quoting.format('zzsecretzz')} {after}")


@given(SQL, st.integers(0, 60))
def test_cut_text_shows_nothing_more_than_the_whole(text: str, length: int) -> None:
    whole = set(mask_literals(text).replace("?", " ").split())
    cut = mask_literals(text[:length].rsplit(maxsplit=1)[0] if text[:length].split() else "")
    # A cut may halve the two signs that open a comment.
    shown = cut.rstrip("/-").replace("?", " ").split()
    assert all(any(word in each for each in whole) for word in shown)


@pytest.mark.parametrize(
    "text",
    [
        "'" * 1_000_000,
        "1 " * 500_000,
        "\\" * 1_000_000,
        "'\\" * 500_000,
        "/*" * 500_000,
        "-- " * 300_000,
        "a" * 1_000_000,
        "/*" + "*" * 1_000_000,
        "1e-" * 300_000,
        '"`' * 500_000,
        "x" * 50 + "'" + "y" * 10**6,
    ],
    ids=range(11),
)
def test_megabyte_of_text_is_short_and_bounded(text: str) -> None:
    assert len(mask_literals(text)) <= 2_000
    assert len(mask_literals(text, quoted_names=True)) <= 2_000


def test_text_past_what_is_read_ends_in_an_ellipsis() -> None:
    assert mask_literals("a = '" + "x" * MAX_READ + "'") == "a = ?…"


def test_evidence_is_masked_whatever_the_stages_left(evidence: Evidence) -> None:
    shape = replace(evidence.shapes.top[0], masked_text="a = 'secret'", full_text="a = 'secret'")
    raw = replace(evidence, shapes=replace(evidence.shapes, top=(shape,)))
    shown = masked_evidence(raw).shapes.top[0]
    assert (shown.masked_text, shown.full_text) == ("a = ?", None)
    assert masked_evidence(replace(raw, show_literals=True)).shapes.top[0].full_text == "a = 'secret'"


@pytest.mark.parametrize(
    ("skeleton", "shown"),
    [
        ("l_comment LIKE '?%' AND l_tax > ?", "l_comment LIKE '?%' AND l_tax > ?"),
        ("a LIKE '%?' OR b LIKE '%?%' OR c IN (?)", "a LIKE '%?' OR b LIKE '%?%' OR c IN (?)"),
        ("address.city = ?", "address.city = ?"),
        ("a LIKE '?%' AND b = 'secret'", "a LIKE ? AND b = ?"),
        ("a = 'O''?%''secret'", "a = ?"),
        ("a = 'O''?%'unquoted", "a = ?unquoted"),
        ("a = 4711", "a = ?"),
        ("a = ?\x1b", "a = ?\\x1b"),
        ("", ""),
    ],
)
def test_shape_of_a_predicate_shows_its_patterns_and_no_literal(skeleton: str, shown: str) -> None:
    assert mask_condition(skeleton) == shown


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            """t: Spark: [CAST_INVALID_INPUT] The value 'x7' of the type "STRING" cannot be cast to "INT".""",
            "t: Spark: [CAST_INVALID_INPUT] The value ? of the type ? cannot be cast to ?.",
        ),
        (
            "t: Spark: [INVALID_URL] The url is invalid: http://secret.host/a?b. Use try_parse_url",
            "t: Spark: [INVALID_URL] The url is invalid: ?",
        ),
        ("t: Spark: [USER_RAISED_EXCEPTION] a secret of ours", "t: Spark: [USER_RAISED_EXCEPTION]"),
        ("function is_near is not known here", "function is_near is not known here"),
    ],
)
def test_what_spark_says_of_a_failed_query_is_shown_without_values(said: str, shown: str) -> None:
    assert mask_failure(said) == shown


@given(SQL)
@example("`'?%'` = ?")
def test_shape_of_a_predicate_is_masked_once(text: str) -> None:
    assert mask_condition(mask_condition(text)) == mask_condition(text)


@given(st.text("'?%\\ab1 \n", max_size=20))
def test_shape_of_a_predicate_shows_nothing_that_masking_hides(text: str) -> None:
    shown = mask_condition(text).replace("'?%'", "?").replace("'%?'", "?").replace("'%?%'", "?")
    assert shown == mask_literals(text, quoted_names=True)


def test_long_shape_of_a_predicate_is_bounded() -> None:
    assert len(mask_condition("a LIKE '?%' AND " * 1_000)) <= 2_000


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
