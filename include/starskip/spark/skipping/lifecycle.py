"""What becomes of a table's indexes: created, refreshed, optimized, deleted, restored, vacuumed, told of."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession

from starskip.errors import ConfigError, SourceError, StarskipError, TransientError, printable
from starskip.indexes.skipping.failing_indexes import reason_of_failure
from starskip.indexes.skipping.metadata.change_indexes import change_indexes
from starskip.indexes.skipping.metadata.commit_refresh import Commit
from starskip.indexes.skipping.metadata.describe_metadata import describe_metadata
from starskip.indexes.skipping.metadata.metadata_location import metadata_location
from starskip.indexes.skipping.metadata.open_metadata import existing_metadata, read_metadata
from starskip.indexes.skipping.metadata.optimize import optimize_metadata
from starskip.indexes.skipping.metadata.refresh_metadata import Clock, Refreshed, refresh_metadata
from starskip.indexes.skipping.metadata.vacuum_metadata import vacuum_metadata
from starskip.indexes.skipping.registry import index_from_specification
from starskip.indexes.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.compatible_indexes import has_users_type, is_users_type
from starskip.spark.skipping.failing_types import failing_types
from starskip.spark.skipping.fingerprint_comparison import dependent_rows, without_users_types
from starskip.spark.skipping.on_spark_connect import classic_only
from starskip.spark.skipping.relation_facts import metadata_root as configured_root
from starskip.spark.skipping.sent_modules import send_modules
from starskip.spark.skipping.session import keep_overwritten
from starskip.spark.skipping.spark_reader import SparkReader
from starskip.spark.skipping.table_finder import metadata_changed
from starskip.spark.skipping.table_relation import TableRelation, table_relation
from starskip.storage.storage import Storage
from starskip.storage.storage_for import storage_for
from starskip.storage.store_clock import store_clock
from starskip.storage.vacuum import VacuumReport

GRACE = timedelta(hours=24)
CREATED_BY = "starskip skipping"
log = logging.getLogger("starskip.skipping")
CLOCK = Clock(lambda: datetime.now(UTC), time.sleep)


@classic_only
def create(
    spark: SparkSession,
    table: str | DataFrame,
    indexes: Sequence[str],
    *,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    metadata_root: str | None = None,
    file_format: str | None = None,
) -> Refreshed:
    """Create indexes of a table's files, by specification such as ``minmax:ts``, beside those it has.

    ``table``: a path, or a DataFrame as ``spark.read`` or ``spark.table`` returns it. ``format`` and
    ``options`` are those of ``spark.read`` for a path, Parquet by default; ``file_format`` is the former name
    of ``format``. An index that was deleted comes back. Raises ConfigError for an index that cannot be,
    SourceError for a table that cannot be read or that is one of Delta, Iceberg or Hudi, and StarskipError.
    """
    if isinstance(indexes, str) or not indexes:
        raise ConfigError("name the indexes to create in a list, such as ['minmax:ts']", setting="index")
    relation = table_relation(spark, table, _named_format(format, file_format) or "parquet", options)
    keep_overwritten(spark)
    wanted, failed = resolved_indexes(indexes, relation)
    require_one((each.specification for each in wanted), failed)
    return refresh_relation(spark, relation, wanted, metadata_root, failed=failed)


@classic_only
def refresh(
    spark: SparkSession,
    table: str | DataFrame,
    *,
    full: bool = False,
    format: str | None = None,
    options: Mapping[str, str] | None = None,
    metadata_root: str | None = None,
    file_format: str | None = None,
) -> Refreshed:
    """Bring a table's metadata up to date: only files that are new or changed are read.

    With ``full`` all are, as when the table is read by another schema or by other options than before.
    By path it is read as it was when its metadata was created, but for a format or options that are given.
    Raises ConfigError for an index that the table cannot have any more: delete that one; else as ``create``.
    """
    keep_overwritten(spark)
    given = _named_format(format, file_format)
    if isinstance(table, str) and given is None:
        known = existing_metadata(storage_for(location_of(spark, table, metadata_root))).source
        given, options = known.file_format, known.options if options is None else options
    relation = table_relation(spark, table, given or "parquet", options)
    existing_metadata(storage_for(location_of(spark, relation.path, metadata_root)))
    return refresh_relation(spark, relation, [], metadata_root, in_full=full)


@classic_only
def optimize(spark: SparkSession, table: str | DataFrame, *, metadata_root: str | None = None) -> int | None:
    """Bring what many refreshes have written into one piece; return the version, None if all is in one."""
    return optimize_metadata(_storage(spark, table, metadata_root), new_commit())


@classic_only
def delete(
    spark: SparkSession,
    table: str | DataFrame,
    indexes: Sequence[str] | None = None,
    *,
    metadata_root: str | None = None,
) -> int:
    """Have indexes be used no more, all of them by default; return the version. ``restore`` undoes it."""
    storage = _storage(spark, table, metadata_root)
    return change_indexes(storage, indexes, new_commit(), active=False).version


@classic_only
def restore(
    spark: SparkSession,
    table: str | DataFrame,
    indexes: Sequence[str] | None = None,
    *,
    metadata_root: str | None = None,
) -> int:
    """Have deleted indexes be used again, as long as no vacuum came; return the version.

    Of files that were new since then they know with the next refresh.
    """
    storage = _storage(spark, table, metadata_root)
    return change_indexes(storage, indexes, new_commit(), active=True).version


@classic_only
def vacuum(
    spark: SparkSession,
    table: str | DataFrame,
    *,
    grace: timedelta = GRACE,
    metadata_root: str | None = None,
) -> VacuumReport:
    """Remove deleted indexes for good, and files that no query and no writer of the last ``grace`` needs."""
    storage = _storage(spark, table, metadata_root)
    return vacuum_metadata(storage, new_commit(), now=store_clock(storage), grace=grace)


@classic_only
def describe(
    spark: SparkSession, table: str | DataFrame, *, metadata_root: str | None = None
) -> dict[str, Any]:
    """Return what there is of metadata: files, rows, versions, bytes, indexes."""
    storage = _storage(spark, table, metadata_root)
    return describe_metadata(existing_metadata(storage), storage.place)


@classic_only
def list_indexes(
    spark: SparkSession, table: str | DataFrame, *, metadata_root: str | None = None
) -> list[str]:
    """Return the specifications of the active indexes."""
    return list(existing_metadata(_storage(spark, table, metadata_root)).state.active)


def location_of(spark: SparkSession, table_path: str, metadata_root: str | None) -> str:
    """Return where a table's metadata lies; a root that is not given is the session's, if it has one."""
    return metadata_location(qualified(spark, table_path), metadata_root or configured_root(spark.conf))


def qualified(spark: SparkSession, path: str) -> str:
    """Return a path as Hadoop writes it in full."""
    jvm: Any = spark.sparkContext._jvm
    found = jvm.org.apache.hadoop.fs.Path(path)
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    text: str = found.getFileSystem(configuration).makeQualified(found).toString()
    return text


def new_commit() -> Commit:
    """Return the mark of a commit that is made now."""
    return Commit(uuid4().hex, datetime.now(UTC), CREATED_BY)


def refresh_relation(
    spark: SparkSession,
    relation: TableRelation,
    created: Sequence[SkippingIndex],
    metadata_root: str | None,
    *,
    in_full: bool = False,
    failed: Mapping[str, str] = MappingProxyType({}),
) -> Refreshed:
    """Bring metadata up to date, with the indexes that are ``created`` beside those it has.

    An index whose type fails is left out alone, as those of ``failed`` are, with a warning that names it.
    Raises ConfigError for one that the table cannot have any more, and StarskipError if all that are to be
    made have failed.
    """
    if (why := dependent_rows(relation.fingerprint)) is not None:
        raise SourceError(f"{relation.path}: {why}", source=relation.path)
    storage = storage_for(location_of(spark, relation.path, metadata_root))
    existing = read_metadata(storage)
    # A column may have gone, or got a collation, since then.
    known, faults = checked_indexes(existing.indexes if existing else (), relation)
    failed = {**(existing.not_understood if existing else {}), **faults, **failed}
    indexes = [*created, *known]
    send_modules(spark.sparkContext, indexes)
    # What is not known here is of a type of a user's own.
    if not has_users_type(indexes) and not failed:
        relation = replace(relation, fingerprint=without_users_types(relation.fingerprint))

    def refreshed() -> Refreshed:
        require_one((each.specification for each in created or indexes), failed)
        made = [each for each in created if each.specification not in failed]
        reader = SparkReader(relation)
        return refresh_metadata(
            storage, reader, made, CLOCK, created_by=CREATED_BY, in_full=in_full, failed=failed
        )

    try:
        done = refreshed()
    except (TransientError, SourceError):
        raise
    except Exception:
        suspects = [each for each in indexes if is_users_type(each) and each.specification not in failed]
        found = failing_types(suspects, relation)
        if not found:
            raise
        failed |= found
        done = refreshed()
    for specification, why in sorted(done.failed_indexes.items()):
        log.warning("%s: left out, the other indexes are made: %s", printable(specification), why)
    metadata_changed()
    return done


def require_one(specifications: Iterable[str], failed: Mapping[str, str]) -> None:
    """Raise StarskipError where all indexes that were to be made have failed."""
    if failed and all(each in failed for each in specifications):
        specification, why = next(iter(failed.items()))
        raise StarskipError(f"{specification}: cannot be made: {why}")


def _named_format(given: str | None, former: str | None) -> str | None:
    if former is not None:
        # Behind this function and what guards the public one.
        warnings.warn("file_format is called format now", DeprecationWarning, stacklevel=4)
    return former if given is None else given


def _storage(spark: SparkSession, table: str | DataFrame, metadata_root: str | None) -> Storage:
    keep_overwritten(spark)
    path = table if isinstance(table, str) else table_relation(spark, table).path
    return storage_for(location_of(spark, path, metadata_root))


def resolved_indexes(
    specifications: Sequence[str], relation: TableRelation
) -> tuple[list[SkippingIndex], dict[str, str]]:
    """Return the indexes that the table can have, and why types of others failed, by specification.

    Raises ConfigError for one that cannot be.
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
    """Return ``resolved_index`` of each, and why types of others failed, by specification."""
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


def resolved_index(index: SkippingIndex, relation: TableRelation) -> SkippingIndex:
    """Return the index with its columns as the table spells them, itself where it has them so.

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
    return index
