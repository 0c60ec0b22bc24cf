"""The law of Delta tables with CHAR(n): queries by secondary indexes have Spark's rows and values.

STARSKIP_CHAR_SECONDARY_CASES is the number of predicates of generated values,
STARSKIP_CHAR_SECONDARY_SEED the first seed of the drawing.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from law_cases import law_cases
from pyspark.sql import SparkSession
from starskip.secondary import open_table, table_schema
from starskip.secondary.lifecycle import create_indexes

pytestmark = [pytest.mark.spark, pytest.mark.table_formats, pytest.mark.timeout(900)]

CASES = law_cases("STARSKIP_CHAR_SECONDARY_CASES", 60)
SEED = int(os.environ.get("STARSKIP_CHAR_SECONDARY_SEED", random.SystemRandom().randrange(1 << 32)))
PLAIN = (
    "id bigint, c string, v string, s struct<c: string, v: string>, l array<string>, m map<string, string>, "
    "t struct<i: int, s: struct<c: string>>, p string"
)
COLUMNS = (
    "id bigint, c char(5), v varchar(5), s struct<c: char(3), v: varchar(2)>, l array<char(3)>, "
    "m map<char(2), char(3)>, t struct<i: int, s: struct<c: char(4)>>, p char(3)"
)
NAMES = ["id", "c", "v", "s", "l", "m", "t", "p"]
ROWS = pa.schema(
    [
        ("id", pa.int64()),
        ("c", pa.string()),
        ("v", pa.string()),
        ("s", pa.struct([("c", pa.string()), ("v", pa.string())])),
        ("l", pa.list_(pa.string())),
        ("m", pa.map_(pa.string(), pa.string())),
        ("t", pa.struct([("i", pa.int32()), ("s", pa.struct([("c", pa.string())]))])),
        ("p", pa.string()),
    ]
)
PARTS = ("", " ", "a", "a ", " a", "b", "ab", "é", "😀", "\t", "~", "\x01")
INDEXES = ("btree:id", "btree:c", "ngram:c", "btree:v", "btree:s.c", "ngram:s.c", "btree:t.s.c")


def some_text(draw: random.Random, longest: int) -> str | None:
    found = "".join(draw.choice(PARTS) for _ in range(draw.randrange(5)))[:longest]
    return draw.choice([None, "a", "a ", *[found] * 4])


def row(draw: random.Random, number: int, longer: int = 0) -> dict[str, Any]:
    """A row; ``longer``: by how much a text may be longer than its column."""

    def of(length: int) -> str | None:
        return some_text(draw, length + longer)

    return {
        "id": number,
        "c": of(5),
        "v": of(5),
        "s": draw.choice([None, {"c": of(3), "v": of(2)}]),
        "l": draw.choice([None, [], [of(3), of(3)]]),
        "m": draw.choice([None, {}, {"a": of(3), "b ": of(3)}]),
        "t": draw.choice([None, {"i": number, "s": None}, {"i": 1, "s": {"c": of(4)}}]),
        "p": draw.choice(["a", "b  ", None]),
    }


def new_table(spark: SparkSession, path: str, draw: random.Random) -> str:
    """A table of rows that Spark has written, and of longer ones that another writer has added."""
    name = f"delta.`{path}`"
    by = draw.choice(["", " PARTITIONED BY (p)"])
    mapping = draw.choice(["", " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"])
    spark.sql(f"CREATE TABLE {name} ({COLUMNS}) USING delta{by}{mapping}")
    own = spark.createDataFrame([row(draw, number) for number in range(30)], PLAIN)
    own.repartition(2).write.format("delta").mode("append").save(path)
    if not mapping:  # which deltalake does not write
        others = [row(draw, number, draw.choice([0, 3])) for number in range(30, 50)]
        for each in others:
            each["m"] = None if each["m"] is None else list(each["m"].items())
        deltalake.write_deltalake(path, pa.Table.from_pylist(others, ROWS), mode="append")
    return name


def literal(draw: random.Random, longest: int = 7) -> str:
    found = some_text(draw, longest)
    return "NULL" if found is None else "'" + found + "'"


def predicate(draw: random.Random) -> str:
    column = draw.choice(["c", "c", "c", "s.c", "t.s.c", "v", "s.v", "p"])
    sign = draw.choice(["=", "<=>", "<", "<=", ">", ">=", "<>"])
    one, other = literal(draw), literal(draw)
    listed = ", ".join(literal(draw) for _ in range(draw.randrange(1, 4)))
    pattern = draw.choice(["{}%", "%{}", "{}", "%{}%", "{}_", "_{}%"]).format(some_text(draw, 3) or "")
    made = draw.choice(
        [
            f"{column} {sign} {one}",
            f"{column} {sign} {one}",
            f"{one} {sign} {column}",
            f"{column} IN ({listed})",
            f"{column} IN ({listed})",
            f"{column} BETWEEN {one} AND {other}",
            f"{column} LIKE '{pattern}'",
            f"contains({column}, {one})",
            f"startswith({column}, {one})",
            f"endswith({column}, {one})",
            f"levenshtein({column}, {one}) {draw.choice(['<', '<=', '=', '>'])} {draw.randrange(5)}",
            f"{column} IS {draw.choice(['', 'NOT '])}NULL",
        ]
    )
    return draw.choice([made, made, f"NOT ({made})", f"id > {draw.randrange(40)} AND {made}"])


def spark_rows(spark: SparkSession, name: str, where: str) -> list[dict[str, Any]]:
    found = [
        each.asDict(recursive=True) for each in spark.sql(f"SELECT * FROM {name} WHERE {where}").collect()
    ]
    return in_order(found)


def in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows sorted by id, each with its map as a dict."""
    maps = [{**each, "m": None if each["m"] is None else dict(each["m"])} for each in rows]
    return sorted(maps, key=lambda each: each["id"])


def law(spark: SparkSession, folder: Path, cases: int, begin: int) -> int:
    """Raise AssertionError at the first predicate that has other rows or values; return the rows of all."""
    rows = 0
    for number in range(-(-cases // 20)):
        draw = random.Random(begin + number)
        path = str(folder / f"t{number}")
        name = new_table(spark, path, draw)
        create_indexes(path, draw.sample(INDEXES, draw.randrange(1, len(INDEXES))))
        table = open_table(path)
        for _ in range(20):
            where = predicate(draw)
            wanted = spark_rows(spark, name, where)
            rows += len(wanted)
            for by in ((), ("scan",)):
                found = table.query(where, NAMES, path=by).to_pylist()
                assert in_order(found) == wanted, (begin, where, by)
            assert table.query(f"({where}) AND c IS NOT NULL", ["c"]).num_rows == sum(
                each["c"] is not None for each in wanted
            ), (begin, where)
    return rows


@pytest.mark.law
def test_queries_have_the_rows_and_values_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    print(f"STARSKIP_CHAR_SECONDARY_SEED={SEED}")
    assert law(spark, tmp_path, CASES, SEED) > CASES


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["values", "literals"])
def test_a_planted_fault_is_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    if fault == "values":
        monkeypatch.setattr(table_schema, "with_padding", lambda column, *_: column)
    else:
        monkeypatch.setattr("starskip.secondary.where_clause._Binder._padded", lambda *of: of[1:])
    with pytest.raises(AssertionError):
        law(spark, tmp_path, 100, 7)
