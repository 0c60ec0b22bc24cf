"""Resolve the columns of indexes against a table, and check that the table can have the indexes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from starskip.errors import ConfigError, StarskipError
from starskip.predicates.column_name import column_name, column_path
from starskip.skipping.failing_indexes import reason_of_failure
from starskip.skipping.registry import index_from_specification
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.signature_comparison import structs_by_ids
from starskip.spark.skipping.table_relation import TableRelation


def resolved_indexes(
    specifications: Sequence[str], relation: TableRelation
) -> tuple[list[SkippingIndex], dict[str, str]]:
    """Parse specifications; return the indexes, and the failures of users' types by specification.

    Raises ConfigError for an invalid specification, or an index that the table cannot have.
    """
    found: list[SkippingIndex] = []
    failed: dict[str, str] = {}
    for each in specifications:
        try:
            found.append(index_from_specification(each))
        except ConfigError:
            raise
        except Exception as error:
            failed[each] = reason_of_failure(error)
    checked, faults = checked_indexes(found, relation)
    return checked, {**failed, **faults}


def checked_indexes(
    indexes: Sequence[SkippingIndex], relation: TableRelation
) -> tuple[list[SkippingIndex], dict[str, str]]:
    """Return ``resolved_index`` of each, and the failures of users' types by specification."""
    found: list[SkippingIndex] = []
    failed: dict[str, str] = {}
    for index in indexes:
        try:
            found.append(resolved_index(index, relation))
        except StarskipError:
            raise
        except Exception as error:
            failed[index.specification] = reason_of_failure(error)
    return found, failed


def resolved_names(
    named: Mapping[str, str], relation: TableRelation, specifications: Collection[str]
) -> dict[str, str]:
    """Return ``named`` with columns in its specifications spelled as in the table's schema.

    Raises ConfigError for a specification that is not among ``specifications``.
    """
    found = {}
    for specification, value in named.items():
        if specification not in specifications:
            raise ConfigError(
                f"{specification} is to be encrypted, but is not among the indexes to create: name it "
                "there, too",
                setting="encrypt",
            )
        found[resolved_index(index_from_specification(specification), relation).specification] = value
    return found


def resolved_index(index: SkippingIndex, relation: TableRelation) -> SkippingIndex:
    """Return the index with its columns spelled as in the table's schema.

    Raises ConfigError if the table cannot have it.
    """
    specification = index.specification
    columns = tuple(relation.resolved(name) for name in index.columns)
    if columns != index.columns:
        index = type(index).parsed(columns, index.arguments)
    types = relation.data_types
    missing = [name for name in index.columns if name not in types]
    if missing:
        raise ConfigError(
            f"{specification}: the table has no column {missing[0]}; it has {', '.join(list(types)[:20])}",
            setting="index",
        )
    index.check(types)
    by_ids = structs_by_ids(relation.read_signature)
    for path in map(column_path, index.columns):
        if len(path) > 1 and path[0] in by_ids:
            raise ConfigError(
                f"{specification}: Spark finds {path[0]} by its field id, and the values that it reads for "
                f"{column_name(path)} depend on the columns of a query: it cannot be indexed, and an "
                "existing index must be deleted",
                setting="index",
            )
    return index
