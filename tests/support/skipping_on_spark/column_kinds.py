"""Kinds of columns with the values that are hardest to compare, as strategies, and their literals in SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

EPOCH = datetime(1970, 1, 1)
TEXTS = (
    *("", " ", "a", "A", "aa", "ab", "abc", "b", "ä", "Ä", "ß", "é", "e\u0301", "z", "zebra", "10", "9"),
    *("😀", "😀😀", "\uffff", "\U0010ffff", "\ue000x", "日本", "a%b", "a_b", "a\\b", "null", "-1", "k7"),
    *("x" * 40, "ab" * 60, "é" * 300, "\U0010ffff" * 70),
)
_FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
_CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0 Safari/537.36"
_AGENTS = (_FIREFOX, _CHROME, "curl/8.5.0", "", "?")
_FLOATS = (0.0, -0.0, float("nan"), float("inf"), float("-inf"), 0.1, 1.5, -2.5, 1e-40, 3e38, 16777217.0)
_DOUBLES = (*_FLOATS, 1e300, -1e300, 5e-324, 0.1 + 0.2, 9007199254740993.0)
_DEGREES = (0.0, -0.0, 1.0, 2.5, 9.9, 10.0, 48.85, -89.9, 180.0, float("nan"), float("inf"))
_DAYS = (0, -1, -141428, -141427, -719162, 20000, 20001, 2932896)
_INSTANTS = tuple(
    (datetime.fromisoformat(text) - EPOCH) // timedelta(microseconds=1)
    for text in (
        # The hours that New York and Berlin have twice, and those that they lack.
        *("2026-11-01 05:30:00", "2026-11-01 06:30:00", "2026-10-25 00:30:00", "2026-10-25 01:30:00"),
        *("2026-03-08 06:59:59.999999", "2026-03-08 07:00:00", "2011-12-30 12:00:00"),
        *("0001-01-01 00:00:00", "1582-10-04 00:00:00", "1582-10-15 00:00:00", "1883-11-18 17:00:00"),
        *("1899-12-31 23:59:59.999999", "1970-01-01 00:00:00", "1969-12-31 23:59:59.999999"),
        *("2024-02-29 12:34:56.789012", "2038-01-19 03:14:08", "9999-12-31 23:59:59.999999"),
    )
)


@dataclass(frozen=True)
class ColumnKind:
    """``literal`` writes a value as Spark's SQL; values of times and days are numbers, as Spark has them."""

    arrow: pa.DataType
    sql: str
    values: st.SearchStrategy[Any]
    literal: Callable[[Any], str]


def text_literal(value: str) -> str:
    """Write a text as Spark's SQL."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _float_literal(kind: str) -> Callable[[float], str]:
    return lambda value: f"{kind}({str(value)!r})"


def _decimals(*known: int) -> st.SearchStrategy[Decimal]:
    return (st.integers(-500, 500) | st.sampled_from(known)).map(lambda each: Decimal(each).scaleb(-2))


def _array_literal(values: list[float]) -> str:
    return f"array({', '.join(map(_float_literal('double'), values))})"


def _map_literal(pairs: list[tuple[str, int]]) -> str:
    listed = ", ".join(f"{text_literal(key)}, {value}" for key, value in pairs)
    return f"map({listed})" if pairs else "cast(map() AS map<string,int>)"


def _texts_of(*values: str) -> ColumnKind:
    return ColumnKind(pa.string(), "string", st.sampled_from(values), text_literal)


_texts = st.sampled_from(TEXTS)
_double = ColumnKind(pa.float64(), "double", st.sampled_from(_DOUBLES), _float_literal("double"))
_degrees = ColumnKind(pa.float64(), "double", st.sampled_from(_DEGREES), _float_literal("double"))
_text = ColumnKind(pa.string(), "string", _texts, text_literal)
_int = ColumnKind(pa.int32(), "int", st.integers(-5, 20), str)
_big = ColumnKind(
    pa.int64(),
    "bigint",
    st.sampled_from((-(2**63), 2**63 - 1, 2**53 + 1, 0, -1)) | st.integers(-50, 50),
    lambda value: f"bigint('{value}')",
)
KINDS: dict[str, ColumnKind] = {
    "i": _int,
    "s": _text,
    "ts": ColumnKind(
        pa.timestamp("us", "UTC"),
        "timestamp",
        st.sampled_from(_INSTANTS),
        lambda value: f"timestamp_micros({value})",
    ),
    "d": _double,
    "day": ColumnKind(
        pa.date32(),
        "date",
        st.sampled_from(_DAYS) | st.integers(-400, 400),
        lambda value: f"date_from_unix_date({value})",
    ),
    "big": _big,
    "dec": ColumnKind(
        pa.decimal128(10, 2),
        "decimal(10,2)",
        _decimals(0, -1, 1, 150, -99999999_99, 99999999_99),
        lambda value: f"cast('{value}' as decimal(10,2))",
    ),
    "f": ColumnKind(pa.float32(), "float", st.sampled_from(_FLOATS), _float_literal("float")),
    "u": _text,
    "tiny": ColumnKind(
        pa.int8(), "tinyint", st.sampled_from((-128, -1, 0, 1, 2, 127)), lambda value: f"{value}Y"
    ),
    "wide": ColumnKind(
        pa.decimal128(38, 6),
        "decimal(38,6)",
        st.sampled_from((0, 1, -1, 10**30, -(10**30), 10**37)).map(lambda each: Decimal(each).scaleb(-6)),
        lambda value: f"cast('{value:f}' as decimal(38,6))",
    ),
    "raw": ColumnKind(
        pa.binary(),
        "binary",
        st.sampled_from((b"", b"\x00", b"\x7f", b"\x80", b"\xff", b"\xff\xff", b"ab", b"abc")),
        lambda value: f"X'{value.hex()}'",
    ),
    "flag": ColumnKind(pa.bool_(), "boolean", st.booleans(), lambda value: str(value).lower()),
    "ntz": ColumnKind(
        pa.timestamp("us"),
        "timestamp_ntz",
        st.sampled_from(_INSTANTS),
        lambda value: f"timestamp_ntz'{EPOCH + timedelta(microseconds=value)}'",
    ),
    "low": ColumnKind(pa.string(), "string collate UTF8_LCASE", _texts, text_literal),
    "ci": ColumnKind(pa.string(), "string collate UNICODE_CI", _texts, text_literal),
    "lat": _degrees,
    "lng": _degrees,
    "agent": ColumnKind(pa.string(), "string", st.sampled_from(_AGENTS), text_literal),
    "vec": ColumnKind(
        pa.list_(pa.float64()),
        "array<double>",
        st.lists(st.sampled_from(_DEGREES), min_size=2, max_size=2),
        _array_literal,
    ),
    "tags": ColumnKind(
        pa.list_(pa.string()),
        "array<string>",
        st.lists(st.sampled_from(("a", "b", "ä", "")) | st.none(), max_size=3),
        lambda values: (
            "cast(array() AS array<string>)"
            if not values
            else f"array({', '.join('null' if each is None else text_literal(each) for each in values)})"
        ),
    ),
    "m": ColumnKind(
        pa.map_(pa.string(), pa.int32()),
        "map<string,int>",
        st.lists(
            st.tuples(st.sampled_from(("k", "x:y", "ä")), st.integers(0, 4)),
            max_size=2,
            unique_by=lambda pair: pair[0],
        ),
        _map_literal,
    ),
    "shape": _texts_of(
        *("POINT (1 1)", "POINT (50 60)", "LINESTRING (0 0, 3 1)", "POLYGON ((2 2, 9 2, 9 9, 2 2))"),
        *("POLYGON EMPTY", "MULTIPOINT ((1 1), (170 -80))", "POINT (2.5 48.85)", "no shape", ""),
    ),
    "ip": _texts_of(
        *("10.0.0.1", "10.0.3.9", "192.168.0.1", "255.255.255.255", "0.0.0.0", "::1", "2001:db8::7"),
        *("::ffff:10.0.3.9", " 10.0.0.1 ", "10.0.3", "no address", ""),
    ),
    "url": _texts_of(
        *("http://a.org/x", "https://b.org:80/?q=1#r", "//c.org/y", "mailto:a@b.c", "relative", ""),
        *(
            "http://[a.org",
            "http://ü.org/",
            "http://a.org",
            "ftp://u:p@d.com/",
            "http://A.org/x",
            "https://B.ORG",
        ),
    ),
    "mail": _texts_of("a@a.org", "b@a.org", "a@b@c.de", "none", "@", "", "x@ä.de", "a@A.org"),
    "doc": _texts_of(
        *('{"a": {"b": "v"}}', '{"a": {"b": 4}}', '{"a": {"b": [1]}}', '{"a": 1}', "{}", "no json", ""),
        *('{"a": {"b": null}}', '{"a": {"b": "ä"}}', '{"a.b": "w"}'),
    ),
}
DERIVED = ("tags", "m", "shape", "ip", "url", "mail", "doc")
"""Columns that are mostly asked for what a function gives of them."""
UNCOMPARABLE = ("map<string,int>",)
"""Types whose values Spark does not compare."""
NESTED: dict[str, ColumnKind] = {"n.x": _big, "n.`y z`": _text, "n.deep.q": _int}
"""Fields of the struct ``n``."""
_ascii = st.sampled_from([each for each in TEXTS if each.isascii()])
PARTITIONED: dict[str, ColumnKind] = {
    "p": _int,
    "q": ColumnKind(pa.string(), "string", _ascii, text_literal),
}
"""Columns that stand in paths, whose names a JVM may not be able to write in other letters."""
