"""Predicate trees as Spark's SQL over the columns of a random table; none can fail in any row."""

from __future__ import annotations

import random

from skipping_on_spark.random_table import RandomTable

_COMPARED = ("=", "<>", "<", "<=", ">", ">=", "<=>")
_NUMBERS = {"tinyint", "int", "bigint", "float", "double", "decimal(10,2)", "decimal(38,6)"}
_SMALL = {"tinyint", "int"}
_PLAIN_NUMBERS = ("1.5", "0", "-0.0D", "1e300D", "127", "2147483648", "0.1", "100000000.00")


def random_predicate(rng: random.Random, table: RandomTable, depth: int = 3) -> str:
    """Return one; what it is about are mostly values that the table has."""
    if depth and rng.random() < 0.5:
        left, right = (random_predicate(rng, table, depth - 1) for _ in range(2))
        return rng.choice((f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"))
    return rng.choice(_LEAVES)(rng, table)


def _comparison(rng: random.Random, table: RandomTable) -> str:
    name = rng.choice(list(table.kinds))
    operator, literal = rng.choice(_COMPARED), _literal(rng, table, name)
    return rng.choice((f"{name} {operator} {literal}", f"{literal} {operator} {name}"))


def _membership(rng: random.Random, table: RandomTable) -> str:
    name = rng.choice(list(table.kinds))
    values = [_literal(rng, table, name) for _ in range(rng.choice((1, 2, 3, 12, 30)))]
    if rng.random() < 0.2:
        values.append("null")
    return f"{name} {rng.choice(('IN', 'NOT IN'))} ({', '.join(values)})"


def _between(rng: random.Random, table: RandomTable) -> str:
    name = rng.choice(list(table.kinds))
    return f"{name} BETWEEN {_literal(rng, table, name)} AND {_literal(rng, table, name)}"


def _null_test(rng: random.Random, table: RandomTable) -> str:
    name = rng.choice([*table.kinds, *(["n", "n.deep"] if table.nested else [])])
    return f"{name} {rng.choice(('IS NULL', 'IS NOT NULL'))}"


def _text(rng: random.Random, table: RandomTable) -> str:
    name = rng.choice([each for each, kind in table.kinds.items() if kind.sql == "string"])
    value = rng.choice(table.values[name] or ["ab"])
    cut = rng.randint(0, len(value))
    part = rng.choice((value[:cut], value[cut:], value[cut : cut + 2], value))
    quoted = table.kinds["s"].literal(part)
    pattern = rng.choice(("{}%", "%{}", "%{}%", "_{}%")).format(part.replace("\\", "\\\\"))
    escaped = part.replace("/", "//").replace("_", "/_") + "%"
    return rng.choice(
        (
            f"startswith({name}, {quoted})",
            f"endswith({name}, {quoted})",
            f"contains({name}, {quoted})",
            f"{name} LIKE {table.kinds['s'].literal(pattern)}",
            f"{name} NOT LIKE {table.kinds['s'].literal(pattern)}",
            f"{name} LIKE {table.kinds['s'].literal(escaped)} ESCAPE '/'",
            f"lower({name}) = {quoted}",
            f"{name} collate UNICODE_CI = {quoted}",
            f"{name} collate UTF8_LCASE IN ({quoted}, 'A')",
            f"length({name}) > {rng.randint(0, 3)}",
            f"substr({name}, 1, 1) = {quoted}",
        )
    )


def _time(rng: random.Random, table: RandomTable) -> str:
    name = rng.choice([each for each in ("ts", "ntz", "day") if each in table.kinds])
    value = _literal(rng, table, name)
    return rng.choice(
        (
            f"year({name}) {rng.choice(_COMPARED)} {rng.choice((1582, 1969, 1970, 2024, 2026))}",
            f"date({name}) {rng.choice(_COMPARED)} date({value})",
            f"date_trunc('MONTH', {name}) = date_trunc('MONTH', {value})",
            f"{name} > current_timestamp() - interval 2 years",
            f"date_add(date({name}), 1) >= date({value})",
            f"cast({name} as timestamp) < {_literal(rng, table, 'ts')}",
        )
    )


def _number(rng: random.Random, table: RandomTable) -> str:
    numbers = [each for each, kind in table.kinds.items() if kind.sql in _NUMBERS]
    name, other = rng.choice(numbers), rng.choice(numbers)
    small = rng.choice([each for each in numbers if table.kinds[each].sql in _SMALL])
    operator = rng.choice(_COMPARED)
    return rng.choice(
        (
            f"{name} {operator} {other}",
            f"{name} {operator} {rng.choice(_PLAIN_NUMBERS)}",
            f"{name} {operator} {_literal(rng, table, other)}",
            f"{small} + 1 {operator} {rng.randint(-3, 20)}",
            f"abs(int({small})) > 3",
            f"coalesce({name}, {_literal(rng, table, name)}) {operator} {_literal(rng, table, name)}",
            f"isnan({rng.choice(('f', 'd'))})",
        )
    )


def _branch(rng: random.Random, table: RandomTable) -> str:
    condition = _comparison(rng, table)
    return rng.choice(
        (
            "flag",
            "NOT flag",
            "flag = true",
            "flag <=> false",
            f"CASE WHEN {condition} THEN true ELSE false END",
            f"if({condition}, {_null_test(rng, table)}, {_comparison(rng, table)})",
            f"({condition}) <=> null",
            f"({condition}) = flag",
            f"({condition}) IS NULL",
            rng.choice(("true", "false", "cast(null as boolean)")),
        )
    )


_LEAVES = (
    *(_comparison, _comparison, _comparison, _membership, _between),
    *(_null_test, _text, _time, _number, _branch),
)


def _literal(rng: random.Random, table: RandomTable, name: str) -> str:
    kind = table.kinds[name]
    known = table.values[name]
    value = rng.choice(known) if known and rng.random() < 0.7 else kind.values(rng)
    return "null" if rng.random() < 0.03 else kind.literal(value)
