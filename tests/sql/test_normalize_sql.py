from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.sql.normalize_sql import SLOT, NormalizedSql, masked, normalize_sql

NAMES = ["a", "l_shipdate", "$ts$DAY", '"a name"', "`order`", "t.a", "c1", "in_x", "select", "x2y"]
SIGNS = ["=", "<>", "<=", "(", ")", ",", "+", "*", "and", "OR", "not", "BETWEEN", "like", "in", "IN ("]

numbers = st.one_of(st.integers(0, 10**12).map(str), st.sampled_from(["1.5", ".5", "2.", "1e5", "1.5E-3"]))
strings = st.text(max_size=8).map(lambda text: "'" + text.replace("\x00", "").replace("'", "''") + "'")
spaces = st.sampled_from([" ", "\n", "\t ", " /* 'c' 1 */ ", " -- 'c' 1\n"])
words = st.lists(st.one_of(st.sampled_from(NAMES), st.sampled_from(SIGNS), numbers, strings), max_size=25)


def quoted(literal: str) -> str:
    return "'" + literal[1:].replace("'", "''") + "'" if literal.startswith("'") else literal


def put_back(cut: NormalizedSql) -> str:
    """The skeleton with its literals in their slots again."""
    parts = cut.skeleton.split(SLOT)
    lists = [", ".join(map(quoted, values)) for values in cut.literals]
    return parts[0] + "".join(text + part for text, part in zip(lists, parts[1:], strict=True))


_TOKENS = re.compile(r"""'(?:[^']|'')*'|"[^"]*"|`[^`]*`|[\w$.]+|[^\w\s]""")


def tokens(text: str) -> list[str]:
    """Words, literals and signs, white space left out; a tokenizer of the test's own.

    A name in backticks that is called stands bare, as redacted texts have it.
    """
    found = _TOKENS.findall(text)
    called = [each[1:-1] if re.fullmatch(r"`\w+`", each) else each for each in found]
    return [called[i] if found[i + 1 : i + 2] == ["("] else each for i, each in enumerate(found)]


@given(words=words, space=spaces)
def test_literals_put_back_give_the_same_tokens(words: list[str], space: str) -> None:
    cut = normalize_sql(space.join(words))
    assert tokens(put_back(cut)) == tokens(" ".join(words))


@given(words=words)
def test_no_literal_stays_in_the_skeleton(words: list[str]) -> None:
    skeleton = normalize_sql(" ".join(words)).skeleton
    assert "'" not in skeleton
    assert not [
        token
        for token in tokens(skeleton)
        if re.fullmatch(r"[\d.]+(?:[eE][+-]?\d+)?", token) and token != "."
    ]


@given(values=st.lists(st.one_of(numbers, strings), min_size=1, max_size=30), other=numbers)
def test_lists_of_any_length_are_one_skeleton(values: list[str], other: str) -> None:
    cut = normalize_sql(f"select a from t where b = {other} and a in ({', '.join(values)}) limit 5")
    assert masked(cut.skeleton) == "select a from t where b = ? and a in (?) limit ?"
    assert list(map(quoted, cut.literals[1])) == values


@given(text=st.text(alphabet="'\"`-/*() \n\x00ain,1.e+;$?", max_size=200))
def test_any_text_is_cut(text: str) -> None:
    cut = normalize_sql(text)
    assert cut.skeleton.count(SLOT) == len(cut.literals)
    assert normalize_sql(masked(cut.skeleton)).skeleton == cut.skeleton, "nothing else is left to cut"


@pytest.mark.parametrize(
    ("sql", "skeleton", "literals"),
    [
        ("a in (1)", "a in (?)", ["1"]),
        ("a in (-1)", "a in (?)", ["-1"]),
        ("a in (- 1 , 2)", "a in (?)", ["-1", "2"]),
        ("f(1, 2)", "f(?, ?)", ["1", "2"]),
        ("a1 = b2", "a1 = b2", []),
        ("a.1", "a.1", []),
        ("a-1", "a-?", ["1"]),
        ("x'Ff'", "?", ["'ff"]),
        ("N'é' U&'a'", "? ?", ["'é", "'a"]),
        ("hex'ff'", "hex?", ["'ff"]),
        ("'it''s'", "?", ["'it's"]),
        ("'open", "?", ["'open"]),
        ("SET a = 1; SET b = 'x'; c = 2", "c = ?", ["2"]),
        ("c = 2 option(a = 1, b = 'x')", "c = ?", ["2"]),
        ("c = 2 OPTION ( a=1 ) option(b=2);", "c = ?", ["2"]),
        ("set_a = 1; c = 2", "set_a = ?; c = ?", ["1", "2"]),
        ("c = 2 and my_option(3)", "c = ? and my_option(?)", ["2", "3"]),
    ],
)
def test_known_cuts(sql: str, skeleton: str, literals: list[str]) -> None:
    cut = normalize_sql(sql)
    assert masked(cut.skeleton) == skeleton
    assert [value for values in cut.literals for value in values] == literals


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "sql",
    [
        "'" * 1_000_001,
        '"' * 1_000_001,
        "`" * 1_000_001,
        "/*" * 500_000,
        "/" + "*" * 1_000_000,
        "-" * 1_000_000,
        "(" * 1_000_000,
        "in (" * 250_000,
        "in (1" + ", 1" * 300_000,
        "in (1" + ", 1" * 300_000 + ")",
        "in " * 300_000,
        "1." * 500_000,
        "1e" * 500_000,
        "1" * 1_000_000,
        "SET a = 1; " * 90_000,
        "SET " * 250_000,
        "option(" * 140_000 + ")",
        "option(a=1) " * 80_000 + ";",
        " " * 1_000_000,
        "\x00" * 1_000_000,
        "a" * 1_000_000,
        "\ud800" * 300_000,
    ],
    ids=lambda sql: ascii(sql[:10]),
)
def test_a_megabyte_of_anything_is_cut_in_linear_time(sql: str) -> None:
    cut = normalize_sql(sql)
    assert cut.skeleton.count(SLOT) == len(cut.literals)
