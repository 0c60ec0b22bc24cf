"""docs/skipping-python.md: its examples run as they stand, and it names every function and argument."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from starskip.file_metadata.refresh_metadata import Refreshed
from starskip.spark import skipping
from starskip.storage.vacuum import VacuumReport

pytestmark = [pytest.mark.slow, pytest.mark.spark]

PAGE = (Path(__file__).parents[3] / "docs" / "skipping-python.md").read_text(encoding="utf-8")


def section(name: str) -> str:
    return re.split(rf"^## {name}\n", PAGE, flags=re.MULTILINE)[1].partition("\n## ")[0]


def test_the_examples_run(spark: SparkSession, table_of: Callable[..., str]) -> None:
    frame = spark.range(0, 100, 1, 5).selectExpr(
        "id", "cast(id AS string) AS s", "timestamp_seconds(id * 86400) AS ts"
    )
    names = {"skipping": skipping, "spark": spark, "path": table_of(frame)}
    examples = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == len(skipping.__all__)
    try:
        for each in examples:
            exec(each, names)
    finally:
        # The keys that an example gave are forgotten.
        skipping.enable(spark)
        skipping.disable(spark)


@pytest.mark.parametrize("name", sorted(skipping.__all__))
def test_each_function_is_told_with_its_arguments(name: str) -> None:
    text = section(name)
    (told,) = re.findall(rf"^`{name}\((.*?)\)` ", text, re.MULTILINE)
    parameters = inspect.signature(getattr(skipping, name)).parameters
    names = [each for each in parameters if each != "file_format"]
    assert [each.partition("=")[0].strip() for each in re.split(r", (?!\))", told) if each != "*"] == names
    assert "```python" in text


def test_what_is_returned_is_told() -> None:
    for kind, name in ((Refreshed, "create"), (VacuumReport, "vacuum")):
        assert [each.name for each in fields(kind) if f"`{each.name}`" not in section(name)] == []
    for key in ("path", "files_total", "bytes_read", "rows_skipped", "skipped_by", "metadata_ms"):
        assert f"`{key}`" in section("last_query_stats")
