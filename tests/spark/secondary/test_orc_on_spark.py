"""Tables of ORC files: an indexed table gives the rows that Spark gives of the same folder.

STARSKIP_SECONDARY_ORC is how many conditions are asked, STARSKIP_SECONDARY_ORC_SEED what they are drawn by.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from law_cases import law_cases
from pyspark.sql import SparkSession
from secondary_conditions import random_condition
from secondary_tables import CLOCK, WITHOUT, Random, RandomTable, indexes_of
from skipping_tables import settings_of
from starskip.secondary import open_table
from starskip.secondary.lifecycle import create_indexes
from starskip.spark.skipping.table_finder import metadata_changed
from starskip.spark.spark_engine import SparkEngine

CASES = law_cases("STARSKIP_SECONDARY_ORC", 30)
SEED = int(os.environ.get("STARSKIP_SECONDARY_ORC_SEED", Random().randrange(1 << 32)))
OF_A_TABLE = 15
TRIES = 5
pytestmark = [pytest.mark.spark, pytest.mark.timeout(900 + 10 * CASES)]


def compare(spark: SparkSession, place: Path, seed: int) -> int:
    """Ask conditions of a random table; return how many rows Spark has found."""
    found = 0
    place.mkdir()
    table = RandomTable(place, Random(seed), file_format="orc")
    for name in ("first", "g1", "g2", "g3"):
        table.write(f"{name}.orc")
    create_indexes(str(place), indexes_of("orc"), clock=CLOCK, file_format="orc", engine=SparkEngine(spark))
    # Scanned beside the others.
    table.write(table.names[-1])
    indexed = open_table(str(place))
    plain = spark.read.orc(str(place))
    for _ in range(OF_A_TABLE):
        condition = random_condition(table.draw, without=WITHOUT["orc"]).spark
        while "ST_" in condition:
            condition = random_condition(table.draw, without=WITHOUT["orc"]).spark
        expected = sorted(row.id for row in plain.where(condition).select("id").collect())
        found += len(expected)
        for path in ((), ("scan",)):
            answer = indexed.answer(condition, ["id"], path=path)
            case = f"seed {seed}: {condition}", answer.plan.chosen
            assert sorted(answer.rows["id"].to_pylist()) == expected, case
    return found


@pytest.mark.law
def test_rows_are_those_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    print(f"STARSKIP_SECONDARY_ORC_SEED={SEED}")
    metadata_changed()
    # ORC's reader fails on some filters with null (a NullPointerException for a literal); a scan does not.
    with settings_of(spark, {"spark.sql.session.timeZone": "UTC", "spark.sql.orc.filterPushdown": "false"}):
        tables, found = -(-CASES // OF_A_TABLE), 0
        for number in range(TRIES * tables):
            found += compare(spark, tmp_path / str(number), SEED + number)
            # Conditions that leave nothing say nothing: a few small tables may have none else.
            if number >= tables - 1 and found > CASES:
                break
    assert found > CASES
