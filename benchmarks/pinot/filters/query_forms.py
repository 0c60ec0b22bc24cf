"""Select lists of generated queries: aggregates, groups, rows, DISTINCT."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class _Names:
    groups: tuple[str, ...]
    numbers: tuple[str, ...]
    shown: tuple[str, ...]
    sorted_column: str


_NAMES: Mapping[str, _Names] = {
    "events": _Names(
        ("country", "platform", "status", "device", "campaign", "daysSinceEpoch", "appVersion"),
        ("latencyMs", "price", "sizeBytes"),
        ("userId", "city", "url", "price", "latencyMs", "tags"),
        "daysSinceEpoch",
    ),
    "orders": _Names(
        ("shipMode", "city", "category", "warehouse", "priority", "orderDate", "region"),
        ("quantity", "totalPrice", "weightGrams"),
        ("customerId", "city", "clerk", "totalPrice", "quantity", "placedAt"),
        "orderDate",
    ),
}
_FORMS: Mapping[str, int] = {
    "count": 27,
    "aggregates": 14,
    "group by": 20,
    "filter clause": 5,
    "distinct count": 5,
    "distinct": 6,
    "rows": 13,
    "ordered rows": 6,
    "rows by sorted column": 3,
    "limit 0": 1,
}
_LIMITS = {1: 10, 10: 45, 100: 22, 1_000: 13, 5_000: 10}


def query_text(
    random: Random, table: str, condition: str, another: Callable[[], str]
) -> tuple[str, frozenset[str]]:
    """Return a query with ``condition`` in its WHERE, and words for its kind.

    ``another`` makes conditions of an aggregate's own FILTER.
    """
    names = _NAMES[table]
    (form,) = random.choices(list(_FORMS), list(_FORMS.values()))
    (limit,) = random.choices(list(_LIMITS), list(_LIMITS.values()))
    number, group = random.choice(names.numbers), random.choice(names.groups)
    where = f"FROM {table} WHERE {condition}"
    shown = ", ".join(random.sample(names.shown, random.randint(1, 3)))
    if form == "count":
        return f"SELECT COUNT(*) {where}", frozenset({"aggregate"})
    if form == "aggregates":
        functions = random.sample(
            ("COUNT(*)", *(f"{each}({number})" for each in ("SUM", "MIN", "MAX", "AVG"))), 2
        )
        return f"SELECT {', '.join(functions)} {where}", frozenset({"aggregate"})
    if form == "filter clause":
        sql = f"SELECT SUM({number}) FILTER(WHERE {another()}), COUNT(*) {where}"
        return sql, frozenset({"aggregate", "filter clause"})
    if form == "distinct count":
        return f"SELECT DISTINCTCOUNT({group}) {where}", frozenset({"aggregate"})
    if form == "group by":
        groups = (
            group
            if random.random() < 0.7
            else f"{group}, {random.choice([name for name in names.groups if name != group])}"
        )
        tail = random.choice((f"ORDER BY COUNT(*) DESC LIMIT {limit}", f"ORDER BY {group} LIMIT {limit}", ""))
        sql = f"SELECT {groups}, COUNT(*), SUM({number}) {where} GROUP BY {groups} {tail}".strip()
        return sql, frozenset({"group by"})
    if form == "distinct":
        tail = random.choice((f"LIMIT {limit}", f"ORDER BY {group} LIMIT {limit}", ""))
        return f"SELECT DISTINCT {group} {where} {tail}".strip(), frozenset({"distinct"})
    if form == "limit 0":
        return f"SELECT {shown} {where} LIMIT 0", frozenset({"limit"})
    if form == "rows":
        tail = random.choices(
            (f"LIMIT {limit}", "", f"LIMIT {limit} OFFSET {random.choice((10, 50, 500))}"), (78, 8, 14)
        )[0]
        return f"SELECT {shown} {where} {tail}".strip(), frozenset({"limit"})
    by = names.sorted_column if form == "rows by sorted column" else random.choice((number, group))
    direction = random.choice(("", " DESC"))
    return f"SELECT {shown} {where} ORDER BY {by}{direction} LIMIT {limit}", frozenset({"ordered"})
