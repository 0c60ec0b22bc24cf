"""The law, seen on real Spark: the same rows, and no file left out that holds one."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from pyspark.sql import DataFrame, SparkSession
from skipping_on_spark.random_predicate import random_predicate
from skipping_on_spark.random_table import ROWS_OF_A_FILE, RandomTable, random_table
from starskip.errors import ConfigError
from starskip.skipping.registry import OWN_TYPES, index_from_specification
from starskip.spark import skipping

_ARGUMENTS = {"prefix": ":2", "suffix": ":1", "gaplist": ":3", "metricdist": ":levenshtein", "hybrid": ":2"}
_RUN_OF_EACH_TABLE = 2


@dataclass
class Seen:
    """What was seen; ``broken`` tells where the law was, which nobody should ever see."""

    cases: int = 0
    files: int = 0
    skipped: int = 0
    broken: list[str] = field(default_factory=list)


def see_table(
    spark: SparkSession,
    folder: Path,
    seed: int,
    predicates: int,
    file_format: str | None = None,
    *,
    kind: str | None = None,
    depth: int = 3,
) -> Seen:
    """Make a table and indexes, and compare what each predicate reads with where its rows are.

    ``kind``: all indexes of that kind, instead of some of each.
    """
    table = random_table(random.Random(f"table {seed}"), folder / f"table-{seed}", file_format)
    rng = random.Random(f"predicates {seed}")
    spark.conf.set("spark.sql.session.timeZone", table.zone)
    # Spark's own fails at IN with a null for a float (NullPointerException in OrcFilters).
    spark.conf.set("spark.sql.orc.filterPushdown", "false")
    seen = Seen()
    try:
        frame = table.read(spark)
        possible = possible_indexes(frame.dtypes, table)
        indexes = [each for each in possible if _is_chosen(each, seed, kind)] or possible[:1]
        skipping.create(spark, frame, indexes)
        texts = [random_predicate(rng, table, depth) for _ in range(predicates)]
        skipping.disable(spark)
        columns = (f"({text}) AS p{at}" for at, text in enumerate(texts))
        matching = frame.selectExpr("`row`", *columns).collect()
        skipping.enable(spark)
        for at, text in enumerate(texts):
            rows = {row[0] for row in matching if row[at + 1]}
            seen.cases += 1
            _see(spark, table, frame, text, rows, seen, run=at < _RUN_OF_EACH_TABLE)
        where = f"seed {seed}, {table.file_format}, {table.zone}, {indexes}"
        seen.broken = [f"{where}: {each}" for each in seen.broken]
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
        spark.conf.unset("spark.sql.orc.filterPushdown")
    return seen


def _see(
    spark: SparkSession,
    table: RandomTable,
    frame: DataFrame,
    text: str,
    rows: set[int],
    seen: Seen,
    *,
    run: bool,
) -> None:
    chosen = frame.where(text)
    names = (Path(unquote(url)).stem for url in chosen.inputFiles())
    read = {int(name.removeprefix("part-")) for name in names}
    files = len(list(table.path.glob("part-*")))
    seen.files += files
    seen.skipped += files - len(read)
    if missed := {row // ROWS_OF_A_FILE for row in rows} - read:
        seen.broken.append(f"files {sorted(missed)} hold rows of {text}")
    if not run:
        return
    found = {row[0] for row in chosen.select("row").collect()}
    if found != rows:
        missing, wrong = sorted(rows - found), sorted(found - rows)
        seen.broken.append(f"rows {missing} are missing, {wrong} too many: {text}")
    for stats in skipping.last_query_stats(spark):
        if stats["files_read"] > len(read):
            seen.broken.append(f"Spark read {stats['files_read']} files, it planned {len(read)}: {text}")


def possible_indexes(types: Sequence[tuple[str, str]], table: RandomTable) -> list[str]:
    """Return all indexes of one column that the table can have."""
    of_columns = {**dict(types), **{name: kind.sql for name, kind in table.kinds.items()}}
    possible = []
    for kind in (each.kind for each in OWN_TYPES):
        for name in of_columns:
            specification = f"{kind}:{name}{_ARGUMENTS.get(kind, '')}"
            try:
                index_from_specification(specification).check(of_columns)
            except ConfigError:
                continue
            possible.append(specification)
    return possible


def _is_chosen(specification: str, seed: int, kind: str | None) -> bool:
    if kind is not None:
        return specification.startswith(f"{kind}:")
    # Each by itself: a new type of index changes nothing about the others.
    return random.Random(f"{specification} {seed}").random() < 0.4
