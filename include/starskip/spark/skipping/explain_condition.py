"""Explain what Spark would read of a table for a condition, by Spark's own planning with skipping on."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from starskip.errors import SourceError
from starskip.indexes.skipping.contrib import metric_distances, user_agents
from starskip.indexes.skipping.metadata.table_source import TableSource
from starskip.spark.skipping.plain_files import require_plain_files
from starskip.spark.skipping.session import enable, explain
from starskip.spark.skipping.table_relation import SCHEMA_OPTION

_WHERE = re.compile(r"\s*where\b", re.IGNORECASE)


def explain_condition(
    spark: SparkSession,
    path: str,
    source: TableSource,
    condition: str,
    *,
    metadata_root: str | None = None,
    modules: Iterable[str] = (),
    keys: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """Explain a condition on the table at ``path``, read as ``source`` says; the word WHERE is optional.

    The condition may call the functions of Starskip and those that ``modules`` register; ``keys`` as in
    ``enable``. Raises SourceError if the plan has no relation of files, if Spark is not supported, or for a
    table of Delta, Iceberg or Hudi.
    """
    require_plain_files(spark, path)
    enable(spark, metadata_root, modules, keys)
    for module in (user_agents, metric_distances, *(sys.modules[name] for name in modules)):
        # A module of index types need not have one.
        register = getattr(module, "register_functions", None)
        if register is not None:
            register(spark)
    options = dict(source.options)
    schema = options.pop(SCHEMA_OPTION, None)
    reader = spark.read.format(source.file_format).options(**options)
    if schema is not None:
        reader = reader.schema(StructType.fromJson(json.loads(schema)))
    found = explain(reader.load(path).where(_WHERE.sub("", condition, count=1)))
    if not found:
        raise SourceError(f"{path}: Spark reads no file of it for this condition", source=path)
    return found[0]
