"""Aggregate queries from a seed: filters nested to depth three, functions, groups, clauses."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from pinot.tree_matching.tables import Table

_KEPT = (
    *("COUNT(*)", "SUM(hits)", "MIN(amount)", "MAX(amount)", "SUM(amount)", "AVG(amount)"),
    *("MINMAXRANGE(hits)", "COUNT(hits)"),
)
_SKETCHED = (
    *("DISTINCTCOUNTHLL(visitor)", "DISTINCTCOUNTHLL(visitor, 12)", "PERCENTILEEST(hits, 90)"),
    *("PERCENTILEEST50(hits)", "PERCENTILETDIGEST(amount, 95)", "PERCENTILETDIGEST95(amount)"),
)
_OTHERS = (
    *("SUM(visitor)", "AVG(hits)", "SUM(hits + amount)", "DISTINCTCOUNT(visitor)", "COUNT(DISTINCT visitor)"),
    *("PERCENTILE(hits, 90)", "SUMPRECISION(hits)", "MODE(hits)", "DISTINCTCOUNTRAWHLL(visitor)"),
    "SUM(hits) FILTER (WHERE {predicate})",
)
Values = Mapping[str, Sequence[str]]
"""Literals of each dimension that some row has."""


class QueryMaker:
    """Makes queries of one table."""

    def __init__(self, table: Table, values: Values, seed: int) -> None:
        """Take the table's literals by dimension."""
        self._table = table
        self._values = values
        self._random = random.Random(f"{seed} {table.name}")
        self._numbers = {name for name, kind in table.dimensions.items() if kind == "INT"}

    def query(self) -> str:
        """Return the next query."""
        pick = self._random
        dimensions = [name for name in self._values if name not in ("page", "note") or pick.random() < 0.08]
        functions = self._functions(dimensions)
        keys = self._keys(dimensions)
        where = self._filter(dimensions, pick.choice((0, 0, 1, 1, 2, 3))) if pick.random() < 0.9 else ""
        distinct = pick.random() < 0.03
        select = list(dict.fromkeys(keys)) if distinct and keys else [*keys, *functions]
        text = f"SELECT {'DISTINCT ' if distinct and keys else ''}{', '.join(select)} FROM {self._table.name}"
        if where:
            text += f" WHERE {where}"
        if keys and not distinct:
            text += f" GROUP BY {', '.join(keys)}"
            if pick.random() < 0.15:
                text += f" HAVING {pick.choice(_KEPT[:4])} > {pick.randint(0, 50)}"
            if pick.random() < 0.3:
                text += f" ORDER BY {pick.choice([*keys, functions[0].partition(' FILTER')[0]])}"
        return f"{text} LIMIT {pick.choice((1, 10, 100_000, 100_000))}"

    def _functions(self, dimensions: Sequence[str]) -> list[str]:
        pick = self._random
        kinds = [_KEPT] * 8 + [_SKETCHED] * 2 + [_OTHERS]
        found = [pick.choice(pick.choice(kinds)) for _ in range(pick.choice((1, 1, 2, 3)))]
        if pick.random() < 0.4:
            found = ["COUNT(*)", "SUM(hits)", "MAX(amount)"][: len(found)]
        filled = [each.format(predicate=self._predicate(dimensions)) for each in found]
        return list(dict.fromkeys(filled))

    def _keys(self, dimensions: Sequence[str]) -> list[str]:
        pick = self._random
        if pick.random() < 0.45:
            return []
        names = pick.sample(list(dimensions), pick.choice((1, 1, 2)))
        if pick.random() < 0.15:
            text = [name for name in dimensions if name not in self._numbers]
            return [f"CONCAT({text[0]}, {text[1]}, '-')"] if pick.random() < 0.5 else [f"UPPER({text[0]})"]
        return names

    def _filter(self, dimensions: Sequence[str], depth: int) -> str:
        pick = self._random
        if not depth:
            return self._predicate(dimensions)
        kind = pick.choice((*["and"] * 8, "or", "or_of_one", "or_of_one", "not"))
        if kind == "not":
            return f"NOT ({self._filter(dimensions, depth - 1)})"
        inner = [pick.choice(list(dimensions))] if kind == "or_of_one" else dimensions
        parts = [self._filter(inner, pick.randint(0, depth - 1)) for _ in range(pick.choice((2, 2, 3)))]
        return (" AND " if kind == "and" else " OR ").join(f"({part})" for part in parts)

    def _predicate(self, dimensions: Sequence[str]) -> str:
        pick = self._random
        name = pick.choice(list(dimensions))
        one, two, three = (pick.choice(self._values[name]) for _ in range(3))
        absent = "99999999" if name in self._numbers else "'zzz'"
        low, high = sorted((one, two), key=lambda text: (len(text), text))
        kinds = (
            *(f"{name} = {one}", f"{name} = {one}", f"{name} IN ({one}, {two}, {three})"),
            *(f"{name} <> {one}", f"{name} NOT IN ({one}, {two})", f"{name} BETWEEN {low} AND {high}"),
            *(f"{name} >= {low} AND {name} < {high}", f"{name} > {one}", f"{name} <= {one}"),
            *(f"{name} >= {self._values[name][0]}", f"{name} = {absent}", f"{name} <> {absent}"),
            *(f"{name} IN ({one}, {absent})", f"{name} IN ({one}, {two})", f"{name} < {high}"),
            f"NOT {name} = {one}" if pick.random() < 0.5 else f"NOT {name} IN ({one}, {two})",
            f"{name} IS NOT NULL" if pick.random() < 0.3 else f"{name} = {two}",
            self._rare(name, one),
        )
        return pick.choice(kinds)

    def _rare(self, name: str, one: str) -> str:
        if name in self._numbers:
            return f"{name} + 1 = {one}" if self._random.random() < 0.5 else f"{name} > {one}"
        start = one[:2]
        return self._random.choice(
            (f"{name} LIKE {start}%'", f"REGEXP_LIKE({name}, {start}.*')", f"SUBSTR({name}, 0, 1) = {start}'")
        )
