"""What two fingerprints of a relation say of each other, and what one says of metadata by itself."""

from __future__ import annotations

import json
from collections.abc import Mapping

from starskip.spark.skipping.read_signature import (
    CSV_PRUNING,
    NULL_STRUCTS,
    OF_USERS_TYPES,
    PARTITION,
    USERS,
)

_UNESCAPED = "option unescapedquotehandling"


def difference(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Return the names of what is another one now in the files, None if nothing is."""
    keys = {key for key in then.keys() | now.keys() if not key.startswith((PARTITION, USERS))}
    return ", ".join(sorted(key for key in keys if then.get(key) != now.get(key))) or None


def partitions_differ(then: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Tell whether what paths say of partition columns is read in another way now."""
    keys = {key for key in then.keys() | now.keys() if key.startswith(PARTITION)}
    return any(then.get(key) != now.get(key) for key in keys)


def users_types_differ(then: Mapping[str, str], now: Mapping[str, str]) -> str | None:
    """Return the names of what is another one for index types of users, None if nothing is."""
    keys = [f"{USERS}{key}" for key in OF_USERS_TYPES]
    differing = [key.removeprefix(USERS) for key in keys if then.get(key) != now.get(key)]
    return ", ".join(differing) or None


def without_users_types(found: Mapping[str, str]) -> dict[str, str]:
    """Return a fingerprint without what matters to index types of users alone."""
    return {key: value for key, value in found.items() if not key.startswith(USERS)}


def same_columns(then: Mapping[str, str], now: Mapping[str, str]) -> frozenset[str]:
    """Return the columns that are the same in two schemas, of a format whose columns are told by name."""
    if now["format"] != "ParquetFileFormat":
        return frozenset()
    before, after = (
        {field["name"]: field for field in json.loads(each["schema"])["fields"]} for each in (then, now)
    )
    return frozenset(name for name, field in before.items() if after.get(name) == field)


def unsure_partitions(found: Mapping[str, str]) -> frozenset[str]:
    """Return partition columns that Spark may read as others than it prunes by: decimals of other scales."""
    fields = json.loads(found.get(f"{PARTITION} schema", '{"fields": []}'))["fields"]
    return frozenset(each["name"] for each in fields if str(each["type"]).startswith("decimal"))


def dependent_rows(found: Mapping[str, str]) -> str | None:
    """Return why what a row holds depends on the columns that are read, None if it does not.

    What was collected of some columns then says nothing of a query of others.
    """
    if found.get(NULL_STRUCTS) == "true":
        return f"with {NULL_STRUCTS} what is null depends on the columns that are read"
    if "option avroschemaurl" in found:
        return "avroSchemaUrl names a schema that may change"
    is_pruned = found.get("option columnpruning", found.get(CSV_PRUNING)) != "false"
    if found["format"] == "CSVFileFormat" and is_pruned:
        quote = found.get("option quote", '"')
        if found.get("option escape") == quote or found.get(_UNESCAPED, "").upper() == "BACK_TO_DELIMITER":
            return (
                "with this escape what a line holds depends on the columns that are read: set the option "
                "columnPruning to false"
            )
    return None
