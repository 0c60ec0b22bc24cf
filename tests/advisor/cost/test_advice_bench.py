"""The bench of the advice draws a day that repeats, varies literals alone, and adds up what a set saves."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from pinot.filters.enumerated_sets import EnumeratedSets
from pinot.filters.generated_queries import GeneratedQuery
from pinot.filters.generated_table import GeneratedTable
from pinot.filters.index_sets import IndexSet
from pinot.filters.orders_table import orders_table
from pinot.filters.query_day import TEMPLATES, query_day
from pinot.filters.replayed_day import Structures, ask_day
from pinot.running_pinot import PinotFailed
from starskip.advisor.families.index import Index
from starskip.sql.normalize_sql import normalize_sql
from starskip.sql.query_shape import query_shape

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def orders() -> GeneratedTable:
    return orders_table(1)


def built_on(*columns: str) -> Structures:
    return frozenset(Index("inverted", column) for column in columns)


def query(condition: str) -> GeneratedQuery:
    return GeneratedQuery("t", f"SELECT COUNT(*) FROM t WHERE {condition}", ())


class FakePinot:
    """Reads 100 entries a query, less 60 with an index on a and 90 with one on b that the query names."""

    def __init__(self) -> None:
        self.built = IndexSet("t", "t")
        self.asked: list[str] = []

    def ask(self, sql: str) -> Any:
        if "refused" in sql:
            raise PinotFailed(sql)
        self.asked.append(sql)
        condition = sql.partition("WHERE ")[2]
        saved = {"a": 60, "b": 90}
        return SimpleNamespace(
            entries_in_filter=100 - sum(saved[each] for each in self.built.inverted if each in condition)
        )

    def build(self, index_set: IndexSet) -> None:
        self.built = index_set


def test_a_day_is_the_same_again_and_another_one_with_another_seed(orders: GeneratedTable) -> None:
    assert query_day(orders, 200, 1) == query_day(orders, 200, 1)
    assert query_day(orders, 200, 1) != query_day(orders, 200, 2)


@pytest.mark.parametrize("seed", [1, 2])
def test_few_shapes_are_frequent_and_the_known_one_is(orders: GeneratedTable, seed: int) -> None:
    day = query_day(orders, 600, seed)
    shapes = Counter(normalize_sql(each.sql).skeleton for each in day)
    frequent = shapes.most_common(4)
    assert any("NOT category IN" in text or "NOT `category` IN" in text for text, _ in frequent)
    assert frequent[0][1] > 600 / TEMPLATES * 4
    assert len(shapes) > TEMPLATES / 2


def test_literals_vary_within_a_shape_and_every_text_is_understood(orders: GeneratedTable) -> None:
    texts = {each.sql for each in query_day(orders, 600, 1)}
    shapes = Counter(normalize_sql(text).skeleton for text in texts)
    assert max(shapes.values()) >= 4
    assert len(texts) > 1.5 * len(shapes)
    for text in texts:
        query_shape(normalize_sql(text).skeleton)


def test_a_set_saves_what_its_queries_read_less_and_is_built_once() -> None:
    pinot: Any = FakePinot()
    first, second = query("a = 1"), query("b = 1")
    day = ask_day(pinot, "t", [first, first, first, second, query("refused = 1")])
    pinot.asked.clear()
    day.replay(pinot, pinot.build, [frozenset(), built_on("a"), built_on("b"), built_on("a")])
    assert day.measured == pytest.approx({frozenset(): 0.0, built_on("a"): 0.45, built_on("b"): 0.225})
    assert pinot.asked == [first.sql, second.sql] * 3


def test_the_best_sets_are_weighed_by_the_day() -> None:
    pinot: Any = FakePinot()
    day = ask_day(pinot, "t", [*[query("a = 1")] * 3, query("b = 1"), query("c = 1")])

    def predicted(asked: GeneratedQuery, indexes: Structures) -> float | None:
        if "c = " in asked.sql:
            return None
        return 100.0 - sum({"a": 60, "b": 90}[each.column] for each in indexes)

    sets = EnumeratedSets(day, sorted(built_on("a", "b", "c")), predicted)
    assert sets.best(1, 2) == [built_on("a"), built_on("b")]
    assert sets.best(2, 1) == [built_on("a", "b")]
    assert sets.saving(built_on("a")) == pytest.approx(180 / 400)
