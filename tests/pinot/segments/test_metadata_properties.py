from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.pinot.segments.metadata_properties import list_values, parse_properties, single_value
from starskip.pinot.segments.segment_layout import IndexRange, parse_index_map


def escaped(text: str, also: str = "") -> str:
    """As Commons Configuration writes: ASCII, the rest as UTF-16 escapes."""
    out = []
    for character in text:
        if character in also or character == "\\":
            out.append("\\" + character)
        elif " " <= character <= "~":
            out.append(character)
        else:
            units = character.encode("utf-16-be")
            out += [f"\\u{units[i : i + 2].hex()}" for i in range(0, len(units), 2)]
    return "".join(out)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(st.dictionaries(texts.filter(lambda key: key.strip() == key and key), texts, max_size=6))
def test_escaped_properties_come_back(pairs: dict[str, str]) -> None:
    quoted = {key: f"'{value}'" for key, value in pairs.items()}
    lines = []
    for key, value in quoted.items():
        # Lists are escaped before lines are: a backslash of a value is written four times.
        written = escaped(value.replace(",", "\0\0")).replace("\\\\", "\\\\\\\\")
        lines.append(f"{escaped(key, also=' =:#!')} = {written}")
    found = parse_properties("\n".join(lines).encode("latin-1"))
    assert {key: single_value(found, key) for key in found} == quoted


@given(st.binary(max_size=300))
def test_any_bytes_parse_to_something(content: bytes) -> None:
    for key in parse_properties(content):
        key.encode()


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a = b,c , d", ("b", "c", "d")),
        ("a = b\na = c,d\na=e", ("b", "c", "d", "e")),
        ("a = b\\,c,d", ("b,c", "d")),
        ("a = b,\\\n    c\\\n,d", ("b", "c", "d")),
        ("a =", ()),
        ("a", ()),
        ("a:b", ("b",)),
        ("a b", ("b",)),
        ("# a = x\n! a = y\n\na = b", ("b",)),
        ("a = b\r\na = c\ra = d", ("b", "c", "d")),
        ("a = \\u00fc\\u6771", ("ü東",)),
        ("a = \\ud83c\\udf88", ("🎈",)),
        ("a = \\ud83c", ("\N{REPLACEMENT CHARACTER}",)),
        ("a = b\\", ("b",)),
    ],
)
def test_lists(content: str, expected: tuple[str, ...]) -> None:
    assert list_values(parse_properties(content.encode()), "a") == expected


def test_values_hide_commas_and_outer_blanks_behind_nul() -> None:
    found = parse_properties(b"a = \\u0000 x\\u0000\\u0000y \\u0000\nb = \\u0000\nc =")
    assert single_value(found, "a") == " x,y "
    assert single_value(found, "b") == "\0"
    assert single_value(found, "c") == ""
    assert single_value(found, "d") is None


def test_the_second_dialect_takes_keys_as_they_are() -> None:
    found = parse_properties(b"# version = 2\ncolumn.a b=c:d.cardinality = 7\ncolumn.x\\y.minValue =")
    assert single_value(found, "column.a b=c:d.cardinality") == "7"
    assert parse_properties(b"column.a\\ b\\=c.cardinality = 7") == {"column.a b=c.cardinality": ["7"]}


def test_a_line_of_a_mebibyte_and_a_million_backslashes() -> None:
    found = parse_properties(b"a" * (1 << 20) + b" = 1\n" + b"\\" * (1 << 20) + b"\n" + b"x\\\n" * 100_000)
    assert single_value(found, "a" * (1 << 20)) == "1"


def test_index_map_keys_are_read_from_the_right() -> None:
    content = (
        b"a.b.c.inverted_index.startOffset = 5\na.b.c.inverted_index.size = 9\nx.forward_index.flag = no"
    )
    assert parse_index_map(content) == {("a.b.c", "inverted_index"): IndexRange(5, 9)}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a.size = 3", "index_map: key a.size is not column.index.attribute"),
        (b"a.dictionary.size = 3", "index_map: a.dictionary has no startOffset or no size"),
        (b"a.dictionary.size = -3", "index_map: a.dictionary.size is no number"),
        (b"a.dictionary.size = 99999999999999999999", "index_map: a.dictionary.size is no number"),
    ],
)
def test_damaged_index_maps(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parse_index_map(content)
