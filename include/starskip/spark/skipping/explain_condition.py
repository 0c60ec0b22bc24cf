"""What Spark would read of a table for a condition, by its own planning with skipping on."""

from __future__ import annotations

import json
import re
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from starskip.errors import SourceError
from starskip.skipping.metadata.table_source import TableSource
from starskip.spark.skipping.session import enable, explain
from starskip.spark.skipping.table_relation import SCHEMA_OPTION

_WHERE = re.compile(r"\s*where\b", re.IGNORECASE)


def explain_condition(
    spark: SparkSession, path: str, source: TableSource, condition: str, *, metadata_root: str | None = None
) -> dict[str, Any]:
    """Return what ``explain`` says of the table at ``path``, read as ``source`` tells; WHERE may be left out.

    Raises SourceError where Spark shows no relation of files, or is not what skipping needs.
    """
    enable(spark, metadata_root)
    options = dict(source.options)
    schema = options.pop(SCHEMA_OPTION, None)
    reader = spark.read.format(source.file_format).options(**options)
    if schema is not None:
        reader = reader.schema(StructType.fromJson(json.loads(schema)))
    found = explain(reader.load(path).where(_WHERE.sub("", condition, count=1)))
    if not found:
        raise SourceError(f"{path}: Spark reads no file of it for this condition", source=path)
    return found[0]
