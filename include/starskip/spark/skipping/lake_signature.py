"""The read signature of Delta and Iceberg tables: the settings that affect the values read of a data file.

Columns are matched by their identity in files, and their types are compared one by one (lake_columns), so the
signature has no schema. Iceberg's reader ignores the settings of Spark's Parquet reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starskip.spark.skipping.read_signature import (
    FIELD_IDS_SETTING,
    LEGACY_REBASE,
    OF_FORMAT,
    USERS,
    ZONE_OF_JVM,
    ZONED_CONVERSION,
)
from starskip.spark.skipping.relation_facts import OF_USERS_TYPES, signature_facts

_PARQUET = "ParquetFileFormat"
_BY_FORMAT_ITSELF = (FIELD_IDS_SETTING, "spark.sql.parquet.inferTimestampNTZ.enabled")
"""Settings by which Spark finds columns or infers types; here the table format does that."""
_OF_PARQUET = tuple(each for each in OF_FORMAT[_PARQUET] if each not in _BY_FORMAT_ITSELF)


def lake_signature(table_format: str, relation: Any, session: Mapping[str, str]) -> dict[str, str]:
    """Return the signature of a table read through a JVM HadoopFsRelation; Iceberg has no such relation.

    ``session``: settings of the reading session, for Iceberg and for index types of users.
    """
    found = {"format": table_format}
    if table_format == "delta":
        facts = signature_facts(relation, _OF_PARQUET)
        settings = facts["settings"]
        found |= {key: settings[key] for key in _OF_PARQUET if key in settings}
        if found.get(ZONED_CONVERSION) == "true":
            found["spark.sql.session.timeZone"] = facts["zone"]
        if any(settings[key].upper() == "LEGACY" for key in LEGACY_REBASE[_PARQUET]):
            found[ZONE_OF_JVM] = facts["zone_of_jvm"]
    return found | {f"{USERS}{key}": session.get(key, "") for key in OF_USERS_TYPES}
