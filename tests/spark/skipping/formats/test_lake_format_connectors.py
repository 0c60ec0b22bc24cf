"""Spark without a connector, and with the jar alone: what a night can build and prove of a table there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from skipping.running_peer import jars

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.table_formats]
PROGRAM = """
import json, sys
import pyarrow as pa
from pyspark.sql import SparkSession
from starskip.errors import StarskipError
from starskip.skipping.registry import index_from_specification
from starskip.lake.lake_table import LakeTable
from starskip.predicates.expression import Call, Column, Literal
from starskip.spark.spark_engine import SparkEngine

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
session = builder.config("spark.log.level", "ERROR").getOrCreate()
engine = SparkEngine(session).skipping
asked = Call("EqualTo", (Column(("id",), "bigint"), Literal(pa.scalar(4))))
told = []
for path in sys.argv[1:]:
    table = LakeTable(path)
    made = engine.refresh(table, [index_from_specification("bloom:id")], None)
    try:
        with engine.replaying(table, None) as replay:
            found = replay(asked)
        answer = [found.files_total, found.plain.files, found.skipping.files, found.skipping.rows]
        assert found.plain.digest == found.skipping.digest
    except StarskipError as error:
        answer = str(error)
    told.append([list(made.indexes), answer])
session.stop()
print(json.dumps(told))
"""


@pytest.fixture
def tables(tmp_path: Path) -> list[str]:
    """A Delta table, and the folder of an Iceberg table of a catalog that Spark does not know."""
    parts = [pa.table({"id": list(range(start, 30, 3))}) for start in range(3)]
    for part in parts:
        write_deltalake(str(tmp_path / "d"), part, mode="append")
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("n")
    made = catalog.create_table("n.t", parts[0].schema)
    for part in parts:
        made.append(part)
    catalog.close()
    return [str(tmp_path / "d"), made.location().removeprefix("file://")]


def told(class_path: str, tables: list[str]) -> list[Any]:
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        # Behind Spark's own, as in ``jars_behind_sparks``.
        "SPARK_DIST_CLASSPATH": class_path,
    }
    run = [sys.executable, "-c", PROGRAM, *tables]
    done = subprocess.run(run, check=True, capture_output=True, text=True, env=environment)
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_without_a_connector_indexes_are_built_and_the_proof_says_what_is_missing(tables: list[str]) -> None:
    for (built, answer), path, title in zip(told("", tables), tables, ("Delta", "Iceberg"), strict=True):
        assert built == ["bloom:id"]
        assert answer == (
            f"{path}: this Spark has no connector of {title}, by which it reads such a table: name it in "
            "spark.conf of the configuration (docs/lake-tables.md)"
        )


def test_iceberg_needs_its_jar_alone(tables: list[str]) -> None:
    assert told(os.pathsep.join(jars("iceberg")), tables[1:]) == [[["bloom:id"], [3, 3, 1, 1]]]
