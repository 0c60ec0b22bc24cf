"""Indexes of CHAR(n) and VARCHAR(n): the same rows from fewer files, whoever has written the values.

STARSKIP_CHAR_CASES is how many predicates of generated values are asked in each setting.
"""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from law_cases import law_cases
from pyspark.sql import SparkSession
from skipping_on_spark.column_kinds import text_literal
from skipping_tables import aged, settings_of
from starskip.spark import skipping

pytestmark = [pytest.mark.spark, pytest.mark.timeout(1800)]

CASES = law_cases("STARSKIP_CHAR_CASES", 20)
SEED = int(os.environ.get("STARSKIP_CHAR_SEED", random.SystemRandom().randrange(1 << 32)))
LENGTH = 5
PADDING = "spark.sql.readSideCharPadding"
INDEXES = ("minmax", "valuelist", "bloom", "hybrid", "prefix:{}:2", "suffix:{}:2", "nulls")
VALUES = ("a", "a    ", "b", "b    ", "b     ")
PARTS = ("", " ", "  ", "a", "b", "ab", "z", "\t", "\x01", "é", "😀", "~", "1", "a ", " a")


def indexes(*columns: str) -> list[str]:
    return [
        each.format(column) if "{}" in each else f"{each}:{column}" for column in columns for each in INDEXES
    ]


def text(drawn: random.Random, most: int) -> str:
    made = "".join(drawn.choice(PARTS) for _ in range(drawn.randrange(4)))
    return made[:most]


def predicate(drawn: random.Random, column: str, known: list[str]) -> str:
    def literal(most: int = LENGTH + 2) -> str:
        value = drawn.choice(known) if drawn.random() < 0.7 else text(drawn, most)
        return text_literal(value + " " * drawn.choice((0, 0, 0, 1, 3)))

    kind = drawn.randrange(9)
    if kind < 3:
        made = f"{column} {drawn.choice(('=', '<', '<=', '>', '>=', '<>', '<=>'))} {literal()}"
    elif kind == 3:
        made = f"{literal()} {drawn.choice(('=', '<', '>='))} {column}"
    elif kind == 4:
        made = f"{column} IN ({', '.join(literal() for _ in range(drawn.choice((1, 3, 12))))})"
    elif kind == 5:
        made = f"{column} NOT IN ({literal()}, {literal()})"
    elif kind == 6:
        pattern = drawn.choice(("{}%", "%{}", "%{}%", "{}", "{}_%"))
        made = f"{column} LIKE {text_literal(pattern.format(drawn.choice(known)))}"
    elif kind == 7:
        made = f"{column} IS {drawn.choice(('', 'NOT '))}NULL"
    else:
        made = f"{column} BETWEEN {literal()} AND {literal()}"
    return f"NOT ({made})" if drawn.random() < 0.2 else made


@pytest.fixture
def table(skipping_on: SparkSession, tmp_path: Path) -> Iterator[Callable[[random.Random], list[str]]]:
    """Make the table ``chars`` of files with values as Spark would write them, and as others may."""
    folder = tmp_path / "chars"

    def made(drawn: random.Random) -> list[str]:
        folder.mkdir()
        known: list[str] = []
        for number in range(8):
            values = [text(drawn, LENGTH + (1 if number == 7 else 0)) for _ in range(2)]
            if number % 2:
                values = [value.ljust(LENGTH) for value in values]
            known += values
            rows: list[str | None] = [*values, *([None] if number % 3 == 0 else [])]
            columns = {
                "row": [number * 10 + at for at in range(len(rows))],
                "c": rows,
                "v": rows,
                "n": [{"x": value, "y": number} for value in rows],
            }
            schema = pa.schema(
                [
                    ("row", pa.int32()),
                    ("c", pa.string()),
                    ("v", pa.string()),
                    ("n", pa.struct([("x", pa.string()), ("y", pa.int32())])),
                ]
            )
            pq.write_table(pa.table(columns, schema=schema), folder / f"part-{number}.parquet")
        aged(folder)
        types = f"c CHAR({LENGTH}), v VARCHAR({LENGTH}), n STRUCT<x: CHAR({LENGTH}), y: INT>"
        skipping_on.sql(f"CREATE TABLE chars (row INT, {types}) USING parquet LOCATION '{folder}'")
        return sorted(set(known))

    yield made
    skipping_on.sql("DROP TABLE IF EXISTS chars")


@pytest.mark.law
@pytest.mark.parametrize("made_of", ["path", "table", "table without padding"])
@pytest.mark.parametrize("padding", ["true", "false"])
def test_no_row_of_generated_values_is_missed(
    skipping_on: SparkSession, table: Callable[[random.Random], list[str]], made_of: str, padding: str
) -> None:
    print(f"STARSKIP_CHAR_SEED={SEED}")
    drawn = random.Random(f"{SEED} {made_of} {padding}")
    known = table(drawn)
    folder = skipping_on.table("chars")._jdf.inputFiles()[0].rpartition("/")[0]
    with settings_of(skipping_on, {PADDING: str(made_of != "table without padding").lower()}):
        of = folder if made_of == "path" else skipping_on.table("chars")
        skipping.create(skipping_on, of, [*indexes("c", "v"), "minmax:n.x", "minmax:n.y"])
    texts = list(
        dict.fromkeys(predicate(drawn, drawn.choice(("c", "v", "n.x")), known) for _ in range(CASES))
    )
    texts += [
        f"c IN ({', '.join(text_literal(f'k{at}') for at in range(20))})",
        "n.y = 3 AND n.x IS NOT NULL",
    ]
    # Whatever was drawn, there is something to skip: which kinds skip by values is asked below.
    texts += ["c IS NULL", "v IS NULL"]
    skipped = dict.fromkeys(("c", "v", "n"), 0)
    with settings_of(skipping_on, {PADDING: padding}):
        skipping.disable(skipping_on)
        columns = (f"({each}) AS p{at}" for at, each in enumerate(texts))
        rows = skipping_on.table("chars").selectExpr("row", *columns).collect()
        skipping.enable(skipping_on)
        for at, each in enumerate(texts):
            expected = sorted(row[0] for row in rows if row[at + 1])
            found = sorted(row[0] for row in skipping_on.table("chars").where(each).select("row").collect())
            assert found == expected, (SEED, each)
            (stats,) = skipping.last_query_stats(skipping_on) or [{"files_total": 0, "files_read": 0}]
            for column in skipped:
                if f"{column}." in each or f"{column} " in each:
                    skipped[column] += stats["files_total"] - stats["files_read"]
    assert all(skipped.values()), skipped


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "padding"),
    [
        *itertools.product(("minmax", "valuelist", "hybrid", "prefix"), ("true", "false")),
        # Without padding Spark compares what is cut to n characters, of which these know nothing.
        ("bloom", "true"),
        ("suffix", "true"),
    ],
)
def test_each_kind_of_index_skips(skipping_on: SparkSession, tmp_path: Path, kind: str, padding: str) -> None:
    folder = tmp_path / "t"
    skipping_on.sql(f"CREATE TABLE chars (c CHAR(9), v VARCHAR(9)) USING parquet LOCATION '{folder}'")
    arguments = {"prefix": ":9", "suffix": ":9"}.get(kind, "")
    try:
        rows = skipping_on.range(0, 40, 1, 4).selectExpr("'k' || lpad(id, 2, '0')", "'k' || lpad(id, 2, '0')")
        rows.write.insertInto("chars")
        aged(folder)
        made = [f"{kind}:{column}{arguments}" for column in ("c", "v")]
        skipping.create(skipping_on, str(folder), made)
        with settings_of(skipping_on, {PADDING: padding}):
            for column in ("c", "v"):
                for where in (f"{column} = 'k07'", f"{column} IN ('k07', 'k08')"):
                    chosen = skipping_on.table("chars").where(where)
                    assert chosen.count() == where.count("k")
                    # A bloom filter of one in a hundred may take a file too many.
                    assert len(chosen.inputFiles()) in ((1, 2) if kind == "bloom" else (1,))
    finally:
        skipping_on.sql("DROP TABLE chars")


@pytest.mark.slow
def test_a_frame_that_was_made_before_the_setting_changed(skipping_on: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t"
    folder.mkdir()
    for number, value in enumerate(("a", "b    ")):
        pq.write_table(pa.table({"c": [value]}), folder / f"part-{number}.parquet")
    aged(folder)
    skipping_on.sql(f"CREATE TABLE chars (c CHAR(5)) USING parquet LOCATION '{folder}'")
    try:
        skipping.create(skipping_on, str(folder), ["minmax:c", "valuelist:c"])
        padded = skipping_on.table("chars")
        with settings_of(skipping_on, {PADDING: "false"}):
            plain = skipping_on.table("chars")
        found = []
        for switch in (skipping.disable, skipping.enable):
            switch(skipping_on)
            counts = []
            for padding in ("true", "false"):
                with settings_of(skipping_on, {PADDING: padding}):
                    wheres = [f"c {operator} '{value}'" for operator in ("=", "<=", ">=") for value in VALUES]
                    counts += [rows.where(each).count() for rows in (padded, plain) for each in wheres]
            found.append(counts)
        assert found[0] == found[1] and sum(found[0])
    finally:
        skipping_on.sql("DROP TABLE chars")
