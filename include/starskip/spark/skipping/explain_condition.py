"""Explain what Spark would read of a table for a condition, by Spark's own planning with skipping on."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from starskip.errors import SourceError
from starskip.extensions import FUNCTIONS, extensions, loaded
from starskip.file_metadata.table_source import TableSource
from starskip.spark.skipping.failures import error_summary, reason_of
from starskip.spark.skipping.lake_scan import SUPPORTED, TITLES
from starskip.spark.skipping.plain_files import require_plain_files
from starskip.spark.skipping.session import enable, explain
from starskip.spark.skipping.table_relation import SCHEMA_OPTION

log = logging.getLogger("starskip.skipping")
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

    The condition may call functions of installed packages and functions that ``modules`` register; ``keys``
    as in ``enable``. Raises SourceError if the plan has no relation of files, if Spark is not supported, if
    the table's format differs from the metadata's, or if this Spark lacks its connector.
    """
    is_lake = source.file_format in TITLES
    if not is_lake:
        require_plain_files(spark, path)
    enable(spark, metadata_root, modules, keys)
    register_functions(spark, modules)
    rows = rows_of(spark, path, source)
    found = explain(rows.where(_WHERE.sub("", condition, count=1)))
    if not found:
        raise SourceError(f"{path}: Spark reads no file of it for this condition", source=path)
    return found[0]


def register_functions(spark: SparkSession, modules: Iterable[str]) -> None:
    """Register the functions of installed packages, then those of ``modules``."""
    register_package_functions(spark)
    for name in modules:
        # A module of index types need not register functions.
        register = getattr(sys.modules[name], "register_functions", None)
        if register is not None:
            register(spark)


def rows_of(spark: SparkSession, path: str, source: TableSource) -> DataFrame:
    """Return the rows of a table, read as ``source`` says; raises SourceError without its connector."""
    is_lake = source.file_format in TITLES
    return _lake_rows(spark, path, source.file_format) if is_lake else _rows(spark, path, source)


def register_package_functions(spark: SparkSession) -> None:
    """Register the functions of installed packages; a package that fails is left out with a warning."""
    for extension in extensions(FUNCTIONS).values():
        # The condition may not need the functions of a package that fails.
        try:
            loaded(extension)(spark)
        except Exception as error:
            log.warning("functions of %s are left out: %s", extension.value, error_summary(error))


def _rows(spark: SparkSession, path: str, source: TableSource) -> DataFrame:
    options = dict(source.options)
    schema = options.pop(SCHEMA_OPTION, None)
    reader = spark.read.format(source.file_format).options(**options)
    if schema is not None:
        reader = reader.schema(StructType.fromJson(json.loads(schema)))
    return reader.load(path)


def _lake_rows(spark: SparkSession, path: str, table_format: str) -> DataFrame:
    try:
        return spark.read.format(table_format).load(path)
    except (PySparkException, Py4JError) as error:
        raise SourceError(
            f"{path}: cannot be read as {TITLES[table_format]}: {reason_of(error)}; tested is "
            f"{SUPPORTED[table_format]}: name its jar and its extension of Spark in spark-defaults.conf",
            source=path,
        ) from None
