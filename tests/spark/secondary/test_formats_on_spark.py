"""Tables of ORC, JSON and CSV files: an indexed table gives the rows that Spark gives of the same folder.

STARSKIP_SECONDARY_FORMATS is how many conditions are asked of each format, STARSKIP_SECONDARY_FORMATS_SEED
what they are drawn by. Avro files need a jar of Spark's own: test_secondary_law.py compares theirs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from law_cases import law_cases
from pyspark.sql import SparkSession
from secondary_conditions import random_condition
from secondary_tables import CLOCK, OPTIONS, WITHOUT, Random, RandomTable, indexes_of
from skipping_tables import settings_of
from starskip.indexes.secondary import open_table
from starskip.indexes.secondary.lifecycle import create_indexes
from starskip.lake import csv_file, json_lines_file, text_blocks
from starskip.spark.skipping.table_finder import metadata_changed
from starskip.spark.spark_engine import SparkEngine

CASES = law_cases("STARSKIP_SECONDARY_FORMATS", 30)
SEED = int(os.environ.get("STARSKIP_SECONDARY_FORMATS_SEED", Random().randrange(1 << 32)))
OF_A_TABLE = 15
pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(900 + 10 * CASES)]


def compare(spark: SparkSession, folder: Path, file_format: str, cases: int, begin: int) -> int:
    """Ask conditions of random tables; return how many rows Spark has found."""
    found = 0
    for number in range(-(-cases // OF_A_TABLE)):
        place = folder / f"{file_format}-{number}"
        place.mkdir()
        table = RandomTable(place, Random(begin + number), file_format=file_format)
        for name in ("first", "g1", "g2", "g3"):
            table.write(f"{name}.{table._suffix() if name != 'first' else file_format}")
        options = OPTIONS[file_format]
        without = WITHOUT[file_format]
        indexes = indexes_of(file_format)
        engine = SparkEngine(spark)
        create_indexes(
            str(place), indexes, clock=CLOCK, file_format=file_format, options=options, engine=engine
        )
        # Scanned beside the others.
        table.write(table.names[-1])
        indexed = open_table(str(place))
        plain = spark.read.options(**options).format(file_format).load(str(place))
        for _ in range(OF_A_TABLE):
            condition = random_condition(table.draw, without=without).spark
            while "ST_" in condition:
                condition = random_condition(table.draw, without=without).spark
            expected = sorted(int(row.id) for row in plain.where(condition).select("id").collect())
            found += len(expected)
            case = f"seed {begin + number}, {file_format}: {condition}"
            for path in ((), ("scan",)):
                answer = indexed.answer(condition, ["id"], path=path)
                ids = sorted(int(each) for each in answer.rows["id"].to_pylist())
                assert ids == expected, (case, answer.plan.chosen)
    return found


@pytest.fixture(autouse=True)
def _utc(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 500)
    metadata_changed()
    # ORC's reader fails on some filters with null (a NullPointerException for a literal); a scan does not.
    with settings_of(spark, {"spark.sql.session.timeZone": "UTC", "spark.sql.orc.filterPushdown": "false"}):
        yield


@pytest.mark.parametrize("file_format", ["orc", "json", "csv"])
def test_rows_are_those_of_spark(spark: SparkSession, tmp_path: Path, file_format: str) -> None:
    print(f"STARSKIP_SECONDARY_FORMATS_SEED={SEED}")
    found = compare(spark, tmp_path, file_format, CASES, SEED)
    # Conditions that leave nothing say nothing.
    assert found > CASES


@pytest.mark.parametrize("module", [csv_file, json_lines_file])
def test_a_position_off_by_one_behind_an_empty_line_is_found(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: object
) -> None:
    sound = module._BLANK_LINE  # type: ignore[attr-defined]

    class Planted:
        """Leaves one line out that is not blank: all positions behind it are one too small."""

        def sub(self, by: bytes, block: bytes) -> bytes:
            lines = sound.sub(by, block).split(b"\n")
            return b"\n".join(lines[:1] + lines[2:] if len(lines) > 3 else lines)

    monkeypatch.setattr(module, "_BLANK_LINE", Planted())
    name = "csv" if module is csv_file else "json"
    with pytest.raises(AssertionError, match="seed"):
        compare(spark, tmp_path, name, 2 * OF_A_TABLE, 7)
