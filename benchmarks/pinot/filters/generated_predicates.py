"""Random predicates on one column (or two), as users write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random

from pinot.filters.filtered_columns import Family, FilteredColumn

_OPERATORS: Mapping[Family, Mapping[str, int]] = {
    "text": {"=": 42, "in": 18, "<>": 9, "not in": 6, "like": 9, "regexp": 4, "range": 4, "function": 8},
    "code": {"=": 42, "in": 20, "<>": 10, "not in": 9, "range": 8, "between": 5, "function": 6},
    "id": {"=": 52, "in": 22, "<>": 3, "not in": 3, "range": 10, "between": 5, "function": 5},
    "measure": {"range": 52, "between": 24, "=": 8, "in": 3, "<>": 3, "function": 10},
    "date": {"range": 42, "between": 32, "=": 14, "in": 4, "<>": 2, "function": 6},
    "time": {"range": 45, "between": 35, "=": 5, "function": 15},
    "multi": {"=": 50, "in": 22, "<>": 9, "not in": 7, "range": 8, "between": 4},
    "flag": {"=": 85, "<>": 10, "in": 5},
    "nullable": {"null": 27, "not null": 23, "=": 24, "in": 10, "<>": 8, "not in": 4, "range": 4},
}


@dataclass(frozen=True, slots=True)
class GeneratedPredicate:
    """``kinds``: words for what it is, such as "like" or "multi-value"."""

    sql: str
    column: str
    kinds: frozenset[str]


def generated_predicate(
    random: Random, column: FilteredColumn, others: tuple[FilteredColumn, ...]
) -> GeneratedPredicate:
    """Return a predicate on ``column``; functions of two columns take a number of ``others``."""
    weights = _OPERATORS[column.family]
    (operator,) = random.choices(list(weights), list(weights.values()))
    kinds = {operator}
    name = column.name
    if operator in ("=", "<>", "in", "not in"):
        sql = _equality(random, column, operator, kinds)
    elif operator == "range":
        sql = f"{name} {random.choice(('>', '>=', '<', '<='))} {_end(random, column)}"
    elif operator == "between":
        sql = _between(random, column)
    elif operator in ("null", "not null"):
        sql = f"{name} IS {'NOT ' if operator == 'not null' else ''}NULL"
        kinds = {"null test"}
    elif operator == "like":
        sql = f"{name} {'NOT LIKE' if random.random() < 0.12 else 'LIKE'} {_like(random, column)}"
    elif operator == "regexp":
        sql = f"REGEXP_LIKE({name}, {_regexp(random, column)})"
    else:
        sql = _function(random, column, others)
    if column.family == "multi":
        kinds.add("multi-value")
    if column.is_raw:
        kinds.add("raw")
    return GeneratedPredicate(sql, name, frozenset(kinds))


def _equality(random: Random, column: FilteredColumn, operator: str, kinds: set[str]) -> str:
    count = random.choices((1, 2, 3, 4, 8, 20), (8, 32, 30, 18, 9, 3))[0] if "in" in operator else 1
    literals = []
    for _ in range(count):
        value, source = column.value(random)
        if source in ("absent", "some segments"):
            kinds.add(f"literal {'absent' if source == 'absent' else 'in some segments'}")
        literals.append(column.text(value))
    if operator in ("=", "<>"):
        if column.family == "time":
            return f"{column.name} {operator} {_moment(random, column)}"
        return (
            f"{column.name} {'!=' if operator == '<>' and random.random() < 0.4 else operator} {literals[0]}"
        )
    return f"{column.name} {operator.upper()} ({', '.join(dict.fromkeys(literals))})"


def _end(random: Random, column: FilteredColumn) -> str:
    if column.family == "time":
        return _moment(random, column)
    value = column.range_value(random)
    if column.is_number and isinstance(value, int):
        # Programs write decimals and products too; the broker makes one integer of them.
        if random.random() < 0.04:
            return f"{value}.5"
        if random.random() < 0.03 and value > 4:
            return f"{value // 2} * 2"
    return column.text(value)


def _between(random: Random, column: FilteredColumn) -> str:
    name = column.name
    ends = sorted(column.range_value(random) for _ in range(2))
    if column.family == "time":
        low, high = (column.text(end) for end in ends)
    elif random.random() < 0.5 and column.is_number:
        # A narrow range: a few percent of the values.
        position = random.randrange(len(column.distinct))
        width = max(1, len(column.distinct) // random.choice((10, 20, 50)))
        low = column.text(column.distinct[position])
        high = column.text(column.distinct[min(position + width, len(column.distinct) - 1)])
    else:
        low, high = (column.text(end) for end in ends)
    if random.random() < 0.45:
        return f"({name} >= {low} AND {name} {random.choice(('<', '<='))} {high})"
    return f"{name} {'NOT BETWEEN' if random.random() < 0.08 else 'BETWEEN'} {low} AND {high}"


def _moment(random: Random, column: FilteredColumn) -> str:
    value = column.range_value(random)
    if random.random() < 0.4:
        moment = datetime.fromtimestamp(value / 1000, UTC)
        return f"'{moment:%Y-%m-%d %H:%M:%S}'"
    return str(value)


def _like(random: Random, column: FilteredColumn) -> str:
    value = str(random.choice(column.values))
    start = random.randrange(max(1, len(value) - 2))
    middle = value[start : start + random.randint(2, 4)]
    form = random.choices(("prefix", "contains", "suffix", "one", "none"), (45, 28, 12, 10, 5))[0]
    pattern = {
        "prefix": value[: random.randint(1, max(1, len(value) - 1))] + "%",
        "contains": f"%{middle}%",
        "suffix": "%" + value[-random.randint(1, 3) :],
        "one": value[:-1] + "_",
        "none": "%no such text%",
    }[form]
    return "'" + pattern.replace("'", "''") + "'"


def _regexp(random: Random, column: FilteredColumn) -> str:
    value = str(random.choice(column.values)).replace("'", "''")
    start = value[: random.randint(2, max(2, len(value) - 1))].rstrip("'")
    return random.choice((f"'^{start}.*'", f"'{start}'", f"'.*{value[-2:]}$'", "'[0-9]+5'", "'^(A|B|w|N).*'"))


def _function(random: Random, column: FilteredColumn, others: tuple[FilteredColumn, ...]) -> str:
    name, value = column.name, random.choice(column.values)
    if column.family == "time":
        return random.choice(
            (
                f"YEAR({name}) = {datetime.fromtimestamp(value / 1000, UTC).year}",
                f"DATETRUNC('DAY', {name}) >= {value // 86_400_000 * 86_400_000}",
                f"HOUR({name}) < {random.randint(1, 23)}",
            )
        )
    if isinstance(value, str):
        cut = random.randint(2, 4)
        return random.choice(
            (
                f"UPPER({name}) = {column.text(value.upper())}",
                f"LOWER({name}) = {column.text(value.lower())}",
                f"SUBSTR({name}, 0, {cut}) = {column.text(value[:cut])}",
                f"LENGTH({name}) > {max(1, len(value) - random.randint(0, 3))}",
                f"LOWER({name}) IN ({column.text(value.lower())}, 'other')",
            )
        )
    numbers = [other for other in others if other.is_number and other.family in ("measure", "code", "id")]
    other = random.choice(numbers)
    bound = value + random.choice(other.values)
    return random.choice(
        (
            f"{name} + {other.name} > {bound}",
            f"{name} - {other.name} < {value}",
            f"MOD({name}, {random.choice((2, 7, 10))}) = {random.choice((0, 1))}",
            f"{name} * 2 >= {value * 2}",
            f"ABS({name} - {value}) <= {random.choice((1, 10, 100))}",
        )
    )
