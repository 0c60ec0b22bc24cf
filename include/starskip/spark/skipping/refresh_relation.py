"""Collect the metadata of a table's new and changed files, and publish it."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from types import MappingProxyType

from pyspark.sql import SparkSession

from starskip.errors import SourceError, StarskipError, TransientError, printable
from starskip.file_metadata.encryption import Encryption
from starskip.file_metadata.format_bounds import FormatBounds
from starskip.file_metadata.inherited_keys import shown_by_plain_indexes
from starskip.file_metadata.metadata_location import metadata_location
from starskip.file_metadata.metadata_storage import metadata_storage
from starskip.file_metadata.open_metadata import read_metadata
from starskip.file_metadata.refresh_metadata import Clock, Refreshed, refresh_metadata
from starskip.file_metadata.table_metadata import TableMetadata
from starskip.file_metadata.table_state import CREATED_BY
from starskip.skipping.skipping_index import SkippingIndex
from starskip.spark.skipping.checked_indexes import checked_indexes
from starskip.spark.skipping.failing_types import failing_types
from starskip.spark.skipping.jvm_toolbox import jvm_names
from starskip.spark.skipping.lake_reader import LakeReader
from starskip.spark.skipping.lake_relation import LakeRelation
from starskip.spark.skipping.relation_facts import metadata_root as configured_root
from starskip.spark.skipping.signature_comparison import dependent_rows, without_users_types
from starskip.spark.skipping.spark_reader import SparkReader
from starskip.spark.skipping.table_finder import metadata_changed
from starskip.spark.skipping.table_relation import TableRelation
from starskip.spark.skipping.temporary_files import warn_of_plain_files
from starskip.spark.skipping.user_index_types import is_user_type, send_modules

CLOCK = Clock(lambda: datetime.now(UTC), time.sleep)
log = logging.getLogger("starskip.skipping")


def refresh_relation(
    spark: SparkSession,
    relation: TableRelation,
    created: Sequence[SkippingIndex],
    metadata_root: str | None,
    *,
    in_full: bool = False,
    failed: Mapping[str, str] = MappingProxyType({}),
    encryption: Encryption | None = None,
) -> Refreshed:
    """Bring metadata up to date, and add the indexes ``created`` to the existing ones.

    An index whose type fails is left out by itself, like the indexes in ``failed``, with a warning that names
    it. ``encryption``: the keys, by default the environment's. Raises ConfigError for an index that the table
    can no longer have, and StarskipError if every new index failed.
    """
    if (why := dependent_rows(relation.read_signature)) is not None:
        raise SourceError(f"{relation.path}: {why}", source=relation.path)
    storage = metadata_storage(location_of(spark, relation.path, metadata_root))
    encryption = Encryption() if encryption is None else encryption
    existing = read_metadata(storage, keyring=encryption.keyring)
    warn_of_plain_files(spark, existing, encryption)
    keys = {**(existing.state.keys.indexes if existing else {}), **encryption.indexes}
    for plain, column, other in shown_by_plain_indexes(keys, created):
        log.warning(
            "%s is not encrypted and shows values of %s, which %s encrypts: give it a key, too",
            *map(printable, (plain, column, other)),
        )
    # A column may have been dropped, or given a collation, since then.
    before = existing.indexes if existing else ()
    lost = relation.lost(before) if isinstance(relation, LakeRelation) else {}
    known, faults = checked_indexes([each for each in before if each.specification not in lost], relation)
    failed = {**(existing.not_understood if existing else {}), **faults, **failed}
    indexes = [*created, *known]
    send_modules(spark.sparkContext, indexes)
    # An index of an unavailable type can only be a user's.
    locked = existing.locked_indexes if existing else ()
    if not any(map(is_user_type, [*indexes, *locked])) and not failed:
        relation = replace(relation, read_signature=without_users_types(relation.read_signature))
    failed = {**failed, **lost}

    def refreshed() -> Refreshed:
        require_one((each.specification for each in created or indexes), failed)
        made = [each for each in created if each.specification not in failed]
        reader = _reader(relation, [*indexes, *locked])
        return refresh_metadata(
            storage,
            reader,
            made,
            CLOCK,
            created_by=CREATED_BY,
            in_full=in_full or (isinstance(relation, LakeRelation) and relation.stale),
            failed=failed,
            encryption=encryption,
            unnamed=_unnamed(relation, existing, encryption),
        )

    try:
        done = refreshed()
    except (TransientError, SourceError):
        raise
    except Exception:
        suspects = [each for each in indexes if is_user_type(each) and each.specification not in failed]
        found = failing_types(suspects, relation)
        if not found:
            raise
        failed |= found
        done = refreshed()
    for specification, why in sorted(done.failed_indexes.items()):
        log.warning("%s: left out, the other indexes are made: %s", printable(specification), why)
    metadata_changed()
    return done


def _reader(relation: TableRelation, indexes: Sequence[SkippingIndex]) -> SparkReader:
    return LakeReader(relation, indexes) if isinstance(relation, LakeRelation) else SparkReader(relation)


def _unnamed(
    relation: TableRelation, existing: TableMetadata | None, encryption: Encryption
) -> tuple[SkippingIndex, ...]:
    """Return the groups kept for files besides indexes: a table format's bounds, unless keys hide values."""
    is_plain = not (encryption.indexes or encryption.listing or (existing and existing.state.keys.names))
    return (FormatBounds(),) if isinstance(relation, LakeRelation) and is_plain else ()


def require_one(specifications: Iterable[str], failed: Mapping[str, str]) -> None:
    """Raise StarskipError if every new index failed."""
    if failed and all(each in failed for each in specifications):
        specification, why = next(iter(failed.items()))
        raise StarskipError(f"{specification}: cannot be made: {why}")


def location_of(spark: SparkSession, table_path: str, metadata_root: str | None) -> str:
    """Return the location of a table's metadata; the default root is the session's."""
    return metadata_location(qualified(spark, table_path), metadata_root or configured_root(spark.conf))


def qualified(spark: SparkSession, path: str) -> str:
    """Return a path fully qualified by Hadoop."""
    jvm = jvm_names(spark.sparkContext._gateway)
    found = jvm.org.apache.hadoop.fs.Path(path)
    configuration = spark._jsparkSession.sessionState().newHadoopConf()
    text: str = found.getFileSystem(configuration).makeQualified(found).toString()
    return text
