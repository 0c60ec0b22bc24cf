"""Columns of the generated tables as filters use them: what is asked of each, and its literals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal

from pinot.filters.generated_table import GeneratedTable

Family = Literal["text", "code", "id", "measure", "date", "multi", "flag", "nullable", "time"]
Source = Literal["rows", "distinct", "some segments", "absent"]

FAMILIES: Mapping[str, Mapping[str, tuple[Family, int]]] = {
    "events": {
        "daysSinceEpoch": ("date", 10),
        "tags": ("multi", 9),
        "itemIds": ("multi", 6),
        "platform": ("text", 6),
        "status": ("code", 8),
        "isBot": ("flag", 5),
        "campaign": ("text", 7),
        "userId": ("id", 7),
        "country": ("text", 7),
        "city": ("text", 7),
        "device": ("text", 6),
        "url": ("text", 7),
        "appVersion": ("text", 5),
        "referrer": ("nullable", 6),
        "score": ("nullable", 4),
        "latencyMs": ("measure", 7),
        "price": ("measure", 6),
        "sizeBytes": ("measure", 5),
    },
    "orders": {
        "orderDate": ("date", 10),
        "placedAt": ("time", 6),
        "category": ("code", 9),
        "warehouse": ("code", 8),
        "shipMode": ("text", 8),
        "priority": ("text", 6),
        "returnFlag": ("text", 6),
        "region": ("text", 6),
        "city": ("text", 8),
        "clerk": ("text", 5),
        "remark": ("text", 4),
        "coupon": ("nullable", 4),
        "isGift": ("code", 4),
        "supplierId": ("id", 7),
        "customerId": ("id", 6),
        "quantity": ("measure", 8),
        "discount": ("measure", 5),
        "totalPrice": ("measure", 5),
        "weightGrams": ("measure", 4),
    },
}
"""By table and column: what it is asked as, and how often."""

_SOURCES: Mapping[Source, int] = {"rows": 60, "distinct": 24, "some segments": 9, "absent": 7}


@dataclass(frozen=True, slots=True)
class FilteredColumn:
    """``values``: one an entry, so that a draw meets frequent ones; ``partial``: not in every segment."""

    name: str
    family: Family
    weight: int
    is_number: bool
    is_raw: bool
    values: list[Any]
    distinct: list[Any]
    partial: list[Any]

    def value(self, random: Random) -> tuple[Any, Source]:
        """Return a literal's value, and where it comes from."""
        (source,) = random.choices(list(_SOURCES), list(_SOURCES.values()))
        if source == "absent":
            return self._absent(random), source
        if source == "some segments" and self.partial:
            return random.choice(self.partial), source
        if source == "distinct":
            return random.choice(self.distinct), source
        return random.choice(self.values), "rows"

    def range_value(self, random: Random) -> Any:
        """Return an end of a range: a quantile of the rows, now and then beyond them."""
        if self.is_number and random.random() < 0.04:
            return self.distinct[-1] + random.randint(1, 50)
        return random.choice(self.values if random.random() < 0.8 else self.distinct)

    def text(self, value: Any) -> str:
        """Return ``value`` as a literal of SQL."""
        if self.family == "flag":
            return str(value)
        if isinstance(value, str):
            return "'" + value.replace("'", "''") + "'"
        return str(value)

    def _absent(self, random: Random) -> Any:
        value = random.choice(self.values)
        if self.family == "flag":
            return value
        if isinstance(value, str):
            return random.choice((value + "x", "Zzz", value[:-1] or "0"))
        if isinstance(value, float):
            return value + 0.003
        taken = set(self.distinct)
        if random.random() < 0.5:
            return self.distinct[-1] + random.randint(1, 1_000)
        return next(value + step for step in range(1, 1_000_000) if value + step not in taken)


def filtered_columns(table: GeneratedTable) -> tuple[FilteredColumn, ...]:
    """Return the columns of ``events`` or ``orders`` with their values."""
    kinds = {column.name: column for column in table.columns}
    found = []
    for name, (family, weight) in FAMILIES[table.name].items():
        by_segment = [_entries(rows[name]) for rows in table.segments]
        sets = [set(entries) for entries in by_segment]
        values = [value for entries in by_segment for value in entries]
        distinct = sorted(set.union(*sets))
        everywhere = set.intersection(*sets)
        # The smallest segment alone lacks most values: partial is what a large one lacks too.
        large = set.intersection(*sets[:3])
        partial = [value for value in distinct if value not in everywhere and value not in large]
        is_number = kinds[name].data_type in ("INT", "LONG", "DOUBLE")
        found.append(
            FilteredColumn(*(name, family, weight, is_number, kinds[name].is_raw, values, distinct, partial))
        )
    return tuple(found)


def _entries(values: Any) -> list[Any]:
    return [
        entry
        for value in values
        if value is not None
        for entry in (value if isinstance(value, list) else (value,))
    ]
