"""Facts and values of columns, from some of the files."""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

import pytest
from night_tables import FILES, ROWS
from starskip.lake.lake_table import LakeTable
from starskip.spark.skipping.spark_skipping_engine import SparkSkipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]


def test_facts_of_columns(engine: SparkSkipping, table: LakeTable) -> None:
    facts = engine.column_facts(table, ["ID", "s", "n.`B c`", "gone", "m", "day", "price"], FILES)
    assert list(facts) == ["ID", "s", "n.`B c`", "m", "day", "price"]
    assert facts["ID"].distinct_values == pytest.approx(100, rel=0.15)
    assert facts["n.`B c`"].distinct_values == 3
    assert (facts["ID"].value_bytes, facts["ID"].has_nulls) == (8.0, False)
    assert facts["day"].value_bytes == 4.0
    lengths = [len(f"v{at // 7}") for at in range(ROWS) if at % 10]
    assert facts["s"].value_bytes == pytest.approx(sum(lengths) / len(lengths))
    assert facts["s"].has_nulls is True
    assert (facts["m"].distinct_values, facts["m"].has_nulls) == (None, False)
    assert engine.column_facts(table, ["gone"], 3) == {}


def test_facts_are_of_few_files(engine: SparkSkipping, table: LakeTable, tmp_path: Path) -> None:
    copy = LakeTable(shutil.copytree(table.path, str(tmp_path / "t")))
    files = sorted(Path(copy.path).glob("*.parquet"))
    for file in files[1:-1]:
        file.write_bytes(b"is not read")
    # Of two files the first and the last are taken, so the others need not be sound.
    assert engine.column_facts(copy, ["id"], 2)["id"].has_nulls is False


@pytest.mark.parametrize("rows", [60, 10_000])
def test_a_sample_of_values(engine: SparkSkipping, table: LakeTable, rows: int) -> None:
    found = engine.sample_values(table, ["id", "S", "gone", "n.ok", "day"], rows)
    assert list(found) == ["id", "S", "n.ok", "day"]
    ids = found["id"].to_pylist()
    assert ROWS >= len(ids) >= min(rows, ROWS) * 0.5
    assert len(ids) <= max(rows * 1.6, 1) or len(ids) == ROWS
    assert {at // 100 for at in ids} == set(range(6))
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=at) for at in ids]
    assert found["day"].to_pylist() == days
    assert found["n.ok"].to_pylist() == [at > 300 for at in ids]
