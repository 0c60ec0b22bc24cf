"""The law of skipping on Delta and Iceberg tables that change, and the faults that it has to notice.

``STARSKIP_LAKE_CASES``: how many predicates are asked of each format, by default a few.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lake_formats import ICEBERG_CATALOG
from lake_law.changing_delta import DeltaTable
from lake_law.changing_iceberg import IcebergTable
from lake_law.changing_table import LONG, ChangingTable
from lake_law.law import QUICK, Checked, LawBroken, compare_asked, run_law
from lake_law.planted import (
    DELETES_FORGOTTEN,
    FILES_OF_FIRST_SNAPSHOT,
    bounds_cut,
    column_by_name,
    java_with,
)
from law_cases import law_cases
from pyspark.sql import SparkSession
from skipping_tables import settings_of
from starskip.spark import skipping
from starskip.spark.skipping import lake_reader, lake_relation
from starskip.spark.skipping.lake_columns import ColumnTranslation

CASES = law_cases("STARSKIP_LAKE_CASES", 16)
pytestmark = [
    pytest.mark.spark,
    pytest.mark.table_formats,
    pytest.mark.timeout(900 + 10 * CASES),
]
_EACH = 8 if CASES < 100 else 25
_OF_A_TABLE = min(CASES, 200)


@pytest.fixture
def law_on(skipping_on: SparkSession) -> Iterator[SparkSession]:
    with settings_of(skipping_on, QUICK):
        yield skipping_on


def table_of(
    table_format: str, spark: SparkSession, folder: Path, warehouse: Path, seed: int
) -> ChangingTable:
    name = f"t{uuid4().hex[:8]}"
    if table_format == "delta":
        path = str(folder / f"é {name}")
        return DeltaTable(spark, Random(seed), f"delta.`{path}`", path)
    return IcebergTable(spark, Random(seed), f"{ICEBERG_CATALOG}.law.{name}", str(warehouse / "law" / name))


@pytest.mark.law
@pytest.mark.parametrize("table_format", ["delta", "iceberg"])
def test_rows_are_those_without_skipping(
    law_on: SparkSession, tmp_path: Path, warehouse: Path, table_format: str
) -> None:
    found = Checked()

    @settings(
        max_examples=-(-CASES // _OF_A_TABLE),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(st.integers(0, 2**32))
    def law(seed: int) -> None:
        table = table_of(table_format, law_on, tmp_path, warehouse, seed)
        one = run_law(table, _OF_A_TABLE, _EACH)
        found.predicates += one.predicates
        found.skipped += one.skipped
        found.secondary += one.secondary
        found.by_index += one.by_index
        found.changes += one.changes
        found.failed_changes += one.failed_changes

    law()
    assert found.predicates >= CASES
    assert found.failed_changes <= 1 + found.changes // 4
    print(
        f"{table_format}: {found.predicates} predicates, {found.skipped} files left out beside the format's; "
        f"{found.secondary} queries by secondary indexes, {found.by_index} of them not by a scan; "
        f"{found.changes} changes, at {found.failed_changes} of which the format failed"
    )


@pytest.mark.slow
@pytest.mark.parametrize("table_format", ["delta", "iceberg"])
def test_planted_faults_are_noticed(
    law_on: SparkSession,
    tmp_path: Path,
    warehouse: Path,
    table_format: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = table_of(table_format, law_on, tmp_path, warehouse, 0)
    made = (
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableDeletionVectors' = 'true')"
        if table_format == "delta"
        else "TBLPROPERTIES ('format-version' = '2', 'write.delete.mode' = 'merge-on-read')"
    )
    table.sql(f"CREATE TABLE {table.name} (id bigint, u string, w string) USING {table_format} {made}")
    rows = "SELECT id, concat('k', id % 6), concat('w', id % 6) FROM range({}, {}, 1, 1)"
    # In no file are all values: the formats leave out none, and an index of texts some.
    for start in (0, 12, 24):
        table.sql(
            f"INSERT INTO {table.name} {rows.format(start, start + 12)} WHERE id % 6 <> {start // 12 + 1}"
        )
    skipping.create(law_on, table.path, ["valuelist:u"])
    table.sql(f"DELETE FROM {table.name} WHERE id IN (2, 9, 13)")
    asked = ["u = 'k1'", "u = 'k2'", "u = 'k3'"]

    def broken() -> bool:
        try:
            compare_asked(table, table.name, asked, Checked())
        except LawBroken:
            return True
        return False

    sound = Checked()
    compare_asked(table, table.name, asked, sound)
    assert sound.skipped == 3
    with java_with(monkeypatch, DELETES_FORGOTTEN):
        assert broken()
    with java_with(monkeypatch, FILES_OF_FIRST_SNAPSHOT):
        broken()
        table.sql(f"INSERT INTO {table.name} {rows.format(36, 48)}")
        assert broken()
    table.sql(f"ALTER TABLE {table.name} RENAME COLUMN u TO was_u")
    table.sql(f"ALTER TABLE {table.name} RENAME COLUMN w TO u")
    asked = ["u = 'w1'", "was_u = 'k1'", "u = 'w2' OR id = 3"]
    compare_asked(table, table.name, asked, Checked())
    monkeypatch.setattr(ColumnTranslation, "_column", column_by_name)
    assert broken()


@pytest.mark.slow
def test_a_schema_that_is_pruned_by_spark_is_noticed(
    law_on: SparkSession, tmp_path: Path, warehouse: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = table_of("iceberg", law_on, tmp_path, warehouse, 0)
    table.create()
    table.sql(f"ALTER TABLE {table.name} RENAME COLUMN n TO `x y`")
    asked = [f"`x y`.`in ner`.s LIKE 'k{number}%'" for number in range(2, 9)]
    skipping.create(law_on, table.path, ["prefix:`x y`.`in ner`.s:2"])
    compare_asked(table, table.name, asked, Checked())
    planted = {**lake_relation._OF_ICEBERG, "spark.sql.optimizer.nestedSchemaPruning.enabled": "true"}
    monkeypatch.setattr(lake_relation, "_OF_ICEBERG", planted)
    skipping.refresh(law_on, table.path, full=True)
    with pytest.raises(LawBroken):
        compare_asked(table, table.name, asked, Checked())


@pytest.mark.slow
@pytest.mark.parametrize("table_format", ["delta", "iceberg"])
def test_a_cut_bound_that_is_taken_for_a_value_is_noticed(
    law_on: SparkSession,
    tmp_path: Path,
    warehouse: Path,
    table_format: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = table_of(table_format, law_on, tmp_path, warehouse, 0)
    table.sql(f"CREATE TABLE {table.name} (id bigint, u string, w string) USING {table_format}")
    for start in (0, 6):
        rows = f"id, concat('k', id), concat('{LONG}', id % 6) FROM range({start}, {start + 6}, 1, 1)"
        table.sql(f"INSERT INTO {table.name} SELECT {rows}")
    asked = [f"w = '{LONG}3' OR u = 'k12'", f"w > '{LONG}4' OR u = 'k12'", f"w > '{LONG}9' OR u = 'k12'"]
    skipping.create(law_on, table.path, ["valuelist:u"])
    sound = Checked()
    compare_asked(table, table.name, asked, sound)
    # Cut, the greatest text is greater than all that are asked for.
    assert sound.skipped == 0
    compare_asked(table, table.name, ["w > 'ê' OR u = 'k12'"], sound)
    assert sound.skipped == 2
    with monkeypatch.context() as planted:
        planted.setattr(lake_reader, "bounds_of", bounds_cut)
        skipping.refresh(law_on, table.path, full=True)
    with pytest.raises(LawBroken):
        compare_asked(table, table.name, asked, Checked())
