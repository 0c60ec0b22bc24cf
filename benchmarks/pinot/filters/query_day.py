"""A seeded day of queries: a few shapes are asked often, most seldom, with several literals each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from random import Random

from pinot.filters.filtered_columns import FilteredColumn, filtered_columns
from pinot.filters.generated_queries import GeneratedQuery, generated_queries
from pinot.filters.generated_table import GeneratedTable

TEMPLATES = 45
VARIANTS = 5
KNOWN_SHAPES = 11
"""``generated_queries`` begins with that many of one known shape."""

_LITERAL = r"(?:'(?:[^']|'')*'|-?\d+(?:\.\d+)?|true|false)"
# Not the second operand of a sum: that is a function of two columns.
_COLUMN = r"(?<![+\-*] )(?<!\w)(?P<column>[A-Za-z]\w*)"
_PREDICATE = re.compile(
    rf"{_COLUMN} (?:"
    rf"(?P<from>>=) {_LITERAL} AND (?P=column) (?P<to><=?) {_LITERAL}"
    rf"|(?P<between>(?:NOT )?BETWEEN) {_LITERAL} AND {_LITERAL}"
    rf"|(?P<list>(?:NOT )?IN) \((?P<items>{_LITERAL}(?:, {_LITERAL})*)\)"
    rf"|(?P<equal>=|<>|!=) {_LITERAL}"
    rf"|(?P<end>>=|<=|>|<) {_LITERAL}"
    r")(?! [*+\-])(?![\w.])"
)


def query_day(table: GeneratedTable, lines: int, seed: int) -> list[GeneratedQuery]:
    """Return ``lines`` queries in the order in which they are asked.

    Shapes and literals are as frequent as Zipf says; one of the three most frequent shapes is
    ``NOT c IN (...) AND b = ...``.
    """
    random = Random(f"day {seed} {table.name}")
    columns = {column.name: column for column in filtered_columns(table)}
    generated = generated_queries(table, KNOWN_SHAPES + TEMPLATES - 1, seed)
    templates = list(generated[KNOWN_SHAPES:])
    random.shuffle(templates)
    templates.insert(random.randrange(3), generated[0])
    variants = [_variants(random, columns, template) for template in templates]
    return [_zipf(random, each) for each in random.choices(variants, _weights(len(variants)), k=lines)]


def _variants(
    random: Random, columns: Mapping[str, FilteredColumn], template: GeneratedQuery
) -> list[GeneratedQuery]:
    texts = [template.sql]
    texts += [
        _PREDICATE.sub(lambda found: _drawn(random, columns, found), template.sql)
        for _ in range(VARIANTS - 1)
    ]
    return [replace(template, sql=text) for text in dict.fromkeys(texts)]


def _drawn(random: Random, columns: Mapping[str, FilteredColumn], found: re.Match[str]) -> str:
    """Return the predicate with other literals."""
    column = columns.get(found["column"])
    if column is None:
        return found[0]
    name = column.name
    if found["from"] or found["between"]:
        low, high = (column.text(end) for end in sorted(column.range_value(random) for _ in range(2)))
        if found["between"]:
            return f"{name} {found['between']} {low} AND {high}"
        return f"{name} >= {low} AND {name} {found['to']} {high}"
    if found["list"]:
        count = len(re.findall(_LITERAL, found["items"]))
        literals = dict.fromkeys(column.text(column.value(random)[0]) for _ in range(count))
        return f"{name} {found['list']} ({', '.join(literals)})"
    if found["equal"]:
        return f"{name} {found['equal']} {column.text(column.value(random)[0])}"
    return f"{name} {found['end']} {column.text(column.range_value(random))}"


def _zipf(random: Random, queries: list[GeneratedQuery]) -> GeneratedQuery:
    return random.choices(queries, _weights(len(queries)))[0]


def _weights(count: int) -> list[float]:
    return [1 / rank for rank in range(1, count + 1)]
