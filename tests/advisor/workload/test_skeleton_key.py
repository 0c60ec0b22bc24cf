"""The key of a text, held against its fingerprint and its shape."""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starskip.advisor.workload.key_sums import KEY_BITS, skeleton_key
from starskip.errors import UnsupportedQuery
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape

TRUTH = Path(__file__).parents[2] / "data" / "truth"

PIECES = [
    *("select", "SELECT ", " from ", "Where", " AND ", "or", " in ", "a1", "b_2", "_c", "$d", "é", "\u2003"),
    *(
        "'",
        "''",
        "'x'",
        "X'FF'",
        "u&'n'",
        "N'",
        "'it''s (1, 2)'",
        '"',
        '"q 1"',
        "`",
        "`b`",
        "--",
        "-- c 1\n",
        "/*",
        "*/",
        "/* '1' */",
    ),
    *("1", "23", "4.5", ".5", "1e9", "-7", "+1", "(", ")", ",", ";", " ", "\n", "\t", "\x1c", "\x00"),
    *("=", "<>", "!=", "<=", "set a = 1;", "option(t=9)", " OPTION ( a = 'b' )"),
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=3)), max_size=25).map("".join)


def key_of_fingerprint(sql: str) -> int:
    """The same from the fingerprint: without slots, white space, signs, underscores and quotes."""
    skeleton = normalize_sql(sql).skeleton.encode("utf-8", "surrogatepass").lower()
    bare = re.sub(rb"[\x00\s\x1c-\x1f(),;+_\"`-]", b"", skeleton).replace(b"!=", b"<>")
    return int.from_bytes(blake2b(bare, digest_size=8).digest(), "big") >> (64 - KEY_BITS)


@settings(max_examples=1_000)
@given(sql=texts)
def test_the_quick_way_and_the_fingerprint_agree(sql: str) -> None:
    assert skeleton_key(sql) == key_of_fingerprint(sql)
    assert 0 <= skeleton_key(sql) < 1 << KEY_BITS


@pytest.mark.parametrize(
    "spelling",
    [
        "SELECT COUNT(*) FROM t WHERE a=7 AND b IN ('x','y','z') LIMIT 99",
        "select count( * ) from T where A = -7 and b in ('x') limit 5 -- by app 17",
        "/* request 9 */ select count(*) from t where a = 1 and b in ('it''s', 'y') limit 10;",
        "SET timeoutMs = 5; select count(*) from t where a = 1.5 and b in ('x') limit 10",
        "select count(*) from t where a = 1 and b in ('x') limit 10 option(timeoutMs=9000)",
    ],
)
def test_spellings_of_a_shape_have_its_key(spelling: str) -> None:
    assert skeleton_key(spelling) == skeleton_key(
        "select count(*) from t where a = 1 and b in ('x', 'y') limit 10"
    )


def test_shapes_of_the_samples_have_keys_of_their_own() -> None:
    keys: dict[str, set[int]] = {}
    for table in ("lineitem", "airlineStats"):
        for query in json.loads((TRUTH / f"{table}.json").read_text())["queries"]:
            try:
                shape = query_shape(normalize_sql(query["sql"]).skeleton)
            except UnsupportedQuery:
                continue
            keys.setdefault(shape.shape_id, set()).add(skeleton_key(query["sql"]))
    assert len(keys) > 30
    assert all(len(found) == 1 for found in keys.values()), "texts of a shape share their key"
    assert len({key for found in keys.values() for key in found}) == len(keys)


@pytest.mark.parametrize(
    "other", ["a = 1 OR b = 2", "a = 1 AND c = 2", "a <> 1 AND b = 2", 'a = 1 AND "b.c" = 2']
)
def test_other_filters_have_other_keys(other: str) -> None:
    assert skeleton_key(f"select x from t where {other}") != skeleton_key(
        "select x from t where a = 1 and b = 2"
    )
