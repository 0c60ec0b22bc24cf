"""Statements to replay: the largest queries of each shape, and what is known of their answers."""

from __future__ import annotations

import pytest
from starskip.advisor.deployment.statements import Statement, replayed_statements
from starskip.advisor.ledger.advised_index import AdvisedIndex
from starskip.advisor.workload.shape_workload import Instance, ShapeWorkload
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape

COUNTRY = AdvisedIndex("inverted", ("country",))
TS = AdvisedIndex("range", ("ts",))
TREE = AdvisedIndex("star_tree", ("country",), shapes=("none",))


def shape(sql: str, entries: int = 100, queries: int = 4) -> ShapeWorkload:
    normal = normalize_sql(sql)
    parsed = query_shape(normal.skeleton)
    found = ShapeWorkload("events", parsed.shape_id, parsed.text, normal.skeleton, queries=queries)
    found.entries_scanned_in_filter = entries
    found.instances = {normal.literals: Instance(queries, entries)}
    return found


def statement(sql: str) -> Statement:
    (found,) = replayed_statements([shape(sql)], 3, [COUNTRY, TS, TREE], "0.11")
    return found


@pytest.mark.parametrize(
    ("sql", "served_by", "keys", "approximate", "limit"),
    [
        ("SELECT COUNT(*) FROM events WHERE country = 'SE'", ["inverted:country"], [], [], None),
        (
            "SELECT COUNT(*) FROM events WHERE ts > 5 AND country <> 'x'",
            ["inverted:country", "range:ts"],
            [],
            [],
            None,
        ),
        ("SELECT COUNT(*) FROM events WHERE country LIKE 'S%'", [], [], [], None),
        ("SELECT city, SUM(request) FROM events GROUP BY city", [], [0], [], 10),
        ("SELECT city, PERCENTILETDIGEST(price, 95) FROM events GROUP BY city LIMIT 7", [], [0], [1], 7),
        ("SELECT DISTINCTCOUNTHLL(city), COUNT(*) FROM events", [], [], [0], None),
        ("SELECT id FROM events WHERE country = 'SE' LIMIT 5", ["inverted:country"], [0], [], 5),
    ],
)
def test_what_is_known_of_a_statement(
    sql: str, served_by: list[str], keys: list[int], approximate: list[int], limit: int | None
) -> None:
    found = statement(sql)
    assert (list(found.served_by), list(found.keys), list(found.approximate)) == (
        served_by,
        keys,
        approximate,
    )
    assert found.limit == limit
    assert found.queries == 4
    assert found.stops_early is ("id" in sql.split(" FROM ")[0].split())


def test_the_largest_queries_of_the_largest_shapes_come_first() -> None:
    small = shape("SELECT COUNT(*) FROM events WHERE country = 'SE'", 10)
    large = shape("SELECT COUNT(*) FROM events WHERE ts > 5", 1000, queries=8)
    for number in range(5):
        literals = normalize_sql(f"SELECT COUNT(*) FROM events WHERE ts > {number + 10}").literals
        large.instances[literals] = Instance(2, 10 * number)
    large.queries = 18
    found = replayed_statements([small, large], 2, [], "0.11")
    assert [each.sql.rpartition(" ")[2] for each in found] == ["5", "14", "'SE'"]
    assert sum(each.queries for each in found if each.shape_id == large.shape_id) == pytest.approx(18)


def test_redacted_queries_cannot_be_asked() -> None:
    redacted = shape("SELECT COUNT(*) FROM events WHERE country = 'SE'")
    redacted.instances = {(("?1",),): Instance(1, 10)}
    assert replayed_statements([redacted], 2, [], "0.11") == []


@pytest.mark.parametrize(
    ("sql", "asked"),
    [
        ("SELECT COUNT(*) FROM events WHERE city = 'FROM events'", "FROM events_OFFLINE WHERE"),
        ('SELECT events.id FROM "events" LIMIT 3', 'FROM "events_OFFLINE" LIMIT 3'),
        ("SELECT COUNT(*) FROM events_OFFLINE", "FROM events_OFFLINE"),
        ("SELECT COUNT(*) FROM events2", "FROM events2"),
    ],
)
def test_a_half_is_asked_alone(sql: str, asked: str) -> None:
    (found,) = replayed_statements([shape(sql)], 1, [], "0.11", "events_OFFLINE")
    assert found.sql.upper().startswith(f"{sql.partition(' FROM ')[0]} {asked}".upper())
    assert found.sql.count("_OFFLINE") == ("events2" not in sql)
    (whole,) = replayed_statements([shape(sql)], 1, [], "0.11")
    assert whole.sql.upper() == sql.upper()


def test_statements_come_back_from_json() -> None:
    found = statement("SELECT city, SUM(price) FROM events GROUP BY city")
    told = {name: list(v) if isinstance(v := getattr(found, name), tuple) else v for name in found.__slots__}
    assert Statement.from_json(told) == found
