"""Names of queries resolved with their table's own: case, dots, names of tables, aliases by version."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape
from starskip.sql.query_text import query_text
from starskip.sql.resolved_skeleton import QueryNames, resolved_skeleton
from starskip.sql.spelled_names import Spelling

COLUMNS = ("Origin", "Dest", "ts", "id", "ID", "name", "attributes.name", "order", "$ts$DAY", "t.x", "m")
NAMES = {
    "1.0": QueryNames("t", Spelling(COLUMNS), aliases_in_where=True),
    "1.1": QueryNames("t", Spelling(COLUMNS), aliases_in_where=False),
    "unknown": QueryNames("t", None, aliases_in_where=False),
}


def resolved(sql: str, version: str = "1.1") -> str:
    cut = normalize_sql(sql)
    skeleton, slots = resolved_skeleton(cut.skeleton, NAMES[version])
    query_shape(skeleton)
    literals = cut.literals if slots is None else tuple(cut.literals[slot] for slot in slots)
    return query_text(skeleton, literals)


def where(condition: str, version: str = "1.1") -> str:
    return resolved(f"SELECT 1 FROM t WHERE {condition}", version).partition(" WHERE ")[2]


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("ORIGIN = 'SFO' AND dest IN (1, 2)", "Origin = 'SFO' AND Dest IN (1, 2)"),
        ("\"ORIGIN\" = 'ORIGIN'", "\"Origin\" = 'ORIGIN'"),
        ("`origin` = 3 -- origin", '"Origin" = 3'),
        ("ID = 1 AND id = 2 AND Id = 3", "ID = 1 AND id = 2 AND Id = 3"),
        ("T.Origin = 1 AND t.dest = 2", "Origin = 1 AND Dest = 2"),
        ("attributes.name = 'x'", "\"attributes.name\" = 'x'"),
        ("Attributes.NAME = 'x'", "\"attributes.name\" = 'x'"),
        ("t.attributes.name = 'x'", "\"attributes.name\" = 'x'"),
        ('"attributes"."name" = \'x\'', "\"attributes.name\" = 'x'"),
        ("\"attributes.NAME\" = 'x'", "\"attributes.name\" = 'x'"),
        ("`Attributes.name` = 'x'", "\"attributes.name\" = 'x'"),
        ("other.name = 'x'", "\"other.name\" = 'x'"),
        ("t.x = 1", '"t.x" = 1'),
        ('t."order" = 1 AND "ORDER" = 2', '"order" = 1 AND "order" = 2'),
        ('"$TS$day" > 1 AND $docId < 5', '"$ts$DAY" > 1 AND $docId < 5'),
        ("UPPER(origin) = 'X' OR NOT (TS + 1) > 3", "UPPER(Origin) = 'X' OR NOT (ts + 1) > 3"),
        ("LOOKUP('d', 'a', 'b', origin) = 1", "LOOKUP('d', 'a', 'b', origin) = 1"),
        ("M['origin'] = 'x'", "m['origin'] = 'x'"),
        ("nothing = 1", "nothing = 1"),
    ],
)
def test_names_are_the_tables_own(condition: str, meant: str) -> None:
    assert where(condition) == meant
    assert where(meant) == meant, "resolving a resolved text changes nothing"


@pytest.mark.parametrize(
    ("condition", "meant"),
    [
        ("origin = 1", "origin = 1"),
        ("t.origin = 1", "origin = 1"),
        ("attributes.name = 1", '"attributes.name" = 1'),
        ("T.attributes.name = 1", '"attributes.name" = 1'),
    ],
)
def test_without_known_columns_a_dotted_name_is_of_the_table_or_whole(condition: str, meant: str) -> None:
    assert where(condition, "unknown") == meant


@pytest.mark.parametrize("source", ["T", '"T"', "default.t", "my_db.T", '"my_db.t"', "t AS a", "my_db.t a"])
def test_a_table_is_found_whatever_its_case_and_database(source: str) -> None:
    name = "a" if source.endswith(" a") or "AS" in source else source
    text = resolved(f"SELECT 1 FROM {source} WHERE {name}.ORIGIN = 1 AND {name}.attributes.name = 2")
    tail = source[1:] if source.startswith("t ") else source.replace("my_db.t", "") if name == "a" else ""
    assert text == f'SELECT 1 FROM t{tail} WHERE Origin = 1 AND "attributes.name" = 2'


ALIASES = [
    # text, until 1.0, since 1.1
    (
        "SELECT Dest AS Origin FROM t WHERE Origin = 1",
        "SELECT Dest AS Origin FROM t WHERE Dest = 1",
        "SELECT Dest AS Origin FROM t WHERE Origin = 1",
    ),
    (
        "SELECT dest AS Origin, Origin AS \"Dest\" FROM t WHERE Origin = 1 AND Dest = 'x'",
        "SELECT Dest AS Origin, Origin AS \"Dest\" FROM t WHERE Dest = 1 AND Origin = 'x'",
        "SELECT Dest AS Origin, Origin AS \"Dest\" FROM t WHERE Origin = 1 AND Dest = 'x'",
    ),
    ("SELECT Dest o FROM t WHERE o = 1",) + ("SELECT Dest o FROM t WHERE Dest = 1",) * 2,
    ("SELECT Dest o FROM t WHERE O = 1",) + ("SELECT Dest o FROM t WHERE O = 1",) * 2,
    (
        "SELECT DATETRUNC('DAY', TS, 'X') AS m FROM t WHERE m > 5 AND id = 'y'",
        "SELECT DATETRUNC('DAY', ts, 'X') AS m FROM t WHERE (DATETRUNC('DAY', \"ts\", 'X')) > 5 AND id = 'y'",
        "SELECT DATETRUNC('DAY', ts, 'X') AS m FROM t WHERE m > 5 AND id = 'y'",
    ),
    (
        "SELECT Dest AS Origin, COUNT(*) AS id FROM t GROUP BY Origin HAVING id > 1 ORDER BY Origin",
        *("SELECT Dest AS Origin, COUNT(*) AS id FROM t GROUP BY Dest HAVING id > 1 ORDER BY Origin",) * 2,
    ),
    (
        "SELECT SUM(id) FILTER (WHERE Origin = 1), Dest AS Origin FROM t GROUP BY Dest",
        *("SELECT SUM(id) FILTER (WHERE Origin = 1), Dest AS Origin FROM t GROUP BY Dest",) * 2,
    ),
]


@pytest.mark.parametrize(("text", "until_1_0", "since_1_1"), ALIASES)
def test_aliases_apply_to_the_where_until_1_0(text: str, until_1_0: str, since_1_1: str) -> None:
    assert resolved(text, "1.0") == until_1_0
    assert resolved(text, "1.1") == since_1_1


def test_options_and_queries_of_several_tables_stay() -> None:
    text = 'SET skipIndexes="origin=inverted"; SELECT 1 FROM t WHERE origin = 1'
    assert resolved(text) == text.replace("WHERE origin", "WHERE Origin")
    joined = normalize_sql("SELECT 1 FROM t JOIN u ON t.origin = u.x WHERE t.origin = 1").skeleton
    assert resolved_skeleton(joined, NAMES["1.1"]) == (joined, None)


@given(st.lists(st.sampled_from(["origin", "Dest", "ID", "attributes.name", "t.ts", "'x'", "7"]), max_size=6))
def test_names_and_literals_keep_their_places(items: list[str]) -> None:
    condition = (
        " AND ".join(f"f({item}, 'l', {number}) = {item}" for number, item in enumerate(items)) or "1=1"
    )
    spelled = {"origin": "Origin", "attributes.name": '"attributes.name"', "t.ts": "ts"}
    meant = " AND ".join(
        f"f({spelled.get(item, item)}, 'l', {number}) = {spelled.get(item, item)}"
        for number, item in enumerate(items)
    )
    assert where(condition or "1=1") == (meant or "1=1")
