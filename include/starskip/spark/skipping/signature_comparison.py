"""Compare read signatures: settings that differ, and columns and formats that a signature rules out."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starskip.secondary.table_files import why_not_indexed
from starskip.spark.skipping.read_signature import (
    ADDED,
    CSV_PRUNING,
    FIELD_IDS_SETTING,
    NULL_STRUCTS,
    PARTITION,
    POSITIONAL,
    USERS,
    ZONE_OF_JVM,
    has_field_ids,
)
from starskip.spark.skipping.relation_facts import OF_USERS_TYPES

_NOT_OF_ARROW = (FIELD_IDS_SETTING, "spark.sql.parquet.int96TimestampConversion")
"""Settings by which Spark finds columns otherwise than by their names, or moves times."""
_UTC = ("UTC", "Etc/UTC", "GMT", "Z")
_UNESCAPED = "option unescapedquotehandling"


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Return the names of entries on the files that differ, None if none does."""
    keys = {key for key in then.keys() | now.keys() if not key.startswith((PARTITION, USERS))}
    return ", ".join(sorted(key for key in keys if then.get(key) != now.get(key))) or None


def partitions_differ(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Return whether the values of partition columns in paths are read differently now."""
    keys = {key for key in then.keys() | now.keys() if key.startswith(PARTITION)}
    return any(then.get(key) != now.get(key) for key in keys)


def users_types_differ(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Return the names of the session settings that differ for users' index types, None if none does."""
    keys = [f"{USERS}{key}" for key in OF_USERS_TYPES]
    differing = [key.removeprefix(USERS) for key in keys if then.get(key) != now.get(key)]
    return ", ".join(differing) or None


def without_users_types(found: Mapping[str, str]) -> dict[str, str]:
    """Return a signature without the entries that matter for users' index types only."""
    return {key: value for key, value in found.items() if not key.startswith(USERS)}


def same_columns(then: Mapping[str, str], now: Mapping[str, str]) -> frozenset[str]:
    """Return the columns that are equal in two schemas, for formats that resolve columns by name."""
    if now["format"] != "ParquetFileFormat":
        return frozenset()
    before, after = (
        {field["name"]: field for field in json.loads(each["schema"])["fields"]} for each in (then, now)
    )
    return frozenset(name for name, field in before.items() if after.get(name) == field)


def unsure_partitions(found: Mapping[str, str]) -> frozenset[str]:
    """Return partition columns that Spark may read otherwise than it prunes them: decimals."""
    fields = json.loads(found.get(f"{PARTITION} schema", '{"fields": []}'))["fields"]
    return frozenset(each["name"] for each in fields if str(each["type"]).startswith("decimal"))


def read_otherwise(found: Mapping[str, str], file_format: str) -> str | None:
    """Return why Spark may read other values from files of a format than Arrow, None if it does not."""
    name = found["format"].removesuffix("FileFormat")
    why_not = why_not_indexed(name.lower())
    if why_not is not None:
        return why_not
    if name.lower() != file_format:
        return f"they are of {file_format} files, and this is {name}"
    if found.get("spark.sql.orc.impl", "native") != "native" or POSITIONAL in found:
        return "Spark reads the columns of ORC files otherwise"
    for name in _NOT_OF_ARROW:
        if found.get(name) == "true":
            return f"{name} is true"
    if ADDED in found:
        return "columns that were added have values in rows that were there before"
    return None


def times_of_other_zones(found: Mapping[str, str]) -> frozenset[str]:
    """Return the columns whose times Spark reads in the zone of its process, where that is not UTC."""
    if found["format"] != "OrcFileFormat" or found.get(ZONE_OF_JVM) in _UTC:
        return frozenset()
    fields = json.loads(found["schema"])["fields"]
    return frozenset(each["name"] for each in fields if '"timestamp"' in json.dumps(each))


def structs_by_ids(found: Mapping[str, str]) -> frozenset[str]:
    """Return the columns of structs that are found in files by their field ids.

    The value of such a field depends on the columns that a query reads: if a query needs only single fields,
    Spark drops the id of the column, and looks for its name.
    """
    if found.get(FIELD_IDS_SETTING) != "true":
        return frozenset()
    fields = json.loads(found["schema"])["fields"]
    return frozenset(
        each["name"] for each in fields if isinstance(each["type"], dict) and has_field_ids(json.dumps(each))
    )


def dependent_rows(found: Mapping[str, str]) -> str | None:
    """Return why the rows depend on the columns that are read, None if they do not.

    Metadata that was collected with some columns is then not valid for queries of others.
    """
    if found.get(NULL_STRUCTS) == "true":
        return f"with {NULL_STRUCTS} null structs depend on the columns that are read"
    if "option avroschemaurl" in found:
        return "avroSchemaUrl names a schema that may change"
    is_pruned = found.get("option columnpruning", found.get(CSV_PRUNING)) != "false"
    if found["format"] == "CSVFileFormat" and is_pruned:
        quote = found.get("option quote", '"')
        if found.get("option escape") == quote or found.get(_UNESCAPED, "").upper() == "BACK_TO_DELIMITER":
            return (
                "with this escape the values of a line depend on the columns that are read: set the option "
                "columnPruning to false"
            )
    return None
