"""``starskip skipping`` with functions, with modules of users, and with tables of one file."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from skipping_tables import aged, lines_of
from starskip.cli.main import main
from starskip.file_metadata.open_metadata import open_metadata
from starskip.spark import skipping

pytestmark = [pytest.mark.slow, pytest.mark.spark]

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
CURL = "curl/8.5.0"

MODULE = """from starskip.skipping.index_types.column_index import ColumnIndex
from starskip.skipping.registry import register


@register
class Untyped(ColumnIndex):
    kind = "untyped"

    def aggregates(self, columns):
        return {"rows": "count(1)"}

    def label(self, node):
        return None


def is_low(number):
    return number is not None and number < 10


def register_functions(spark):
    spark.udf.register("is_low", is_low, "boolean")
"""


@pytest.fixture(autouse=True)
def off_again(spark: SparkSession) -> Iterator[None]:
    yield
    skipping.disable(spark)


def starskip(command: str, *arguments: str | Path) -> str:
    found = CliRunner().invoke(main, ["skipping", command, *map(str, arguments)])
    assert found.exit_code == 0, found.output
    return found.output


def explained(table: Path, condition: str, *arguments: str) -> tuple[int, int]:
    told = json.loads(starskip("explain", table, condition, "--format", "json", *arguments))
    return told["files_read"], told["files_total"]


def test_conditions_call_functions(spark: SparkSession, tmp_path: Path) -> None:
    rows = [(FIREFOX, [0.0, 0.0], 1.0, 1.0), (CURL, [9.0, 9.0], 50.0, 50.0)]
    frame = spark.createDataFrame(rows, "ua string, v array<double>, lat double, lng double")
    table = tmp_path / "t"
    frame.repartitionByRange(2, "lat").write.parquet(str(table))
    aged(table)
    indexes = [
        "formatted:ua:user_agent",
        "metricdist:v:euclidean",
        "metricdist:v:manhattan",
        "geobox:lat,lng",
    ]
    starskip("create", table, *(f"--index={each}" for each in indexes))
    assert explained(table, "getAgentName(ua) = 'Firefox'") == (1, 2)
    for metric in ("euclidean", "manhattan"):
        assert explained(table, f"{metric}_distance(v, array(0D, 0D)) < 1") == (1, 2)
    shapely_named = ("--module", "starskip_contrib.geospatial_functions")
    square = "'POLYGON ((0 0, 0 2, 2 2, 2 0, 0 0))', lat, lng"
    assert explained(table, f"ST_Contains({square})", *shapely_named) == (1, 2)
    assert explained(table, f"ST_Distance({square}) < 1", *shapely_named) == (1, 2)


def test_a_module_of_the_current_folder(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "t"
    spark.range(20).repartitionByRange(2, "id").write.parquet(str(table))
    aged(table)
    (tmp_path / "untyped_types.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.chdir(tmp_path)
    of_module = ("--module", "untyped_types")
    try:
        starskip("create", table, "--index", "untyped:id", *of_module)
        assert explained(table, "is_low(id)", *of_module) == (2, 2)
    finally:
        sys.modules.pop("untyped_types", None)


def test_one_file_of_a_table_and_a_glob_of_them(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = lines_of(tmp_path / "t", {f"f{at}.json": f'{{"a": {at}}}' for at in range(3)})
    skipping.create(spark, table, ["minmax:a"], format="json")
    skipping.enable(spark)
    with caplog.at_level(logging.WARNING, "starskip.skipping"):
        assert open_metadata(f"{table}/f1.json/_starskip") is None
        assert spark.read.json(f"{table}/f*.json").where("a = 1").count() == 1
    assert caplog.messages == []
    (told,) = skipping.last_query_stats(spark)
    assert (told["files_read"], told["files_total"]) == (1, 3)
