"""A day of queries on a large table, and the sets of indexes under which the day is replayed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from pinot.filters.filtered_columns import FilteredColumn, filtered_columns
from pinot.filters.generated_table import GeneratedTable
from pinot.filters.query_day import query_day
from pinot.latency.large_tables import LargeTable

_SLOT = re.compile(r"\{(\w+)\}")
_VARIANTS = 6
_PLAIN_RATIO = 0.35
_RANGE_TYPES = frozenset({"INT", "LONG", "DOUBLE", "TIMESTAMP"})
_SINGLES = 8


@dataclass(frozen=True, slots=True)
class BuiltSet:
    """Columns with an inverted and with a range index, and the numbers of the star-trees."""

    inverted: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()
    trees: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Short text, as ``starskip what-if --set`` takes it."""
        names = [*self.inverted, *(f"range:{each}" for each in self.ranges)]
        return ",".join([*names, *(f"tree:{each}" for each in self.trees)]) or "none"

    @property
    def document(self) -> dict[str, Any]:
        """Return it as JSON keeps it."""
        return asdict(self)


def latency_day(table: LargeTable, queries: int, seed: int) -> list[str]:
    """Return the texts of a day in their order: generated filters, and plain ones of dashboards."""
    random = Random(f"latency {seed} {table.small.name}")
    columns = {column.name: column for column in filtered_columns(table.small)}
    plain = [_drawn(random, columns, text) for text in table.plain]
    generated = [query.sql for query in query_day(table.small, queries, seed)]
    for number in range(len(generated)):
        if random.random() < _PLAIN_RATIO:
            variants = plain[min(int(random.expovariate(0.5)), len(plain) - 1)]
            generated[number] = variants[min(int(random.expovariate(0.7)), len(variants) - 1)]
    return generated


def _drawn(random: Random, columns: Mapping[str, FilteredColumn], text: str) -> list[str]:
    def literal(found: re.Match[str]) -> str:
        column = columns[found[1]]
        return column.text(column.value(random)[0])

    return list(dict.fromkeys(_SLOT.sub(literal, text) for _ in range(_VARIANTS)))


def built_sets(table: LargeTable, day: list[str], count: int, seed: int) -> list[BuiltSet]:
    """Return ``count`` sets: nothing, single indexes that many queries name, larger sets, star-trees."""
    random = Random(f"sets {seed} {table.small.name}")
    named = _named(table.small, day)
    singles = list(_candidates(table.small, named))
    found = [BuiltSet(), *(_joined([each]) for each, _ in singles[:_SINGLES])]
    every = tuple(range(len(table.trees)))
    found += [BuiltSet(trees=every[:1]), BuiltSet(trees=every)]
    names, weights = zip(*singles, strict=True)
    while len(found) < count:
        size = random.choice((2, 2, 3, 3, 4, 5))
        chosen = _joined(random.choices(names, weights, k=size))
        if len(found) == count - 1:
            chosen = BuiltSet(chosen.inverted, chosen.ranges, every)
        if chosen not in found:
            found.append(chosen)
    return found


def _named(table: GeneratedTable, day: list[str]) -> Counter[str]:
    """Return by column how many queries name it behind WHERE."""
    names = {column.name for column in table.columns}
    found: Counter[str] = Counter()
    for text in day:
        found.update(names & set(re.findall(r"\w+", text.partition(" WHERE ")[2])))
    return found


def _candidates(table: GeneratedTable, named: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    columns = [each for each in table.columns if named.get(each.name) and each.name != table.sorted_column]
    for column in sorted(columns, key=lambda each: -named[each.name]):
        if not column.is_raw:
            yield column.name, named[column.name]
        if column.data_type in _RANGE_TYPES and not column.is_multi_value:
            yield f"range:{column.name}", named[column.name]


def _joined(names: list[str]) -> BuiltSet:
    ranges = {each.removeprefix("range:") for each in names if each.startswith("range:")}
    return BuiltSet(tuple(sorted({each for each in names if ":" not in each})), tuple(sorted(ranges)))
