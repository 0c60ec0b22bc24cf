"""The read signature of a relation: all settings, options and schemas that affect the values read.

Metadata that was collected with another signature is not used. Self-describing formats (Parquet, ORC, Avro)
depend on a few settings of the session. The values of a line of text depend on the reader's options and on
the session's time zone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

from starskip.spark.skipping.relation_facts import OF_USERS_TYPES, signature_facts, small_names

_FILES_ONLY = frozenset(
    {
        "path",
        "paths",
        "basepath",
        "pathglobfilter",
        "recursivefilelookup",
        "modifiedbefore",
        "modifiedafter",
        "ignoremissingfiles",
        "inferschema",
        "samplingratio",
        "mergeschema",
        "compression",
        "serialization.format",
    }
)
"""Options that choose files, infer the schema, or apply to writing."""
UNSTORED_OPTIONS = ("starskip.", "parquet.encryption.", "parquet.crypto.")
"""Beginnings of options that change no value: our own, and keys of encrypted files."""
POSITIONAL = "columns by position"
ZONE_OF_JVM = "zone of the JVM"
ADDED = "values of columns that were added"
_FACTS = {
    POSITIONAL: "positional",
    "longest line": "longest_line",
    ADDED: "defaults",
}
"""Entries of the signature by the name of the fact in RelationFacts, if it has a value."""
FIELD_IDS_SETTING = "spark.sql.parquet.fieldId.read.enabled"
_FIELD_ID = '"parquet.field.id"'
PARTIAL_RESULTS = "spark.sql.json.enablePartialResults"
CSV_PRUNING = "spark.sql.csv.parser.columnPruning.enabled"
NULL_STRUCTS = "spark.sql.legacy.parquet.returnNullStructIfAllFieldsMissing"
_OF_ALL = ("spark.sql.caseSensitive",)
OF_FORMAT = {
    "ParquetFileFormat": (
        "spark.sql.parquet.binaryAsString",
        "spark.sql.parquet.int96AsTimestamp",
        "spark.sql.parquet.int96TimestampConversion",
        "spark.sql.parquet.int96RebaseModeInRead",
        "spark.sql.parquet.datetimeRebaseModeInRead",
        FIELD_IDS_SETTING,
        "spark.sql.parquet.inferTimestampNTZ.enabled",
        NULL_STRUCTS,
    ),
    "OrcFileFormat": ("spark.sql.orc.impl",),
    "AvroFileFormat": ("spark.sql.avro.datetimeRebaseModeInRead",),
}
_OF_TEXT = (
    "spark.sql.session.timeZone",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.columnNameOfCorruptRecord",
    CSV_PRUNING,
    PARTIAL_RESULTS,
    "spark.sql.json.enableExactStringParsing",
    "spark.sql.legacy.json.enableDateTimeParsingFallback",
    "spark.sql.legacy.json.allowEmptyString.enabled",
    "spark.sql.legacy.csv.enableDateTimeParsingFallback",
    "spark.sql.legacy.javaCharsets",
    "spark.sql.legacy.codingErrorAction",
)
PARTITION = "partition"
OF_WHO_ASKS = " of the session that asks"
CATALOGS_PARTITIONS = f"{PARTITION} values of the catalog"
"""Entry of the signature of metadata for folders that are not named after the partitions' values."""
_OF_PARTITIONS = (
    "spark.sql.session.timeZone",
    "spark.sql.sources.partitionColumnTypeInference.enabled",
)
USERS = "index types of users "
ZONE_OF_USERS_TYPES = f"{USERS}spark.sql.session.timeZone"
_ALL_SETTINGS = tuple(
    dict.fromkeys(chain(OF_USERS_TYPES, _OF_ALL, _OF_TEXT, _OF_PARTITIONS, *OF_FORMAT.values()))
)
_ZONE_OF_JVM = frozenset({"OrcFileFormat"})
"""ORC stores the writer's wall-clock time, and returns it in the reader's time zone."""
ZONED_CONVERSION = "spark.sql.parquet.int96TimestampConversion"
_NO_MATTER = frozenset({"comment", "__CHAR_VARCHAR_TYPE_STRING"})
"""Metadata describes the values in the files, not the values padded to CHAR(n)."""
LEGACY_REBASE = {
    "ParquetFileFormat": (
        "spark.sql.parquet.datetimeRebaseModeInRead",
        "spark.sql.parquet.int96RebaseModeInRead",
    ),
    "AvroFileFormat": ("spark.sql.avro.datetimeRebaseModeInRead",),
}
"""Settings whose value LEGACY rebases old timestamps by the JVM's time zone."""


def read_signature(relation: Any, asking: Any = None) -> dict[str, str]:
    """Return the signature of a JVM HadoopFsRelation; two signatures are compared as a whole.

    ``asking``: the SQLConf of the reading session, which need not be the session that made the relation; None
    for the active session's.
    """
    facts = signature_facts(relation, _ALL_SETTINGS, asking)
    name, settings, partitions = facts["format"], dict(facts["settings"]), facts["partitions"]
    asked = dict(facts["asking"])
    if not has_field_ids(facts["schema"]):
        # Reading a Delta table whose columns are mapped by id sets it for the whole session.
        settings[FIELD_IDS_SETTING] = asked[FIELD_IDS_SETTING] = "false"
    of_format = OF_FORMAT.get(name)
    found = {"format": name, "schema": _schema_text(facts["schema"], compact=True)}
    for key in (*_OF_ALL, *(_OF_TEXT if of_format is None else of_format)):
        if key not in settings:
            continue  # an option of a newer Spark
        found[key] = settings[key]
        if asked[key] != settings[key]:
            # Spark reads some settings from one session, some from the other.
            found[f"{key}{OF_WHO_ASKS}"] = asked[key]
    for key, fact in _FACTS.items():
        if facts[fact] is not None:
            found[key] = facts[fact]
    if found.get(ZONED_CONVERSION) == "true":
        found["spark.sql.session.timeZone"] = facts["zone"]
    if partitions is not None:
        # Values of partition columns are parsed from paths by the session's settings.
        found[f"{PARTITION} schema"] = _schema_text(partitions, compact=False)
        for key in _OF_PARTITIONS:
            found[f"{PARTITION} {key}"] = settings[key]
    is_rebased = any(settings[key].upper() == "LEGACY" for key in LEGACY_REBASE.get(name, ()))
    if of_format is None or name in _ZONE_OF_JVM or is_rebased:
        found[ZONE_OF_JVM] = facts["zone_of_jvm"]
    # A column in both paths and files has the value of the path, unless a partition is read by itself.
    if facts["overlap"] is not None:
        found["columns of paths and files"] = facts["overlap"]
    for key in OF_USERS_TYPES:
        found[f"{USERS}{key}"] = asked[key]
    for key, value in small_names(facts["options"]).items():
        if key not in _FILES_ONLY and not key.startswith(UNSTORED_OPTIONS):
            found[f"option {key}"] = value
    return found


def has_field_ids(schema: str) -> bool:
    """Return whether a schema, as Spark's JSON, has ids by which its columns may be found in files."""
    return _FIELD_ID in schema


def options(relation: Any) -> Mapping[str, str]:
    """Return a relation's options by name in lower case."""
    return small_names(signature_facts(relation, ())["options"])


@lru_cache(maxsize=256)
def _schema_text(schema: str, *, compact: bool) -> str:
    return json.dumps(_schema(json.loads(schema)), separators=(",", ":") if compact else None)


def _schema(data_type: Any) -> Any:
    """Remove the parts of a type's JSON that do not affect values: nullability, comments."""
    if isinstance(data_type, list):
        return [_schema(each) for each in data_type]
    if not isinstance(data_type, dict):
        return data_type
    kept = {key: _schema(value) for key, value in data_type.items() if key not in ("nullable", "metadata")}
    kept.pop("containsNull", None)
    kept.pop("valueContainsNull", None)
    # For example the default of a column that was added later.
    metadata = {key: value for key, value in data_type.get("metadata", {}).items() if key not in _NO_MATTER}
    return {**kept, "metadata": metadata} if metadata else kept
