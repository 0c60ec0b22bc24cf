"""The law of skipping on table formats: a query of any state of a table has the same rows with it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from random import Random
from typing import Any

from lake_law.changing_table import LONG, PARTITIONS, ChangingTable
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.types import DataType, StringType, StructType
from skipping_tables import settings_of
from starskip.errors import ConfigError, NotPlainFiles, SourceError, StarskipError, UnsupportedQuery
from starskip.secondary import open_table
from starskip.secondary.lifecycle import create_indexes, delete_indexes, vacuum_indexes
from starskip.spark import skipping

_FAILURES = (Py4JError, PySparkException)
ENABLED = "spark.starskip.skipping.enabled"
QUICK = {
    "spark.sql.shuffle.partitions": "1",
    # Queries are many, and read few rows each.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
}
_OF_TEXTS = ("bloom:{}", "prefix:{}:2", "valuelist:{}", "hybrid:{}:3", "ngrams:{}", "suffix:{}:1")
_OF_NUMBERS = ("bloom:{}", "valuelist:{}", "hybrid:{}:4", "gaplist:{}:3")


class LawBroken(AssertionError):
    """Rows with skipping are others than those without."""


@dataclass
class Checked:
    """Counts of what was compared."""

    predicates: int = 0
    skipped: int = 0
    secondary: int = 0
    by_index: int = 0
    changes: int = 0
    failed_changes: int = 0


def run_law(table: ChangingTable, predicates: int, each: int) -> Checked:
    """Change a table and compare ``each`` predicates a time, until so many are compared."""
    found = Checked()
    with settings_of(table.spark, QUICK):
        _run(table, predicates, each, found)
    return found


def _run(table: ChangingTable, predicates: int, each: int, found: Checked) -> None:
    random = table.random
    table.create()
    index_some(table)
    while found.predicates < predicates:
        table.change()
        found.changes += 1
        found.failed_changes = len(table.failed)
        doing = random.randrange(4)
        if doing == 0:
            index_some(table)
        elif doing == 1:
            refresh_all(table)
        elif doing == 2 and random.randrange(4) == 0:
            table.log.append("-- optimize the metadata")
            skipping.optimize(table.spark, table.path)
        place = table.name if random.random() < 0.6 or not table.history else random.choice(table.history)
        compare(table, place, each, found)
        if random.random() < 0.5:
            compare_secondary(table, each, found)


def compare_secondary(table: ChangingTable, count: int, found: Checked) -> None:
    """Compare rows, with all their values, of queries by secondary indexes; not where rows were deleted."""
    spark = table.spark
    names = leaves(spark.sql(f"SELECT * FROM {table.name}").schema)
    name, kind = table.random.choice([each for each in names if each[0] != "p"])
    kinds = ("btree:{}", "ngram:{}", "ngram:{}:2") if isinstance(kind, StringType) else ("btree:{}",)
    specification = table.random.choice(kinds).format(name)
    table.log.append(f"-- secondary {specification}")
    try:
        create_indexes(table.path, [specification])
    except NotPlainFiles as error:
        assert "were deleted" in str(error), error
        return
    except SourceError as error:
        # An index is of a column that is gone, or has another name.
        assert "refresh with --full" in str(error), error
        table.log.append("-- deleted, and made anew")
        delete_indexes(table.path, None)
        vacuum_indexes(table.path, grace=timedelta(0))
        create_indexes(table.path, [specification])
    asked = [predicate(table.random, [*names, (name, kind), (name, kind)]) for _ in range(count)]
    columns = ", ".join(f"({text}) AS `asked {at}`" for at, text in enumerate(asked))
    whole = [
        row.asDict(recursive=True) for row in spark.sql(f"SELECT *, {columns} FROM {table.name}").collect()
    ]
    answers = [[row.pop(f"asked {at}") for at in range(count)] for row in whole]
    opened = open_table(table.path)
    for at, text in enumerate(asked):
        wanted = [row for row, holds in zip(whole, answers, strict=True) if holds[at]]
        for path in ((), ("scan",), (specification,)):
            try:
                answer = opened.answer(text, path=path)
            except (UnsupportedQuery, ConfigError) as error:
                assert isinstance(error, UnsupportedQuery) or "serves no predicate" in str(error), error
                continue
            found.secondary += 1
            found.by_index += answer.stats["path"] not in ([], ["scan"])
            if sorted(map(_text, wanted)) != sorted(map(_text, answer.rows.to_pylist())):
                told = "\n".join(
                    [*table.log, f"-- asked of {table.name} by secondary indexes, {path}: {text}"]
                )
                raise LawBroken(
                    f"{len(wanted)} rows in Spark, {answer.count} by indexes, or others, after\n{told}"
                )


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


def refresh_all(table: ChangingTable) -> None:
    """Bring the metadata up to date."""
    table.log.append("-- refresh")
    try:
        skipping.refresh(table.spark, table.path)
    except StarskipError as error:
        # Every column with an index is gone.
        assert "was dropped" in str(error), error


def index_some(table: ChangingTable) -> None:
    """Create some indexes of the columns that there are."""
    names = leaves(table.spark.sql(f"SELECT * FROM {table.name}").schema)
    for name, kind in table.random.sample(names, min(3, len(names))):
        if name in ("id", "p"):
            continue
        kinds = _OF_TEXTS if isinstance(kind, StringType) else _OF_NUMBERS
        specification = table.random.choice(kinds).format(name)
        table.log.append(f"-- create {specification}")
        try:
            skipping.create(table.spark, table.path, [specification])
        except ConfigError as error:
            # Of another column that had this name.
            table.log.append(f"-- refused: {error}")
            assert "another column" in str(error), error


def leaves(schema: StructType, above: str = "") -> list[tuple[str, DataType]]:
    """Return the columns and fields by quoted names."""
    found: list[tuple[str, DataType]] = []
    for field in schema:
        is_plain = field.name.isidentifier() and field.name.isascii()
        name = f"{above}{field.name}" if is_plain else f"{above}`{field.name}`"
        if isinstance(field.dataType, StructType):
            found += leaves(field.dataType, f"{name}.")
        else:
            found.append((name, field.dataType))
    return found


def predicate(random: Random, names: Sequence[tuple[str, DataType]], depth: int = 2) -> str:
    """Draw a predicate."""
    if depth and random.random() < 0.45:
        left, right = (predicate(random, names, depth - 1) for _ in range(2))
        return random.choice((f"({left} AND {right})", f"({left} OR {right})", f"NOT ({left})"))
    name, kind = random.choice(names)
    if isinstance(kind, StringType):
        begin = random.choice(("k", "k", "k", f"{LONG}k"))
        values = PARTITIONS if name == "p" else tuple(f"{begin}{each}" for each in range(32))
        one, other = random.choice(values), random.choice(values)
        return random.choice(
            (
                *(f"{name} = '{one}'", f"{name} = '{one}'", f"{name} IN ('{one}', '{other}')"),
                *(f"{name} LIKE '{one[:2]}%'", f"{name} LIKE '%{one[-1]}'", f"{name} LIKE '%{one}%'"),
                *(f"{name} IS NULL", f"{name} <> '{one}'", f"{name} > '{one}'", f"{name} = '{one} '"),
                *(f"contains({name}, '{one[1:]}')", f"endswith({name}, '{one[-1]}')", f"{name} <= '{one} '"),
                *(f"levenshtein({name}, '{one}') <= 1", f"{name} IN ('{one}  ', '{other}')"),
            )
        )
    number, other_number = random.randrange(32), random.randrange(32)
    return random.choice(
        (
            *(f"{name} = {number}", f"{name} = {number}", f"{name} IN ({number}, {other_number})"),
            *(f"{name} > {number}", f"{name} BETWEEN {number} AND {number + 2}", f"{name} IS NULL"),
        )
    )


def compare(table: ChangingTable, place: str, count: int, found: Checked) -> None:
    """Compare the rows of predicates on one state of a table; raise LawBroken naming what was done to it."""
    spark = table.spark
    names = leaves(spark.sql(f"SELECT * FROM {place}").schema)
    asked = [predicate(table.random, names) for _ in range(count)]
    compare_asked(table, place, asked, found)


def compare_asked(table: ChangingTable, place: str, asked: Sequence[str], found: Checked) -> None:
    """Compare the rows of given predicates."""
    spark = table.spark
    columns = ", ".join(f"({text}) AS p{at}" for at, text in enumerate(asked))
    whole = spark.sql(f"SELECT id, hash(*) AS row, {columns} FROM {place}").collect()
    plain = sorted((at, *row[:2]) for row in whole for at in range(len(asked)) if row[at + 2])
    query = " UNION ALL ".join(
        f"SELECT {at} AS number, id, hash(*) AS row FROM {place} WHERE {text}"
        for at, text in enumerate(asked)
    )
    try:
        skipped = sorted(tuple(row) for row in spark.sql(query).collect())
    except _FAILURES:
        # Iceberg itself fails where an older snapshot is asked by the former name of a column, for one.
        if _fails_without(spark, query):
            return
        raise
    stats = skipping.last_query_stats(spark)
    found.skipped += sum(
        (each["files_total"] or 0)
        - (each["files_read"] or 0)
        - sum(count for by, count in each["skipped_by"].items() if by in ("delta", "iceberg"))
        for each in stats
        if each["files_total"] is not None
    )
    found.predicates += len(asked)
    if plain != skipped:
        wrong = sorted({row[0] for row in {*plain} ^ {*skipped}})
        told = "\n".join([*table.log, f"-- asked of {place}:", *(asked[at] for at in wrong)])
        raise LawBroken(f"{len(plain)} rows without skipping, {len(skipped)} with it, after\n{told}")


def _fails_without(spark: SparkSession, query: str) -> bool:
    with settings_of(spark, {ENABLED: "false"}):
        try:
            spark.sql(query).collect()
        except _FAILURES:
            return True
    return False
