"""A seeded draw of queries with filters, as users and their tools write them.

Most filters are shallow, a few nested to depth 4; literals are mostly those of the rows, so frequent
values are asked for often. Nothing is left out for being hard to predict.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pinot.filters.filtered_columns import FilteredColumn, filtered_columns
from pinot.filters.generated_predicates import GeneratedPredicate, generated_predicate
from pinot.filters.generated_table import GeneratedTable
from pinot.filters.query_forms import query_text

MAX_DEPTH = 4
_DEPTHS = {0: 17, 1: 36, 2: 28, 3: 13, 4: 6}
_NOT_RATIO = 0.11
_REPEATED_RATIO = 0.13


@dataclass(frozen=True, slots=True)
class GeneratedQuery:
    """``kinds``: words for what the filter and the query are, such as "not" or "limit"."""

    table: str
    sql: str
    kinds: tuple[str, ...]

    @property
    def ends_early(self) -> bool:
        """Return whether Pinot may stop before all rows are read, so that counters depend on the run."""
        return bool({"limit", "ordered", "distinct"} & set(self.kinds))


def generated_queries(table: GeneratedTable, count: int, seed: int) -> tuple[GeneratedQuery, ...]:
    """Return ``count`` different queries on ``table``, and before them those of one known shape."""
    columns = filtered_columns(table)
    random = Random(f"{seed} {table.name}")
    found = {query.sql: query for query in _negated_in(table)}
    while len(found) < count:
        (depth,) = random.choices(list(_DEPTHS), list(_DEPTHS.values()))
        node = _filter(random, columns, depth)
        sql, kinds = query_text(random, table.name, node.sql, lambda: _filter(random, columns, 0).sql)
        query = GeneratedQuery(table.name, sql, tuple(sorted(node.kinds | kinds | {f"depth {depth}"})))
        found.setdefault(sql, query)
    return tuple(found.values())[:count]


@dataclass(frozen=True, slots=True)
class _Node:
    sql: str
    kinds: frozenset[str]
    word: str = ""  # AND, OR or NOT; empty for a predicate


def _filter(random: Random, columns: Sequence[FilteredColumn], depth: int) -> _Node:
    """Return a filter whose longest path has ``depth`` connectives."""
    if depth == 0:
        return _negated(random, _of_predicate(_predicate(random, columns)))
    word = random.choices(("AND", "OR"), (64, 36))[0]
    return _connected(random, columns, depth, word)


def _connected(random: Random, columns: Sequence[FilteredColumn], depth: int, word: str) -> _Node:
    length = random.choices((2, 3, 4, 5), (55, 29, 12, 4))[0]
    deep = random.randrange(length)
    children: list[_Node] = []
    used: list[FilteredColumn] = []
    for position in range(length):
        if position == deep and depth > 1:
            inner = random.choices((_other(word), word), (90, 10))[0]
            children.append(_negated(random, _connected(random, columns, depth - 1, inner)))
        elif depth > 2 and random.random() < 0.2:
            children.append(_negated(random, _connected(random, columns, 1, _other(word))))
        else:
            again = bool(used) and random.random() < _REPEATED_RATIO
            column = random.choice(used) if again else _column(random, columns)
            used.append(column)
            node = _of_predicate(generated_predicate(random, column, tuple(columns)))
            if again:
                node = _Node(node.sql, node.kinds | {"repeated column"})
            children.append(_negated(random, node))
    kinds = frozenset({word.lower()}).union(*(child.kinds for child in children))
    for child in children:
        if child.word == "OR" and word == "AND":
            kinds |= {"or in and"}
        if child.word == "AND" and word == "OR":
            kinds |= {"and in or"}
    return _Node(f" {word} ".join(_in_brackets(child) for child in children), kinds, word)


def _other(word: str) -> str:
    return "OR" if word == "AND" else "AND"


def _in_brackets(node: _Node) -> str:
    return f"({node.sql})" if node.word in ("AND", "OR") else node.sql


def _negated(random: Random, node: _Node) -> _Node:
    if random.random() >= _NOT_RATIO:
        return node
    is_bare = not node.word and random.random() < 0.5
    return _Node(f"NOT {node.sql}" if is_bare else f"NOT ({node.sql})", node.kinds | {"not"}, "NOT")


def _column(random: Random, columns: Sequence[FilteredColumn]) -> FilteredColumn:
    return random.choices(columns, [column.weight for column in columns])[0]


def _predicate(random: Random, columns: Sequence[FilteredColumn]) -> GeneratedPredicate:
    return generated_predicate(random, _column(random, columns), tuple(columns))


def _of_predicate(predicate: GeneratedPredicate) -> _Node:
    return _Node(predicate.sql, predicate.kinds)


def _negated_in(table: GeneratedTable) -> list[GeneratedQuery]:
    """Return a shape that the model once got wrong, varied: NOT IN of half of the rows, and a rare value."""
    if table.name == "orders":
        many, few = "category IN (3, 7, 11)", "warehouse = 1"
        lone, date = "category = 3", "orderDate >= '2023-03-01'"
    else:
        many, few = "tags IN ('tag00', 'tag01', 'tag02')", "status = 304"
        lone, date = "platform = 'web'", "daysSinceEpoch >= 19730"
    filters = (
        f"NOT {many} AND {few}",
        f"{few} AND NOT {many}",
        f"NOT ({many}) AND {few}",
        f"{many.replace(' IN ', ' NOT IN ')} AND {few}",
        f"NOT {lone} AND {few}",
        f"NOT {few} AND {lone}",
        f"NOT {many} AND NOT {few}",
        f"NOT ({many} OR {few})",
        f"NOT ({many} AND {few})",
        f"NOT {many} OR {few}",
        f"NOT {many} AND {few} AND {date}",
    )
    heads = (f"SELECT COUNT(*) FROM {table.name} WHERE ",) * 3 + (
        f"SELECT city, COUNT(*) FROM {table.name} WHERE ",
    )
    queries = []
    for position, text in enumerate(filters):
        head = heads[position % 4]
        tail = " GROUP BY city ORDER BY COUNT(*) DESC LIMIT 10" if "city" in head else ""
        kinds = ["negated in", "not", "or" if " OR " in text else "and"]
        if table.name == "events" and "tags" in text:
            kinds.append("multi-value")
        if tail:
            kinds.append("group by")
        queries.append(GeneratedQuery(table.name, f"{head}{text}{tail}", tuple(sorted(kinds))))
    return queries
